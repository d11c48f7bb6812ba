// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/status.h"
#include "routing/engines/fat_tree.h"
#include "routing/engines/layered/layered.h"
#include "routing/engines/min_hop.h"
#include "routing/engines/rail.h"
#include "routing/engines/up_down.h"
#include "routing/graph/graph.h"
#include "routing/graph/levels.h"
#include "routing/plan/engine.h"
#include "routing/plan/node_name.h"
#include "routing/plan/parallel.h"
#include "routing/plan/work_budget.h"
#include "routing/proof/order_proof.h"
#include "routing/quality/link_load.h"
#include "routing/quality/load_bound.h"

namespace fabricd::routing {
namespace {

constexpr size_t kFaultsInReason = 2;
// A plan whose most loaded link carries no more than this many times what no plan can beat is taken
// without a look at the next engine's.
constexpr double kTakenAtOnce = 1.5;
// How many times lower the next engine's load must be for its plan to be taken instead.
constexpr double kFarLower = 1.5;

using SharedPlan = std::shared_ptr<const RoutingPlan>;

// The link that is loaded most, measured by the bound of its connected component of the fabric,
// when all hosts send to all.
struct Peak {
  double times_bound = 0;
  uint32_t pairs = 0;  // Pairs of host end ports on it.
  PortRef egress;
};

class LoadJudge {
 public:
  explicit LoadJudge(const RoutingInput& input)
      : parallel_(input.options.threads), graphs_(BuildGraphs(input.snapshot, input.lids)) {
    for (const SwitchGraph& graph : graphs_) bounds_.push_back(CutBound(graph, FindLevels(graph)));
  }

  Peak Of(const RoutingPlan& plan) {
    Peak peak;
    for (size_t i = 0; i < graphs_.size(); ++i) {
      const LinkLoad load = AllToAllLoad(graphs_[i], plan, parallel_);
      if (load.max == 0 || bounds_[i] <= 0 || load.max <= peak.times_bound * bounds_[i]) continue;
      peak = {load.max / bounds_[i], load.max, EgressOf(graphs_[i], load)};
    }
    return peak;
  }

 private:
  static PortRef EgressOf(const SwitchGraph& graph, const LinkLoad& load) {
    const auto cable = static_cast<uint32_t>(
        std::max_element(load.cable.begin(), load.cable.end()) - load.cable.begin());
    const auto neighbor = std::upper_bound(
        graph.neighbors.begin(), graph.neighbors.end(), cable,
        [](uint32_t value, const Neighbor& other) { return value < other.first_cable; });
    const auto index = static_cast<uint32_t>(neighbor - graph.neighbors.begin()) - 1;
    const auto tail =
        std::upper_bound(graph.neighbor_begin.begin(), graph.neighbor_begin.end(), index) -
        graph.neighbor_begin.begin() - 1;
    return {graph.node[static_cast<size_t>(tail)], PortNum(graph.cables[cable].port)};
  }

  Parallel parallel_;
  const std::vector<SwitchGraph> graphs_;
  std::vector<double> bounds_;  // [graph]
};

class Chain {
 public:
  Chain(const RoutingInput& input, const ChainObserver& observer)
      : input_(input), observer_(observer) {}

  ChainResult Run() {
    for (size_t turn = 0; turn < input_.options.chain.size(); ++turn) {
      const std::string& name = input_.options.chain[turn];
      SharedPlan plan;
      const bool last = turn + 1 == input_.options.chain.size();
      result_.steps.push_back({name, false, TryEngine(name, last && !result_.plan, plan)});
      if (!plan) continue;
      const bool first = result_.plan == nullptr;
      if (first)
        Take(turn, std::move(plan));
      else
        Compare(turn, std::move(plan));
      if (!first || last || IsGood()) break;
    }
    return std::move(result_);
  }

 private:
  void Tell(std::string_view engine, ChainPhase phase) const {
    if (observer_) observer_(engine, phase);
  }

  // Why the engine's plan cannot be used; empty when it can. The last resort has all the work that
  // it takes: any plan is better than none.
  std::string TryEngine(const std::string& name, bool last_resort, SharedPlan& result) const {
    const std::unique_ptr<RoutingEngine> engine = MakeEngine(name);
    if (!engine)
      return fmt::format("no engine has this name (known: {})", fmt::join(EngineNames(), ", "));
    Tell(name, ChainPhase::kCompute);
    const uint64_t steps = last_resort ? 0 : input_.options.engine_budget;
    WorkBudget budget(steps == 0 ? WorkBudget::kUnlimited : steps);
    RoutingInput input = input_;
    input.budget = &budget;
    absl::StatusOr<RoutingPlan> plan = engine->Compute(input);
    if (!plan.ok()) return Message(plan.status());
    Tell(name, ChainPhase::kVerify);
    const VerifyReport report =
        VerifyOrdered(input_.snapshot, input_.lids, *plan, input_.options.threads);
    // Whoever builds on the plan's order (change_proof.h) must be able to rely on it.
    if (!report.by_order) plan->order.clear();
    if (!report.ok) {
      const size_t shown = std::min(report.faults.size(), kFaultsInReason);
      return fmt::format("the plan does not verify: {}",
                         fmt::join(report.faults.begin(), report.faults.begin() + shown, "; "));
    }
    result = std::make_shared<const RoutingPlan>(*std::move(plan));
    return {};
  }

  void Take(size_t turn, SharedPlan plan) {
    if (result_.plan) result_.steps[chosen_].chosen = false;
    result_.plan = std::move(plan);
    result_.steps[turn].chosen = true;
    chosen_ = turn;
  }

  bool IsGood() {
    const std::optional<double>& known = result_.plan->load_times_bound;
    return (known && *known <= kTakenAtOnce) || PeakOfChosen().times_bound <= kTakenAtOnce;
  }

  Peak PeakOfChosen() {
    Tell(input_.options.chain[chosen_], ChainPhase::kCompare);
    if (!judge_) judge_.emplace(input_);
    if (!peak_) peak_ = judge_->Of(*result_.plan);
    return *peak_;
  }

  // The plan at hand is loaded far above the bound: is this one much better?
  void Compare(size_t turn, SharedPlan plan) {
    const Peak ours = PeakOfChosen(), other = judge_->Of(*plan);
    const std::string& name = input_.options.chain[turn];
    if (other.times_bound * kFarLower > ours.times_bound) {
      result_.steps[turn].reason = fmt::format("{}, while {} stays at {:.2f}", LoadText(other),
                                               input_.options.chain[chosen_], ours.times_bound);
      return;
    }
    result_.steps[chosen_].reason =
        fmt::format("{}, where {} needs {:.2f}", LoadText(ours), name, other.times_bound);
    Take(turn, std::move(plan));
    peak_ = other;
  }

  std::string LoadText(const Peak& peak) const {
    return fmt::format(
        "all-to-all load: switch {} port {} carries {} pairs of hosts, {:.2f} times "
        "the lower bound",
        NodeName(input_.snapshot, peak.egress.node), peak.egress.port, peak.pairs,
        peak.times_bound);
  }

  const RoutingInput& input_;
  const ChainObserver& observer_;
  ChainResult result_;
  size_t chosen_ = 0;  // Index of the step whose plan is in result_, if there is one.
  std::optional<LoadJudge> judge_;
  std::optional<Peak> peak_;  // Of the plan in result_.
};

}  // namespace

std::unique_ptr<RoutingEngine> MakeEngine(std::string_view name) {
  if (name == "fat_tree") return std::make_unique<FatTree>();
  if (name == "layered") return std::make_unique<Layered>();
  if (name == "min_hop") return std::make_unique<MinHop>();
  if (name == "rail") return std::make_unique<Rail>();
  if (name == "up_down") return std::make_unique<UpDown>();
  return nullptr;
}

std::vector<std::string_view> EngineNames() {
  return {"fat_tree", "layered", "min_hop", "rail", "up_down"};
}

ChainResult RunChain(const RoutingInput& input, const ChainObserver& observer) {
  return Chain(input, observer).Run();
}

}  // namespace fabricd::routing
