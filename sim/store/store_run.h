// SPDX-License-Identifier: Apache-2.0
// RunStoreSeed: one run of two or three nodes that share a store. Fault classes, how many of them
// and when follow from the seed. After the faults there must be one owner within a bounded time,
// writes must be possible, and every node must have the same copy.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/time.h"

namespace fabricd::sim {

struct StoreRunResult {
  std::vector<std::string> faults;    // Classes that this seed has.
  std::vector<std::string> failures;  // "checker: what"; empty: passed.
  uint64_t acknowledged = 0;          // Writes.
  uint64_t takes = 0;                 // Of the epoch.
  Duration owner_after{};             // From the end of the faults.
  uint64_t digest = 0;                // Of all transactions, with their times.
  bool passed() const { return failures.empty(); }
};

// What comes before the colon of failures, all of it.
std::span<const char* const> StoreCheckerNames();

// `tell`: what happens, as lines of text; may be empty.
StoreRunResult RunStoreSeed(uint64_t seed, std::function<void(const std::string& line)> tell = {});

}  // namespace fabricd::sim
