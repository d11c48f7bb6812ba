// SPDX-License-Identifier: Apache-2.0
// The ideal plan: what the chain chooses for the fabric as it is and as it is wanted.
//
// It is made in up to three steps, so that it is the same for a manager that has just started and
// for one that has seen all that happened:
//
//   whole     for the fabric without the intent: what operators have closed is there, and tells how
//             the tree was designed (tree_layout.h) as well as a manager's memory would
//   standing  the same without what the intent closes, numbered and ordered as the first
//   wanted    round links that flap, by the least change of the second: they will be back soon, and
//             what never used them stays where it is
//
// Where the intent closes nothing the first is the second, where nothing flaps the second is the
// third.
//
// What the plan before remembers of a fabric that was whole, numbers and order, is used as long as
// something is missing; not where a plan without that memory has a far lower highest load.
#pragma once

#include <memory>
#include <vector>

#include "routing/plan/usable.h"
#include "routing/repair/replan.h"

namespace fabricd::routing {

struct IdealPlan {
  std::shared_ptr<const RouteState> wanted;  // Null: no engine of the chain gave a valid plan.
  std::shared_ptr<const RouteState> whole;   // May be null, or the same as `wanted`.
  std::vector<ChainStep> steps;              // Of the second step.
};
// `usable` is what the intent leaves of the snapshot.
IdealPlan FindIdealPlan(const ReplanInput& input, const UsableFabric& usable);

// Whether all links between switches of `part` are in `whole`.
bool HasAllLinks(const LinkMap& whole, const LinkMap& part);

}  // namespace fabricd::routing
