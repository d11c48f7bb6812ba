// SPDX-License-Identifier: Apache-2.0
#include "plan/planning.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "common/status.h"
#include "fabric/hosts.h"
#include "fabric/rails.h"
#include "routing/graph/graph.h"
#include "routing/plan/parallel.h"
#include "routing/plan/plan_diff.h"
#include "routing/quality/link_load.h"
#include "routing/repair/repair.h"

namespace fabricd::plan {
namespace {

using routing::ChainPhase;
using routing::ChainResult;
using routing::RoutingInput;
using routing::RoutingPlan;
using routing::SwitchGraph;

class Stopwatch {
 public:
  // Since it was made or last read.
  double Milliseconds() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::milli> passed = now - start_;
    start_ = now;
    return passed.count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Runs a chain and keeps each engine's times.
struct TimedChain {
  struct Times {
    double route_ms = 0, verify_ms = 0;
  };

  explicit TimedChain(const RoutingInput& input) {
    Stopwatch watch;
    double unused = 0;
    double* running = &unused;
    result = routing::RunChain(input, [&](std::string_view engine, ChainPhase phase) {
      *running += watch.Milliseconds();
      Times& of_engine = times[std::string(engine)];
      running = phase == ChainPhase::kCompute  ? &of_engine.route_ms
                : phase == ChainPhase::kVerify ? &of_engine.verify_ms
                                               : &unused;
    });
    *running += watch.Milliseconds();
  }

  ChainResult result;
  std::map<std::string, Times> times;
};

uint64_t TableBytes(const RoutingPlan& plan) {
  uint64_t bytes = 0;
  for (const auto& row : plan.rows) bytes += row ? row->size() : 0;
  for (const auto& row : plan.service_levels) bytes += row ? row->size() : 0;
  return bytes;
}

class Planner {
 public:
  Planner(const Fabric& fabric, const PlanningOptions& options)
      : fabric_(fabric),
        options_(options),
        parallel_(options.routing.threads),
        pieces_(routing::BuildGraphs(*fabric.snapshot, fabric.lids)),
        largest_(routing::LargestGraph(pieces_)) {
    if (largest_ == nullptr || !options.measure) return;
    const fabric::HostTable hosts = fabric::FindHosts(*fabric.snapshot, fabric::HostPatterns());
    rails_ = routing::OrderHosts(*fabric.snapshot, fabric::FindRails(*fabric.snapshot, hosts),
                                 *largest_);
  }

  uint32_t pieces() const { return static_cast<uint32_t>(pieces_.size()); }

  ChainResult RunChain(EngineReport& chosen) {
    TimedChain chain(Input(options_.routing));
    if (chain.result.plan == nullptr) return std::move(chain.result);
    chosen.engine = chain.result.plan->engine;
    chosen.plan = chain.result.plan;
    chosen.verify.ok = chosen.verify.deadlock_free = true;
    chosen.route_ms = chain.times[chosen.engine].route_ms;
    chosen.verify_ms = chain.times[chosen.engine].verify_ms;
    Measure(chosen);
    return std::move(chain.result);
  }

  // The engine alone, whether its plan verifies or not.
  EngineReport RunEngine(const std::string& name) {
    EngineReport report;
    report.engine = name;
    const auto engine = routing::MakeEngine(name);
    if (engine == nullptr) {
      report.reason = "no engine has this name";
      return report;
    }
    Stopwatch watch;
    absl::StatusOr<RoutingPlan> plan = engine->Compute(Input(options_.routing));
    report.route_ms = watch.Milliseconds();
    if (!plan.ok()) {
      report.reason = Message(plan.status());
      return report;
    }
    report.plan = std::make_shared<const RoutingPlan>(*std::move(plan));
    watch.Milliseconds();
    report.verify =
        routing::Verify(*fabric_.snapshot, fabric_.lids, *report.plan, options_.routing.threads);
    report.verify_ms = watch.Milliseconds();
    if (!report.verify.ok)
      report.reason =
          report.verify.faults.empty() ? "the plan does not verify" : report.verify.faults.front();
    Measure(report);
    return report;
  }

 private:
  RoutingInput Input(const routing::RoutingOptions& options) const {
    return {*fabric_.snapshot, fabric_.lids, options};
  }
  void Measure(EngineReport& report) {
    Stopwatch watch;
    report.table_bytes = TableBytes(*report.plan);
    report.unserved_pairs = report.verify.unreachable_pairs + report.plan->exempt.size();
    report.measured = largest_ != nullptr && options_.measure;
    if (report.measured)
      report.quality =
          routing::MeasureQuality(*largest_, *report.plan, &rails_, options_.quality, parallel_);
    report.metrics_ms = watch.Milliseconds();
  }

  const Fabric& fabric_;
  const PlanningOptions& options_;
  routing::Parallel parallel_;
  const std::vector<SwitchGraph> pieces_;
  const SwitchGraph* const largest_;  // Of pieces_; null: there is none.
  routing::RailedHosts rails_;
};

Step MakeStep(const Fabric& now, const RoutingPlan& before, const RoutingPlan& after, double ms,
              const PlanningOptions& options) {
  const routing::PlanDiff diff = routing::DiffPlans(before, after);
  Step step{after.engine, ms, diff.blocks.size(), diff.destinations, diff.switches, std::nullopt};
  const std::vector<SwitchGraph> pieces = routing::BuildGraphs(*now.snapshot, now.lids);
  routing::Parallel parallel(options.routing.threads);
  if (const SwitchGraph* piece = routing::LargestGraph(pieces); piece != nullptr && options.measure)
    step.max_load = routing::AllToAllLoad(*piece, after, parallel).max;
  return step;
}

std::string ReasonsOf(const std::vector<routing::ChainStep>& steps) {
  std::string reasons;
  for (const routing::ChainStep& step : steps)
    reasons += (reasons.empty() ? "" : "; ") + step.engine + ": " + step.reason;
  return reasons;
}

}  // namespace

std::optional<SwitchGraph> LargestPiece(const Fabric& fabric) {
  const std::vector<SwitchGraph> pieces = routing::BuildGraphs(*fabric.snapshot, fabric.lids);
  const SwitchGraph* largest = routing::LargestGraph(pieces);
  return largest ? std::optional(*largest) : std::nullopt;
}

Planning MakePlan(const Fabric& fabric, const PlanningOptions& options) {
  Planner planner(fabric, options);
  Planning planning;
  planning.pieces = planner.pieces();
  ChainResult chain = planner.RunChain(planning.best);
  planning.chain = std::move(chain.steps);
  const auto& names = options.routing.chain;
  if (!options.compare && (chain.plan != nullptr || names.size() != 1)) return planning;
  for (const std::string& name : names) {
    const bool chosen = chain.plan != nullptr && name == planning.best.engine;
    planning.compared.push_back(chosen ? planning.best : planner.RunEngine(name));
    if (planning.best.plan == nullptr) planning.best = planning.compared.back();
  }
  if (!options.compare) planning.compared.clear();
  return planning;
}

ChangeReport PlanChange(const Fabric& before, const Fabric& now, const PlanningOptions& options) {
  ChangeReport report;
  const ChainResult earlier = routing::RunChain({*before.snapshot, before.lids, options.routing});
  if (earlier.plan == nullptr) {
    report.reason = "the baseline has no plan: " + ReasonsOf(earlier.steps);
    return report;
  }
  const routing::RouteState state =
      routing::MakeRouteState(*before.snapshot, before.lids, earlier.plan);
  Stopwatch watch;
  const auto least = routing::RepairPlan(state, *now.snapshot, now.lids,
                                         {.urgent = true, .threads = options.routing.threads});
  const double least_ms = watch.Milliseconds();
  std::shared_ptr<const RoutingPlan> first = least.ok() ? least->after.plan : nullptr;
  if (least.ok())
    report.first = MakeStep(now, *earlier.plan, *first, least_ms, options);
  else
    report.why_not_least = Message(least.status());
  watch.Milliseconds();
  const ChainResult settled = routing::RunChain(
      {*now.snapshot, now.lids, options.routing, first ? first.get() : earlier.plan.get()});
  const double settled_ms = watch.Milliseconds();
  if (settled.plan == nullptr) {
    report.reason = ReasonsOf(settled.steps);
    return report;
  }
  if (first == nullptr) {
    first = settled.plan;
    report.first = MakeStep(now, *earlier.plan, *first, settled_ms, options);
  }
  report.settled = MakeStep(now, *first, *settled.plan, settled_ms, options);
  return report;
}

}  // namespace fabricd::plan
