// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/status.h"
#include "routing/engine.h"
#include "routing/layered.h"
#include "routing/min_hop.h"
#include "routing/up_down.h"
#include "routing/verifier.h"

namespace fabricd::routing {
namespace {

constexpr size_t kFaultsInReason = 2;

// Why the engine's plan cannot be used; empty when it can.
std::string TryEngine(const std::string& name, const RoutingInput& input,
                      const ChainObserver& observer, std::shared_ptr<const RoutingPlan>& result) {
  const std::unique_ptr<RoutingEngine> engine = MakeEngine(name);
  if (!engine)
    return fmt::format("no engine has this name (known: {})", fmt::join(EngineNames(), ", "));
  if (observer) observer(name, ChainPhase::kCompute);
  absl::StatusOr<RoutingPlan> plan = engine->Compute(input);
  if (!plan.ok()) return Message(plan.status());
  if (observer) observer(name, ChainPhase::kVerify);
  const VerifyReport report = Verify(input.snapshot, input.lids, *plan, input.options.threads);
  if (!report.ok) {
    const size_t shown = std::min(report.faults.size(), kFaultsInReason);
    return fmt::format("the plan does not verify: {}",
                       fmt::join(report.faults.begin(), report.faults.begin() + shown, "; "));
  }
  result = std::make_shared<const RoutingPlan>(*std::move(plan));
  return {};
}

}  // namespace

std::unique_ptr<RoutingEngine> MakeEngine(std::string_view name) {
  if (name == "layered") return std::make_unique<Layered>();
  if (name == "min_hop") return std::make_unique<MinHop>();
  if (name == "up_down") return std::make_unique<UpDown>();
  return nullptr;
}

std::vector<std::string_view> EngineNames() { return {"layered", "min_hop", "up_down"}; }

ChainResult RunChain(const RoutingInput& input, const ChainObserver& observer) {
  ChainResult result;
  for (const std::string& name : input.options.chain) {
    std::string reason = TryEngine(name, input, observer, result.plan);
    result.steps.push_back({name, result.plan != nullptr, std::move(reason)});
    if (result.plan) break;
  }
  return result;
}

}  // namespace fabricd::routing
