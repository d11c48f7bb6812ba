// SPDX-License-Identifier: Apache-2.0
#include "sweep/activity/programming.h"

#include <utility>

#include "common/check.h"
#include "sweep/observe/unresponsive.h"

namespace fabricd::sweep {

Programming::Programming(const Ground& ground, ObservedFabric& observed, LidManager& lids,
                         Planner& planner, Remediation& remediation, PartitionKeeper& partitions,
                         OpenQuestions& questions, SweepJournal& journal, ViewPublisher& view,
                         Multicast::SharedGroups groups,
                         std::shared_ptr<const fabric::AliasGuids> aliases)
    : ground_(ground),
      observed_(observed),
      lids_(lids),
      planner_(planner),
      remediation_(remediation),
      partitions_(partitions),
      questions_(questions),
      journal_(journal),
      view_(view),
      multicast_(std::move(groups), questions),
      desired_(std::move(aliases)) {}

// ---- start

void Programming::OnDiscovered() {
  lids_.Invalidate();
  desired_.SetGoal(ground_.options.sweep.settle_after == Duration::zero()
                       ? routing::ReplanGoal::kIdeal
                       : routing::ReplanGoal::kWhole);
}

bool Programming::AssignLids() {
  if (!lids_.Update(observed_.snapshot(), ground_.problems)) desired_.pending().MarkAll();
  if (lids_.IsDurable()) return true;
  lids_.AskToStore();
  return false;
}

DesiredInputs Programming::InputsFor(std::shared_ptr<const fabric::LidTable> lids) const {
  return {observed_.snapshot(),
          std::move(lids),
          remediation_.intent(),
          partitions_.index(),
          partitions_.generation(),
          ground_.options.policy.partitions,
          nullptr,
          observed_.local(),
          /*first_run=*/{},
          multicast_.blocks()};
}

DesiredState Programming::Preview() const {
  return desired_.Preview(
      InputsFor(std::make_shared<const fabric::LidTable>(lids_.Preview(*observed_.snapshot()))));
}

void Programming::Begin(bool trees_only) {
  const DesiredState& desired = desired_.Update(InputsFor(lids_.table()));
  ProgrammerInput input{desired, {}, ++run_, trees_only};
  if (trees_only)
    input.scope.nodes.emplace();
  else
    input.scope = desired_.pending().ScopeFor(desired);
  BeginRun(std::move(input));
}

void Programming::BeginRun(ProgrammerInput input) {
  programmer_ = std::make_unique<Programmer>(std::move(input), ground_.builder, ground_.devices,
                                             ground_.engine, ground_.problems, ground_.options);
  programmer_->Start();
}

void Programming::Start(Instant now) {
  Begin(/*trees_only=*/false);
  changes_wait_until_ = now + kTimeToWrite;
  // Switches that come back with their tables may serve pairs, which a plan has to leave alone. So
  // their tables are read first. Plans and trees that an earlier run requested do not know them,
  // and are cancelled. The same holds at a takeover for entries towards nodes that do not respond.
  const bool may_serve = (planner_.plan() && !planner_.MustCompare()) ||
                         fabric::HasUnknownNeighbours(*observed_.snapshot());
  if (may_serve && ground_.devices.HasUnreadTables(*observed_.snapshot())) {
    planner_.Cancel();
    multicast_.Cancel();
    Advance(now);  // Perhaps there is nothing to read, and so no later event.
  } else {
    AskPlan(now);
  }
}

// Writes all differences from the plan, also those that the last run left undone.
void Programming::StartWholePlan(Instant now) {
  desired_.SetGoal(routing::ReplanGoal::kWhole);
  journal_.BeginSweep(SweepKind::kSettle, now);
  journal_.BeginReroute(planner_.is_urgent() ? "pairs left pending" : "settling", "subnet", now,
                        now);
  Start(now);
}

void Programming::StartTrees(Instant now) {
  journal_.BeginSweep(SweepKind::kTargeted, now);
  multicast_.Cancel();
  Begin(/*trees_only=*/true);
  programmer_->SetPlan(planner_.plan());
  Advance(now);  // Perhaps there is nothing to read, and so no later event.
}

void Programming::StartReading(Instant now) {
  ForgetTables();
  planner_.Forget();
  desired_.SetGoal(routing::ReplanGoal::kIdeal);
  ProgrammerInput input{Preview(), {}, ++run_};
  input.reads_only = true;
  input.scope.all_keys = true;
  BeginRun(std::move(input));
  AskPlan(now);
  Advance(now);  // Perhaps there is nothing to read, and so no later event.
}

void Programming::AskPlan(Instant now) {
  planned_intent_ = remediation_.generation();
  ComputePlan question =
      planner_.MakeQuestion(observed_.snapshot(), programmer_->desired().lids,
                            remediation_.intent(), desired_.goal(), ground_.devices, now);
  Ask(std::move(question));
  // The answer to an earlier check would be of an older snapshot.
  if (cables_.MustCheck(*observed_.snapshot()) || !programmer_->scope().nodes || AwaitsCables()) {
    questions_.Ask(CheckCables{observed_.snapshot(), ground_.options.routing.host_patterns});
    cables_.OnChecked(observed_.snapshot());
  }
}

void Programming::Ask(ComputePlan question) {
  question.needs_room = multicast_.HasWork(ground_.devices);
  question.has_trees = !multicast_.plan()->empty();
  question.trees = multicast_.held();
  multicast_.NoteQuestion(question);
  questions_.Ask(std::move(question));
}

// The tables differ from the plan. If they are a predecessor's, perhaps they are better kept.
void Programming::AskPush(Instant now) {
  if (!planner_.MayAdopt()) {
    planner_.EndAdoption();
    planner_.AskOrder(ground_.devices);
  } else if (planned_intent_ == remediation_.generation()) {
    Ask(planner_.AdoptionQuestion(remediation_.intent(), ground_.devices));
  } else {
    AskPlan(now);
  }
}

// ---- the run

bool Programming::ComesBeforeChanges(Instant now) const {
  if (programmer_ && planner_.IsAdopting()) return true;
  const bool is_urgent =
      programmer_ && programmer_->scope().nodes && desired_.goal() == routing::ReplanGoal::kUrgent;
  if (!is_urgent) return false;
  return planner_.AwaitsPlan() || (!programmer_->tables_done() && now < changes_wait_until_);
}

void Programming::OnPlan(PlanReady ready, Instant now) {
  const bool keeps_trees = ready.keeps_trees, mixes_trees = ready.mixes_trees;
  if (!programmer_) return;
  planner_.OnPlan(std::move(ready), *observed_.snapshot(), ground_.problems, now);
  const Planner::SharedPlan plan = planner_.plan();
  if (reads_only()) {
    if (plan && ground_.options.sm.FollowsOwner())
      view_.ShowComputedTables(*plan, *observed_.snapshot());
    return programmer_->SetPlan(plan);
  }
  multicast_.order().OnPlan(keeps_trees, mixes_trees, plan && !plan->order.empty());
  if (multicast_.order().MustWithdraw()) programmer_->WithdrawTrees();
  if (plan) journal_.OnPlan(plan->engine, planner_.is_provisional(), now);
  programmer_->SetPlan(planner_.has_answer() ? plan : nullptr);
  changes_wait_until_ = now + kTimeToWrite;
  view_.MarkChanged();
}

void Programming::OnOrder(TablesOrdered ordered, Instant now) {
  if (!programmer_) return;
  journal_.OnOrder(ordered.push, now);
  programmer_->SetPush(std::move(ordered.push));
}

void Programming::OnTrees(TreesReady ready) {
  const Multicast::SharedTrees trees =
      multicast_.OnTrees(std::move(ready), *observed_.snapshot(), ground_.problems);
  if (!programmer_) return;
  view_.MarkChanged();
  // If all trees follow one order, every packet goes up before it goes down, whichever tree it is
  // in.
  programmer_->SetTrees(trees, planner_.plan() && multicast_.order().MayMix(*planner_.plan()));
}

void Programming::OnCables(CablesChecked checked) {
  ground_.problems.Remove(ProblemKind::kMisplacedCable);
  for (Problem& problem : checked.problems) ground_.problems.Add(std::move(problem));
  view_.MarkChanged();
}

bool Programming::OnCompletion(const mad::Completion& completion) {
  const bool is_late = !programmer_ || !programmer_->IsMine(completion);
  if (is_late) return Programmer::OnLateAnswer(completion, ground_.builder, ground_.devices);
  programmer_->OnCompletion(completion);
  return false;
}

void Programming::Advance(Instant now) {
  programmer_->Feed();
  if (programmer_->NeedsPlan() && !planner_.AwaitsPlan()) AskPlan(now);
  if (programmer_->NeedsPush() && !planner_.AwaitsOrder() && !planner_.AwaitsPlan()) AskPush(now);
  view_.ShowTableWrites(programmer_->table_writes());
  AdvanceTrees();
  if (programmer_->has_plan() && programmer_->tables_begun()) planner_.EndAdoption();
  if (!programmer_->tables_done()) return;
  journal_.EndReroute(*programmer_, /*superseded=*/false, now);
}

void Programming::AdvanceTrees() {
  if (!programmer_->NeedsTrees() || multicast_.IsAwaited()) return;
  if (multicast_.HasWork(ground_.devices)) {
    multicast_.Ask(planner_.plan(), ground_.devices);
  } else {
    programmer_->SetTrees(nullptr, true);
    programmer_->Feed();
  }
}

// ---- end

void Programming::EndReading() {
  programmer_.reset();
  planner_.Forget();
}

void Programming::NoteKeys(const Programmer& ended) {
  if (ended.keys_done()) desired_.OnKeysProgrammed(ended.desired(), ended.scope());
}

Programming::Outcome Programming::Finish(Instant now) {
  const std::unique_ptr<Programmer> ended = std::exchange(programmer_, nullptr);
  if (ended->trees_done()) multicast_.OnTreesDone();
  const bool confirmed = ended->failures() == 0;
  if (ended->trees_only()) {
    // This run did not touch the rest of the fabric, so what was pending there stays pending.
    desired_.pending().Mark(ended->undone());
    Observe(now);
    return {.trees_only = true, .complete = confirmed, .forwards_by_plan = true, .to_reread = {}};
  }
  NoteKeys(*ended);
  ShareMemory();
  Observe(now);
  const bool is_first = desired_.TakeFirstRun();
  desired_.pending().OnRunEnded(ended->undone());
  const std::vector<NodeIndex> withheld = lids_.withheld();
  desired_.pending().Mark(withheld);
  const bool complete = confirmed && ended->has_plan();
  if (complete) {
    remediation_.OnApplied(planned_intent_, now);
    partitions_.OnApplied(ended->desired().keys.generation);
  }
  return {.is_first = is_first,
          .complete = complete && withheld.empty(),
          .forwards_by_plan = NoteAdaptiveRouting(),
          .to_reread = ended->ToLookAt()};
}

// Returns false if it is not known where packets go.
bool Programming::NoteAdaptiveRouting() {
  constexpr char kText[] =
      "another manager has left adaptive routing on: packets may follow that manager's tables, "
      "also over links that are gone or in loops; switch it off by that manager, or restart the "
      "switch";
  ground_.problems.Remove(ProblemKind::kAdaptiveRouting);
  bool is_on = false;
  for (const NodeIndex index : ground_.devices.applied().adaptive_routing().On()) {
    const fabric::Node* const node = observed_.snapshot()->node(index);
    if (node == nullptr) continue;
    is_on = true;
    ground_.problems.Add(ProblemKind::kAdaptiveRouting, ProblemSubject::Of(*node), kText);
  }
  return !is_on || ground_.options.sweep.accept_foreign_ar;
}

// Devices hold the rows of the plan: one copy in memory is enough.
void Programming::ShareMemory() {
  const Planner::SharedPlan plan = planner_.plan();
  for (uint32_t i = 0; plan && i < plan->rows.size(); ++i)
    if (plan->rows[i]) ground_.devices.applied().Lft(NodeIndex(i)).ShareMemory(*plan->rows[i]);
}

void Programming::Observe(Instant now) {
  ReportUnresponsive(ground_);
  observed_.Rebuild();
  remediation_.OnSnapshot(now);
}

std::vector<NodeIndex> Programming::Supersede(Instant now) {
  journal_.EndReroute(*programmer_, /*superseded=*/true, now);
  NoteKeys(*programmer_);
  desired_.pending().Mark(programmer_->undone());
  std::vector<mad::Completion> dropped;
  ground_.engine.CancelQueuedOf(Activity::kProgrammer, dropped);
  for (const mad::Completion& completion : dropped)  // Never sent, so they carry no response.
    FABRICD_CHECK(!Programmer::OnLateAnswer(completion, ground_.builder, ground_.devices));
  return std::exchange(programmer_, nullptr)->ToLookAt();
}

void Programming::Cancel() {
  programmer_.reset();
  desired_.pending().OnSweepStart();
  planner_.Cancel();
  planner_.AllowReoptimisation(false);
  questions_.Drop<CheckCables>();
  lids_.Cancel();
}

// ---- display

Phase Programming::phase() const {
  using Stage = Programmer::Stage;
  const Stage stage = programmer_->stage();
  if (stage == Stage::kTables && planner_.AwaitsPlan()) return Phase::kRouting;
  return stage >= Stage::kArm ? Phase::kBringingUp : Phase::kProgramming;
}

Progress Programming::progress() const {
  return {phase(), std::string(StageName(programmer_->stage())), programmer_->stage_position(),
          programmer_->stage_total()};
}

}  // namespace fabricd::sweep
