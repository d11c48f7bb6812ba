// SPDX-License-Identifier: Apache-2.0
// Replan: what the core asks for whenever it has looked at the fabric. After a fault the least
// change is made first, because it is quick and leaves what works alone; the ideal plan of the
// chain follows when that has stood for a while. Where the chain has none the least change goes on
// to stand.
#pragma once

#include <memory>
#include <vector>

#include "routing/engine.h"
#include "routing/repair.h"

namespace fabricd::routing {

struct ReplanInput {
  const fabric::FabricSnapshot& snapshot;
  const fabric::LidTable& lids;
  const fabric::Intent& intent;
  const RoutingOptions& options;
  std::shared_ptr<const RouteState> before;  // Null: there is no plan yet.
  bool settle = true;  // False: the least change of `before` will do, where it serves.
};

struct ReplanResult {
  // Null: no engine of the chain gave a valid plan, and the least change does not serve either.
  std::shared_ptr<const RouteState> after;
  std::vector<ChainStep> steps;  // Empty: the chain was not asked.
  // False: a plan of least change, from which the ideal one may differ. Where nothing that matters
  // has changed it is the plan that was there before, the same pointer.
  bool settled = true;
};

// Every plan that comes back is proved.
ReplanResult Replan(const ReplanInput& input);

}  // namespace fabricd::routing
