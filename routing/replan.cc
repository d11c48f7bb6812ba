// SPDX-License-Identifier: Apache-2.0
#include "routing/replan.h"

#include <algorithm>
#include <utility>

namespace fabricd::routing {
namespace {

// Null: there is none, or its engine is not wanted any more.
std::shared_ptr<const RouteState> LeastChange(const ReplanInput& input) {
  if (input.before == nullptr) return nullptr;
  const auto& chain = input.options.chain;
  if (std::find(chain.begin(), chain.end(), input.before->plan->engine) == chain.end())
    return nullptr;
  // Nothing is left pending: until the settled plan comes, managers talk to switches too.
  auto repair = RepairPlan(*input.before, input.snapshot, input.lids,
                           {.urgent = false, .threads = input.options.threads});
  return repair.ok() ? std::make_shared<const RouteState>(std::move(repair->after)) : nullptr;
}

}  // namespace

ReplanResult Replan(const ReplanInput& input) {
  if (!input.settle)
    if (auto least = LeastChange(input)) return {std::move(least), {}, false};
  const RoutingPlan* previous = input.before ? input.before->plan.get() : nullptr;
  ChainResult chain = RunChain({input.snapshot, input.lids, input.intent, input.options, previous});
  ReplanResult result{nullptr, std::move(chain.steps), true};
  if (chain.plan)
    result.after = std::make_shared<const RouteState>(
        MakeRouteState(input.snapshot, input.lids, std::move(chain.plan)));
  else if (input.settle)
    result.after = LeastChange(input);
  return result;
}

}  // namespace fabricd::routing
