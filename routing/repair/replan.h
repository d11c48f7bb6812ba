// SPDX-License-Identifier: Apache-2.0
// routing/repair: which plan follows the one before: incremental repair, the ideal plan, what-if.
//
// Replan: what the core asks for whenever it has looked at the fabric or wants other things of it.
// After a fault the least change is made first, because it is quick and leaves what works alone;
// the ideal plan of the chain follows when that has stood for a while. Where the chain has none the
// least change goes on to stand. Switches that do not respond (Node::unresponsive) keep their
// tables as far as that is possible.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/intent.h"
#include "routing/plan/engine.h"
#include "routing/plan/usable.h"
#include "routing/repair/repair.h"
#include "routing/transition/push_plan.h"

namespace fabricd::routing {

// How far to go at once; each of a core's steps asks for more than the one before.
enum class ReplanGoal : uint8_t {
  kUrgent,  // What hosts send to each other is served; other pairs may be left pending.
  kWhole,   // All is served, nothing moves that need not.
  // kIdeal where switches can be led to it without taking any way away for a moment, and in the
  // same order unless it is far better; else kWhole.
  kIdealIfHitless,
  kIdeal,  // What the chain would have chosen for the fabric as it is.
};

struct ReplanInput {
  const fabric::FabricSnapshot& snapshot;  // As observed.
  const fabric::LidTable& lids;
  const fabric::Intent& intent;
  const RoutingOptions& options;
  std::shared_ptr<const RouteState> before;  // Null: there is no plan yet.
  ReplanGoal goal = ReplanGoal::kIdeal;      // Where `before` cannot be mended it is kIdeal.
  // What the switches hold; null: not known, and no push is wanted. kIdealIfHitless wants it.
  const AppliedTables* applied = nullptr;
  bool wants_push = true;  // False: the writes are put in order later, over what is held by then.
  // Multicast trees that there are, perhaps not all of them; null: none. Least changes leave room
  // for trees, and one that does not serve every switch with them is not settled for.
  const MulticastPlan* trees = nullptr;
  // What the chain has chosen for all of this without a plan before; null: it is asked. With
  // `applied` and no plan before, the tables are those of a predecessor with the same state and
  // options: they become the plan before (held_plan.h) where that can be proved, and are treated
  // like any other.
  std::shared_ptr<const RouteState> ideal = nullptr;
};

struct ReplanResult {
  // Null: no engine of the chain gave a valid plan, and the least change does not serve either.
  // Where nothing that matters has changed the plan is the one that was there before, the same
  // pointer. Made for the usable fabric (usable.h): closed switches have no table in it.
  std::shared_ptr<const RouteState> after;
  std::vector<ChainStep> steps;  // Empty: the chain was not asked.
  // The predecessor's tables as the plan before (ReplanInput::ideal). Null: none were adopted.
  std::shared_ptr<const RouteState> adopted = nullptr;
  // What `after` is; kUrgent only where pairs are pending.
  ReplanGoal reached = ReplanGoal::kIdeal;
  std::string put_off;  // Why kIdealIfHitless reached kWhole; empty: it did not.
  // What the intent would avoid, but nothing else is left: links by their lower end; sorted.
  std::vector<PortRef> needed_links;
  std::vector<NodeIndex> needed_switches;
  // How to write `after` over ReplanInput::applied. None: there is no plan, or it was not wanted.
  std::optional<PushPlan> push;
};

// Every plan that comes back is proved.
ReplanResult Replan(const ReplanInput& input);

// What every repair for `input` obeys: not urgent, and by no tables that are applied.
RepairOptions RepairOptionsFor(const ReplanInput& input, const UsableFabric& usable);

}  // namespace fabricd::routing
