// SPDX-License-Identifier: Apache-2.0
// sweep/plan: what is wanted: LIDs, routes, multicast trees.
//
// Planner: which plan is wanted. It asks for plans (outside the core) and for
// the order in which tables take them, keeps what came, and knows when a plan of least change has
// stood long enough and the ideal one is due. What is not proved never comes here.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "routing/repair/replan.h"
#include "sweep/device/device_table.h"
#include "sweep/interface/events.h"
#include "sweep/interface/problems.h"
#include "sweep/interface/questions.h"

namespace fabricd::sweep {

class Planner {
 public:
  using SharedPlan = std::shared_ptr<const routing::RoutingPlan>;

  // All must outlive this.
  Planner(const CoreOptions& options, OpenQuestions& questions, std::vector<LogRecord>& log)
      : options_(options), questions_(questions), log_(log) {}

  // The next question, to be asked by the caller. The plan will go at least as far as `goal`, and
  // to the ideal one if that is due. An order that was asked for is void.
  ComputePlan MakeQuestion(std::shared_ptr<const fabric::FabricSnapshot> snapshot,
                           std::shared_ptr<const fabric::LidTable> lids, fabric::Intent intent,
                           routing::ReplanGoal goal, const DeviceTable& devices, Instant now);
  void AskOrder(const DeviceTable& devices);
  void Cancel() { questions_.Drop<ComputePlan>(), questions_.Drop<OrderTables>(); }
  bool AwaitsPlan() const { return questions_.IsOpen<ComputePlan>(); }
  bool AwaitsOrder() const { return questions_.IsOpen<OrderTables>(); }

  // `snapshot` is the one that was asked with.
  void OnPlan(PlanReady ready, const fabric::FabricSnapshot& snapshot, ProblemList& problems,
              Instant now);

  // Null: none was made yet.
  SharedPlan plan() const { return routes_ ? routes_->plan : nullptr; }
  const std::shared_ptr<const routing::RouteState>& routes() const { return routes_; }
  const std::vector<routing::ChainStep>& chain() const { return chain_; }
  // False: the last question had no plan for an answer; plan() is an older one.
  bool has_answer() const { return has_answer_; }
  // The plan is one of least change.
  bool is_provisional() const { return ideal_at_ != kNever; }
  // It leaves pairs pending.
  bool is_urgent() const { return whole_at_ != kNever; }

  // When a plan that goes further is due; kNever: the ideal one stands, or it may not be asked for.
  Instant NextStepTime() const {
    return may_reoptimise_ ? std::min(whole_at_, IdealDue()) : kNever;
  }
  // Nodes have come. While more keep coming, as when a site is switched on, the ideal plan waits
  // until none has come for `settle_after`: another whole plan for each few of them would move
  // what has only just been written. At most kLongestArrivals.
  void NoteArrivals(Instant now) { last_arrival_ = now; }
  // Another chain or balance may be wanted, even at the price of ways that are gone for a moment.
  void ReoptimiseNow(Instant now) { ideal_at_ = now, other_wishes_ = true; }
  // False: what is known is neither programmed nor begun with; LIDs may be neither durable nor
  // read.
  void AllowReoptimisation(bool allowed) { may_reoptimise_ = allowed; }

 private:
  static constexpr Duration kLongestArrivals = std::chrono::minutes(5);

  Instant IdealDue() const {
    if (ideal_at_ == kNever) return kNever;
    const Instant quiet = last_arrival_ + options_.sweep.settle_after;
    return std::clamp(quiet, ideal_at_, ideal_at_ + kLongestArrivals);
  }
  void NoteChoice(std::vector<routing::ChainStep> steps);
  void Log(LogLevel level, std::string text) { log_.push_back({level, std::move(text)}); }

  const CoreOptions& options_;
  OpenQuestions& questions_;
  std::vector<LogRecord>& log_;
  std::shared_ptr<const routing::RouteState> routes_;  // The plan with what it was made for.
  SharedPlan before_;  // What was wanted when the last plan was asked for.
  // What the last plan was asked for with.
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  std::shared_ptr<const fabric::LidTable> lids_;
  std::vector<routing::ChainStep> chain_;
  Instant ideal_at_ = kNever;  // When the ideal plan is due.
  Instant last_arrival_{};
  Instant whole_at_ = kNever;  // When the plan is due that leaves no pairs pending.
  bool may_reoptimise_ = false, other_wishes_ = false;
  bool has_answer_ = false;
};

}  // namespace fabricd::sweep
