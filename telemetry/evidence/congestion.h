// SPDX-License-Identifier: Apache-2.0
// Where congestion begins. A port that waits for credits is a victim of what lies behind its link:
// the search goes from it, along the egress that waits most of those that its destinations use, to
// the last port that waits. What waits for one port is one finding, a tree of victims. By
// reference/telemetry-and-adaptive.md §10.4. Pure; the same for any order of discovery.
//
// Waits are those of the last whole window of 300 s. Which destinations have traffic no counter
// tells: all that the tables send through a port count, and where a tree branches, a port is a
// victim of the branch that waits most. A port that is busy all the time waits for nobody: what
// queues for it waits one port before, so the search goes on to a saturated
// egress too, and from that to one behind it where all that it sends must go there.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fabric/snapshot.h"
#include "policy/evidence.h"
#include "routing/plan/plan.h"
#include "telemetry/view.h"

namespace fabricd::telemetry {

enum class CongestionKind : uint8_t {
  kNone,          // What is known decides for none of the others.
  kSlowReceiver,  // A host that returns no credits while its link is mostly idle.
  kIncast,        // A host that receives as much as its link carries.
  kHotLink,       // A link between switches, behind which nothing waits.
};

// As the API, the series and the page have it: "HOT_LINK"; of kNone "UNDECIDED".
std::string_view CongestionKindName(CongestionKind kind);

struct CongestionLimits {
  double wait = 0.10;       // Shares of time.
  double saturated = 0.85;  // Utilisation: incast from here on.
  double idle = 0.50;       // Below: a slow receiver.
  uint32_t max_depth = 6;   // Ports of a path, root included.
};

struct WaitingPort {
  PortRef port;
  policy::WaitWindow wait;
  PortRef towards;    // The next port on the path to the root.
  uint32_t hops = 0;  // From it to the root.
};

struct CongestionRoot {
  PortRef port;  // The egress where it begins.
  CongestionKind kind = CongestionKind::kNone;
  policy::WaitWindow wait;
  // Ports wait for each other in a cycle, of which this one waits most.
  bool is_cycle = false;
  std::vector<WaitingPort> victims;  // By hops, then node GUID and port.
};

struct Congestion {
  std::vector<CongestionRoot> roots;  // By node GUID and port.
  std::vector<PortRef> without_root;  // Not reached within max_depth. Same order.
};

// `plan`: the tables that are applied, of nodes of `snapshot`.
Congestion FindCongestion(const TelemetryView& view, const fabric::FabricSnapshot& snapshot,
                          const routing::RoutingPlan& plan, const CongestionLimits& limits = {});

// The same by GUID, for verdicts. `snapshot`: that of the search.
std::vector<policy::CongestionTree> TreesOf(const Congestion& congestion,
                                            const fabric::FabricSnapshot& snapshot);

}  // namespace fabricd::telemetry
