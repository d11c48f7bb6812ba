// SPDX-License-Identifier: Apache-2.0
// Whether hosts can take jobs, from one view: what schedulers ask before they place any. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "query/read_model.h"

namespace fabricd::query {

// From best to worst: a host with several findings gets the worst.
enum class Readiness : uint8_t { kReady, kDegraded, kUnknown, kLost, kHeld };

struct NicReadiness {
  std::optional<PortRef> port;  // None: it is not on the fabric any more.
  std::string device;           // UTF-8; may be empty.
  Readiness readiness = Readiness::kReady;
  std::vector<std::string> reasons;  // UTF-8.
  std::vector<uint64_t> hold_ids;    // Each once.
};

struct HostReadiness {
  std::string host;  // UTF-8.
  Readiness readiness = Readiness::kReady;
  std::vector<std::string> reasons;  // Those of the worst readiness first.
  std::vector<NicReadiness> nics;
};

// Of a host by its name; one that is not on the fabric is LOST when it was since the start, else
// UNKNOWN, or HELD when a hold reaches it or reached it when the hold was made.
HostReadiness ReadinessOf(const ReadModel& model, const std::string& host);

}  // namespace fabricd::query
