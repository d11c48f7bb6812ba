// SPDX-License-Identifier: Apache-2.0
#include "sweep/plan/planner.h"

#include <algorithm>
#include <utility>

#include "common/breakage.h"
#include "sweep/device/corrupt.h"

namespace fabricd::sweep {
namespace {

bool HasUnresponsiveSwitch(const fabric::FabricSnapshot& snapshot) {
  bool has = false;
  snapshot.ForEachNode(
      [&](const fabric::Node& node) { has |= node.IsSwitch() && node.unresponsive; });
  return has;
}

}  // namespace

ComputePlan Planner::MakeQuestion(std::shared_ptr<const fabric::FabricSnapshot> snapshot,
                                  std::shared_ptr<const fabric::LidTable> lids,
                                  fabric::Intent intent, routing::ReplanGoal goal,
                                  const DeviceTable& devices, Instant now) {
  const bool had_fixed_tables = std::exchange(has_fixed_tables_, HasUnresponsiveSwitch(*snapshot));
  // As after any other change: links that have just come up are not ACTIVE yet.
  if (had_fixed_tables && !has_fixed_tables_ && ideal_at_ != kNever)
    ideal_at_ = std::max(ideal_at_, now + quiet_time());
  if (!has_fixed_tables_ && now >= IdealDue())
    goal = has_new_options_ ? routing::ReplanGoal::kIdeal : routing::ReplanGoal::kIdealIfHitless;
  // Its table cannot be written, so nothing moves that need not.
  if (has_fixed_tables_) goal = std::min(goal, routing::ReplanGoal::kWhole);
  may_reoptimise_ = true;
  questions_.Drop<OrderTables>();
  // A plan that was not compared with the tables of the predecessor is no plan before.
  const auto before = adoption_ == Adoption::kNone ? routes_ : nullptr;
  if (adoption_ == Adoption::kAsked) adoption_ = Adoption::kWanted;
  before_ = before ? before->plan : nullptr;
  snapshot_ = snapshot;
  lids_ = lids;
  ComputePlan task{std::move(snapshot), std::move(lids), std::move(intent),
                   options_.routing,    before,          goal};
  // Traffic waits for an urgent plan, and copying the tables of a large fabric takes milliseconds.
  const bool waits = goal < routing::ReplanGoal::kIdealIfHitless;
  const bool is_clear =
      waits && before_ && !before_->order.empty() && devices.applied().Holds(*before_);
  const bool takes_over = !before_ && fabric::HasUnknownNeighbours(*snapshot_);
  const bool forgets =
      IsBroken(Breakage::kUnresponsiveLost) && fabric::HasUnknownNeighbours(*snapshot_);
  if (((before_ && !is_clear) || takes_over) && !forgets)
    task.applied = std::make_shared<const routing::AppliedTables>(devices.applied().Tables());
  return task;
}

void Planner::OnBecameMaster(bool of_predecessor) {
  DropAdoption();
  const bool adopts = of_predecessor && !plan() && !IsBroken(Breakage::kTablesNotAdopted);
  adoption_ = adopts ? Adoption::kWanted : Adoption::kNone;
}

// Without a quiet time only the ideal plan is wanted.
bool Planner::MayAdopt() const {
  return adoption_ != Adoption::kNone && plan() && quiet_time() != Duration::zero();
}

ComputePlan Planner::AdoptionQuestion(fabric::Intent intent, const DeviceTable& devices) {
  adoption_ = Adoption::kAsked;
  // Tables that cannot be written stay as they are.
  const auto goal =
      has_fixed_tables_ ? routing::ReplanGoal::kWhole : routing::ReplanGoal::kIdealIfHitless;
  ComputePlan task{snapshot_, lids_, std::move(intent), options_.routing, nullptr, goal};
  task.applied = std::make_shared<const routing::AppliedTables>(devices.applied().Tables());
  task.ideal = routes_;
  return task;
}

void Planner::AskOrder(const DeviceTable& devices) {
  questions_.Ask(
      OrderTables{snapshot_, lids_, routes_, before_,
                  std::make_shared<const routing::AppliedTables>(devices.applied().Tables()),
                  options_.routing.threads});
}

void Planner::Forget() {
  Cancel();
  routes_ = nullptr;
  before_ = nullptr;
  ideal_at_ = whole_at_ = kNever;
  may_reoptimise_ = has_answer_ = false;
}

void Planner::OnPlan(PlanReady ready, const fabric::FabricSnapshot& snapshot, ProblemList& problems,
                     Instant now) {
  routing::ReplanResult& result = ready.result;
  if (adoption_ == Adoption::kAsked) EndAdoption();
  // OrderTables must check the writes as Replan has.
  if (result.adopted) before_ = result.adopted->plan;
  if (IsBroken(Breakage::kHoleInPlan)) CorruptRoutes(result.after, CorruptWithHole);
  if (IsBroken(Breakage::kHoleInLaterPlan) && routes_) CorruptRoutes(result.after, CorruptWithHole);
  if (IsBroken(Breakage::kCircleInPlan))
    CorruptRoutes(result.after, [&](SharedPlan& plan) { CorruptWithCycle(plan, snapshot); });
  const SharedPlan plan = result.after ? result.after->plan : nullptr;
  const bool is_other = this->plan() != plan;
  // If the ideal plan is put off, the chain's choice is not the plan in use.
  if (!result.steps.empty() && result.put_off.empty() && chain_ != result.steps)
    NoteChoice(std::move(result.steps));
  whole_at_ = result.reached == routing::ReplanGoal::kUrgent ? now : kNever;
  if (!result.put_off.empty())
    Log(LogLevel::kInfo,
        fmt::format("the plan of least change stays until something changes: {}", result.put_off));
  if (result.reached == routing::ReplanGoal::kIdeal) has_new_options_ = false;
  if (result.reached == routing::ReplanGoal::kIdeal || !result.put_off.empty())
    ideal_at_ = kNever;
  else if (is_other && ideal_at_ == kNever)  // Another fault does not delay it.
    ideal_at_ = now + quiet_time();
  if (IsBroken(Breakage::kNeverSettled)) ideal_at_ = kNever;
  has_answer_ = plan != nullptr;
  problems.Remove(ProblemKind::kNoPlan);
  problems.Remove(ProblemKind::kLanesInUse);
  if (plan)
    routes_ = std::move(result.after);
  else
    problems.Add(ProblemKind::kNoPlan, ProblemSubject::Subnet(),
                 "no routing engine gave a plan that can be proved: nothing is programmed");
  // A standing problem, because operators who see the subnet later must know it too (DESIGN §7).
  if (plan && plan->lanes > 1)
    problems.Add(ProblemKind::kLanesInUse, ProblemSubject::Subnet(),
                 fmt::format("routes need {} virtual lanes: clients that do not take their service "
                             "level from the SA (NCCL, often UCX) can deadlock the fabric",
                             plan->lanes));
}

// Logged once, not with each plan. An engine that does not fit is no reason for a warning. One that
// no longer fits is.
void Planner::NoteChoice(std::vector<routing::ChainStep> steps) {
  std::string before;
  for (const routing::ChainStep& step : chain_)
    if (step.chosen) before = step.engine;
  chain_ = std::move(steps);
  for (const routing::ChainStep& step : chain_) {
    if (step.chosen)
      Log(LogLevel::kInfo, fmt::format("routing by {}", step.engine));
    else if (!step.reason.empty())
      Log(step.engine == before ? LogLevel::kWarning : LogLevel::kInfo,
          fmt::format("routing engine {} was not taken: {}", step.engine, step.reason));
  }
}

}  // namespace fabricd::sweep
