// SPDX-License-Identifier: Apache-2.0
// sweep/plan: the desired LIDs, routes and multicast trees.
//
// Planner: the desired plan. It requests plans, and the order in which tables are updated to them
// (both computed outside the core), keeps the results, and decides when the ideal plan replaces an
// incremental repair. Only verified plans arrive here.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
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

  // All references must outlive this.
  Planner(const CoreOptions& options, OpenQuestions& questions, std::vector<LogRecord>& log)
      : options_(options), questions_(questions), log_(log) {}

  // Returns the next question, which the caller asks. The plan reaches at least `goal`, and the
  // ideal one if that is due. A pending request for an order is dropped.
  ComputePlan MakeQuestion(std::shared_ptr<const fabric::FabricSnapshot> snapshot,
                           std::shared_ptr<const fabric::LidTable> lids, fabric::Intent intent,
                           routing::ReplanGoal goal, const DeviceTable& devices, Instant now);
  void AskOrder(const DeviceTable& devices);
  // This SM has become master. `of_predecessor`: the tables are those of a predecessor with the
  // same durable state and the same options. Where its last plan was not the ideal one, that stays
  // (ReplanInput::ideal), so the first plan is not desired before it is compared with the tables.
  void OnBecameMaster(bool of_predecessor);
  // The tables differ from the first plan: AdoptionQuestion() comes before AskOrder().
  bool MayAdopt() const;
  // The last question once more, with the tables. REQUIRES: MayAdopt(). All tables have been read,
  // and `intent` is that of the last question.
  ComputePlan AdoptionQuestion(fabric::Intent intent, const DeviceTable& devices);
  // The plan is being written, or the tables are already those of it.
  void EndAdoption() { adoption_ = Adoption::kNone; }
  // AdoptionQuestion() is being answered.
  bool IsAdopting() const { return adoption_ == Adoption::kAsked && AwaitsPlan(); }
  // A plan that is not desired yet: it is only to be compared with the tables.
  bool MustCompare() const { return adoption_ != Adoption::kNone; }
  void Cancel() { questions_.Drop<ComputePlan>(), questions_.Drop<OrderTables>(); }
  // The last plan was only computed to be shown: it is not desired.
  void Forget();
  bool AwaitsPlan() const { return questions_.IsOpen<ComputePlan>(); }
  bool AwaitsOrder() const { return questions_.IsOpen<OrderTables>(); }

  // `snapshot` is the one of the question.
  void OnPlan(PlanReady ready, const fabric::FabricSnapshot& snapshot, ProblemList& problems,
              Instant now);

  // Null: there was no plan yet.
  SharedPlan plan() const { return routes_ ? routes_->plan : nullptr; }
  const std::shared_ptr<const routing::RouteState>& routes() const { return routes_; }
  const std::vector<routing::ChainStep>& chain() const { return chain_; }
  // False: there was no plan for the last question; plan() is an older one.
  bool has_answer() const { return has_answer_; }
  // The plan is an incremental repair.
  bool is_provisional() const { return ideal_at_ != kNever; }
  // False: the options have changed since the plan was chosen.
  bool follows_options() const { return !has_new_options_; }
  // The plan leaves pairs pending.
  bool is_urgent() const { return whole_at_ != kNever; }

  // When the next plan is due. kNever: the plan is ideal, or no other may be requested now.
  Instant NextStepTime() const {
    if (!may_reoptimise_) return kNever;
    return has_fixed_tables_ ? whole_at_ : std::min(whole_at_, IdealDue());
  }
  // New nodes were found. While more arrive, as when a site is switched on, the ideal plan waits
  // until none has arrived for `settle_after`: a whole plan for every few of them would move paths
  // that were only just written. It waits at most kLongestArrivals.
  void NoteArrivals(Instant now) { last_arrival_ = now; }
  // The options have changed: computes the ideal plan now, even if paths are interrupted for a
  // moment.
  void ReoptimiseNow(Instant now) {
    DropAdoption();
    ideal_at_ = now, has_new_options_ = true;
  }
  // False: programming of the current observations has not begun, and LIDs may not be read or
  // durable yet.
  void AllowReoptimisation(bool allowed) { may_reoptimise_ = allowed; }

 private:
  static constexpr Duration kLongestArrivals = std::chrono::minutes(5);
  // Whether the tables of a predecessor may become the plan before. kWanted: once the first plan is
  // there and differs from them.
  enum class Adoption : uint8_t { kNone, kWanted, kAsked };
  // A plan that was only to be compared was never desired.
  void DropAdoption() {
    if (std::exchange(adoption_, Adoption::kNone) == Adoption::kNone) return;
    routes_ = nullptr;
    before_ = nullptr;
    has_answer_ = false;
  }

  Instant IdealDue() const {
    if (ideal_at_ == kNever) return kNever;
    const Instant quiet = last_arrival_ + quiet_time();
    return std::clamp(quiet, ideal_at_, ideal_at_ + kLongestArrivals);
  }
  // Between a change and the ideal plan.
  Duration quiet_time() const { return options_.sweep.settle_after; }
  void NoteChoice(std::vector<routing::ChainStep> steps);
  void Log(LogLevel level, std::string text) { log_.push_back({level, std::move(text)}); }

  const CoreOptions& options_;
  OpenQuestions& questions_;
  std::vector<LogRecord>& log_;
  std::shared_ptr<const routing::RouteState> routes_;  // The plan with its inputs.
  SharedPlan before_;  // The desired plan when the last plan was requested.
  // The inputs of the last plan.
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  std::shared_ptr<const fabric::LidTable> lids_;
  std::vector<routing::ChainStep> chain_;
  Instant ideal_at_ = kNever;  // When the ideal plan is due.
  Instant last_arrival_{};
  Instant whole_at_ = kNever;  // When the plan without pending pairs is due.
  bool may_reoptimise_ = false, has_new_options_ = false;
  bool has_answer_ = false;
  Adoption adoption_ = Adoption::kNone;
  // Some switch does not respond, as of the last question. The ideal plan waits for the next one.
  bool has_fixed_tables_ = false;
};

}  // namespace fabricd::sweep
