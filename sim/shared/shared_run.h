// SPDX-License-Identifier: Apache-2.0
// RunSharedSeed: one run of two or three whole nodes that share a simulated etcd, on one simulated
// fabric. Topology, fault classes, how many faults and when follow from the seed. After the faults
// one node must be master, with the subnet up and the right to write, within a bounded time, and
// the devices must hold what it wants.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/time.h"

namespace fabricd::sim {

struct SharedRunResult {
  std::string topology;
  std::vector<std::string> faults;    // Classes that this seed has.
  std::vector<std::string> failures;  // "checker: what"; empty: passed.
  uint64_t masterships = 0;           // In which something was written to devices.
  uint64_t late_sets = 0;             // Of old masters, after a new one's first.
  uint64_t holds = 0;                 // That were acknowledged.
  uint64_t partitions = 0;            // The same.
  uint64_t writes = 0;                // To etcd, acknowledged.
  uint64_t takes = 0;                 // Of the epoch.
  Duration master_after{};            // From the end of the faults.
  uint64_t digest = 0;                // Of all MADs sent, and all transactions.
  bool passed() const { return failures.empty(); }
};

// What comes before the colon of failures; those of the Ledger besides.
std::span<const char* const> SharedCheckerNames();

// `tell`: what happens, as lines of text; may be empty.
SharedRunResult RunSharedSeed(uint64_t seed,
                              std::function<void(const std::string& line)> tell = {});

}  // namespace fabricd::sim
