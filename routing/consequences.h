// SPDX-License-Identifier: Apache-2.0
// What a change of the Intent would do, computed and not programmed: for --dry-run and for guards.
// Counted for the least change, which is made first; the settled plan may move more afterwards.
//
// Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fabric/intent.h"
#include "routing/replan.h"

namespace fabricd::routing {

struct Consequences {
  bool plan_found = true;  // False: no engine has a plan for what is left; `why_not` says why.
  std::string why_not;
  // End ports with a way to an end port of another node that is no switch, which would have none to
  // most of those it has one to; those that the intent itself isolates are not counted. Sorted.
  std::vector<PortRef> cut_off;
  uint64_t pairs_lost = 0;  // Ordered pairs of LIDs that have a way now and would not, all counted.
  bool sm_cut_off = false;  // The SM's own port is cut off or isolated, or its link is to go.
  uint64_t paths_moved = 0;  // (switch, LID) with a route now that would get another or none.
  uint32_t destinations_moved = 0, switches_written = 0, blocks_written = 0;
  // Highest all-to-all load of a cable between switches, in paths; 0: there is none.
  uint64_t load_before = 0, load_after = 0;
  // What would be avoided but is needed, since nothing else is left: links by their lower end.
  std::vector<PortRef> needed_links;
  std::vector<NodeIndex> needed_switches;
};

struct JudgeInput {
  const fabric::FabricSnapshot& snapshot;
  const fabric::LidTable& lids;
  const RoutingOptions& options;
  std::shared_ptr<const RouteState> now;  // Null: there is no plan, so nothing is lost.
  const fabric::Intent& intent;           // As it would be.
  PortRef sm_port;
};
Consequences JudgeIntent(const JudgeInput& input);

}  // namespace fabricd::routing
