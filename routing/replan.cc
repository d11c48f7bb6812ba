// SPDX-License-Identifier: Apache-2.0
#include "routing/replan.h"

#include <algorithm>
#include <utility>

namespace fabricd::routing {
namespace {

bool MayStand(const ReplanInput& input) {
  if (input.settle || input.before == nullptr) return false;
  const auto& chain = input.options.chain;
  return std::find(chain.begin(), chain.end(), input.before->plan->engine) != chain.end();
}

}  // namespace

ReplanResult Replan(const ReplanInput& input) {
  if (MayStand(input)) {
    // Nothing is left pending: until the settled plan comes, managers talk to switches too.
    auto repair = RepairPlan(*input.before, input.snapshot, input.lids,
                             {.urgent = false, .threads = input.options.threads});
    if (repair.ok())
      return {std::make_shared<const RouteState>(std::move(repair->after)), {}, false};
  }
  const RoutingPlan* previous = input.before ? input.before->plan.get() : nullptr;
  ChainResult chain = RunChain({input.snapshot, input.lids, input.intent, input.options, previous});
  ReplanResult result{nullptr, std::move(chain.steps), true};
  if (chain.plan)
    result.after = std::make_shared<const RouteState>(
        MakeRouteState(input.snapshot, input.lids, std::move(chain.plan)));
  return result;
}

}  // namespace fabricd::routing
