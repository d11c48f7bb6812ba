// SPDX-License-Identifier: Apache-2.0
// Ports, links, hosts and switches by what they carry, wait for or count. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "query/measures.h"

namespace fabricd::query {

enum class RankedKind : uint8_t { kPort, kLink, kHost, kSwitch };
enum class RankOrder : uint8_t { kXmit, kRcv, kUtilisation, kWait, kErrors, kBer };

// A port by itself, or what several ports come to: traffic, packets and errors of hosts and
// switches are sums over the fresh ports, all else is the worst of its ports.
struct RankedEntry {
  std::string name;
  PortRef port;  // Of a link: its end `a`. Of sums: the busiest port; none: none is ACTIVE.
  telemetry::Freshness freshness = telemetry::Freshness::kFresh;  // The oldest.
  PortMeasures measures;
  uint64_t errors = 0;
  uint32_t ports = 0, ports_fresh = 0;  // ACTIVE ones.
};

struct Ranking {
  std::vector<RankedEntry> entries;  // The most first; without a value last, by name.
  size_t total = 0;                  // Of how many.
};

// `passes`: which ports count at all. Upper bounds of ratios come behind what was seen.
Ranking Rank(const Telemetry& telemetry, RankedKind kind, RankOrder order, size_t limit,
             Millis errors_since, const std::function<bool(PortRef)>& passes);

}  // namespace fabricd::query
