// SPDX-License-Identifier: Apache-2.0
// What a change would do, of the Intent or of the fabric, computed and not programmed: for
// --dry-run, for guards and for what-if questions. Counted for the least change, which is made
// first, unless another goal is asked for; the settled plan may move more afterwards.
//
// Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fabric/intent.h"
#include "routing/repair/replan.h"

namespace fabricd::routing {

// A cable between switches by its sending end, and the paths that all-to-all leads over it.
struct BusiestLink {
  uint64_t load = 0;  // 0: there is no such cable.
  PortRef port;
};

struct Consequences {
  bool plan_found = true;  // False: no engine has a plan for what is left; `why_not` says why.
  std::string why_not;
  std::string engine;            // Of the plan that would be.
  std::vector<ChainStep> steps;  // Empty: the engines were not asked, the plan is mended.
  // End ports with a way to an end port of another node that is no switch, which would have none to
  // most of those it has one to; those that the intent itself isolates are not counted. Sorted.
  std::vector<PortRef> cut_off;
  // Ordered pairs of LIDs that have a way now and would not, all counted but those of nodes that
  // are not in the snapshot.
  uint64_t pairs_lost = 0;
  bool sm_cut_off = false;   // The SM's own port is cut off or isolated, or its link is to go.
  uint64_t paths_moved = 0;  // (switch, LID) with a route now that would get another or none.
  uint32_t destinations_moved = 0, switches_written = 0, blocks_written = 0;
  // Where the tables cannot take the plan without that: LIDs of which entries that work are taken
  // away before they are replaced, and those entries, (switch, LID). For some milliseconds.
  uint32_t destinations_interrupted = 0;
  uint64_t paths_interrupted = 0;
  // The first of those that have the highest load.
  BusiestLink busiest_before, busiest_after;
  // What would be avoided but is needed, since nothing else is left: links by their lower end.
  std::vector<PortRef> needed_links;
  std::vector<NodeIndex> needed_switches;
};

// All but `now` as it would be. `snapshot` is a later generation of that of `now`, or the same.
struct JudgeInput {
  const fabric::FabricSnapshot& snapshot;
  const fabric::LidTable& lids;  // Those that had one keep it.
  const RoutingOptions& options;
  std::shared_ptr<const RouteState> now;  // Null: there is no plan, so nothing is lost.
  const fabric::Intent& intent;
  PortRef sm_port;
  ReplanGoal goal = ReplanGoal::kWhole;
};
Consequences Judge(const JudgeInput& input);

}  // namespace fabricd::routing
