// SPDX-License-Identifier: Apache-2.0
// Programming: brings devices from the observed state to the desired state. LIDs are assigned
// first. Then a plan and its multicast trees are requested, and a run of the Programmer writes the
// differences. There is one run at a time; a change supersedes it. The core decides when a run
// starts.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sweep/desired/desired_tracker.h"
#include "sweep/interface/questions.h"
#include "sweep/observe/cable_watch.h"
#include "sweep/observe/observed_fabric.h"
#include "sweep/plan/lid_manager.h"
#include "sweep/plan/multicast.h"
#include "sweep/plan/planner.h"
#include "sweep/program/programmer.h"
#include "sweep/remediate/partition_keeper.h"
#include "sweep/remediate/remediation.h"
#include "sweep/report/sweep_journal.h"
#include "sweep/report/view_publisher.h"

namespace fabricd::sweep {

class Programming {
 public:
  // The tables that one lost link changes are written in less time, on the largest fabrics too.
  static constexpr Duration kTimeToWrite = std::chrono::milliseconds(50);

  // All must outlive this.
  Programming(const Ground& ground, ObservedFabric& observed, LidManager& lids, Planner& planner,
              Remediation& remediation, PartitionKeeper& partitions, OpenQuestions& questions,
              SweepJournal& journal, ViewPublisher& view, Multicast::SharedGroups groups,
              std::shared_ptr<const fabric::AliasGuids> aliases);

  DesiredTracker& desired() { return desired_; }
  const LidManager& lids() const { return lids_; }
  Planner& planner() { return planner_; }
  const Planner& planner() const { return planner_; }
  Multicast& multicast() { return multicast_; }
  const Multicast& multicast() const { return multicast_; }

  // ---- start

  // Discovery has read everything.
  void OnDiscovered();
  // Another master may have written tables since they were read.
  void ForgetTables() {
    ground_.devices.applied().ForgetTables();
    multicast_.Forget();
  }

  // Assigns LIDs. Returns true if Start() may follow. False: the LIDs are being made durable first.
  bool AssignLids();
  // The LIDs have been made durable, or storing them has failed.
  void OnLidsStored(const absl::Status& status) {
    lids_.OnStored(status, observed_.own().port_guid, ground_.problems);
  }
  bool AreLidsDurable() const { return lids_.IsDurable(); }
  // Plans and programs what is pending. REQUIRES: LIDs are durable.
  void Start(Instant now);
  // Replaces a repair by a whole plan. What is known of the devices is kept.
  void StartWholePlan(Instant now);
  // Programs only the trees of groups that have changed. The plan stays.
  void StartTrees(Instant now);
  // Another SM assigns the LIDs: those that ports have are shown.
  void ShowObservedLids() { lids_.ShowObserved(*observed_.snapshot()); }
  // What a first run as master would write, without plan and trees. Nothing is changed.
  DesiredState Preview() const;
  // Reads all tables and computes a plan, as a first run as master does, and writes nothing.
  void StartReading(Instant now);
  // Groups have changed, and no plan is awaited whose trees would include the change.
  bool WantsTrees() const { return multicast_.HasChanges() && planner_.has_answer(); }

  // ---- the run

  bool under_way() const { return programmer_ != nullptr; }
  // True: a run is under way, or waits for its LIDs to be durable.
  bool IsPending() const { return under_way() || lids_.IsAwaited(); }
  // True: the urgent plan that is being computed, or the writing of its tables within kTimeToWrite,
  // comes before new changes. Otherwise a constant stream of changes would starve every run. What
  // is not written in that time is written by the next run.
  bool ComesBeforeChanges(Instant now) const;
  // When the writing of tables no longer comes before new changes.
  Instant changes_wait_until() const { return changes_wait_until_; }

  void OnPlan(PlanReady ready, Instant now);
  void OnOrder(TablesOrdered ordered, Instant now);
  void OnTrees(TreesReady ready);
  void OnCables(CablesChecked checked);
  // True: the request is from an earlier run, and its response shows that the node has changed
  // since. The node must be read again.
  [[nodiscard]] bool OnCompletion(const mad::Completion& completion);
  // Call for completions of any activity: a value that was just read may make a queued Set
  // superfluous.
  void OnRead(const mad::Completion& completion) {
    if (programmer_) programmer_->OnRead(completion);
  }
  // Continues as far as is possible now. REQUIRES: under_way().
  void Advance(Instant now);

  // ---- end

  // Every write was confirmed or has failed.
  bool done() const {
    return under_way() && programmer_->done() && !AwaitsCables() &&
           !(reads_only() && planner_.AwaitsPlan());
  }
  struct Outcome {
    bool trees_only = false;
    bool is_first = false;  // Of this mastership.
    bool complete = false;  // Every write was confirmed, and no LID is withheld.
    // No switch forwards by adaptive routing that another manager has set up, or that is accepted.
    bool forwards_by_plan = false;
    std::vector<NodeIndex> to_reread;  // Nodes that changed during the run.
  };
  // The run only reads. Then EndReading() ends it.
  bool reads_only() const { return under_way() && programmer_->reads_only(); }
  // What it would have written. REQUIRES: reads_only().
  const DesiredState& desired_to_show() const { return programmer_->desired(); }
  void EndReading();
  // REQUIRES: done(), !reads_only(). Records what was written.
  Outcome Finish(Instant now);
  // Ends the run because of a change. Confirmed writes count as applied, blocks in flight are not
  // written again before their result is known, and the rest stays pending. Returns the nodes that
  // changed during the run.
  std::vector<NodeIndex> Supersede(Instant now);
  // Drops the run: a heavy sweep reads everything, or nothing is to be programmed.
  void Cancel();

  // ---- display

  Phase phase() const;  // REQUIRES: under_way().
  Progress progress() const;

 private:
  DesiredInputs InputsFor(std::shared_ptr<const fabric::LidTable> lids) const;
  void Begin(bool trees_only);
  void BeginRun(ProgrammerInput input);
  void AskPlan(Instant now);
  void AskPush(Instant now);
  void Ask(ComputePlan question);
  void AdvanceTrees();
  bool NoteAdaptiveRouting();
  void NoteKeys(const Programmer& ended);
  void ShareMemory();
  void Observe(Instant now);
  bool AwaitsCables() const { return questions_.IsOpen<CheckCables>(); }

  const Ground ground_;
  ObservedFabric& observed_;
  LidManager& lids_;
  Planner& planner_;
  Remediation& remediation_;
  PartitionKeeper& partitions_;
  OpenQuestions& questions_;
  SweepJournal& journal_;
  ViewPublisher& view_;
  Multicast multicast_;
  DesiredTracker desired_;
  CableWatch cables_;
  std::unique_ptr<Programmer> programmer_;
  uint8_t run_ = 0;              // Number of the programmer, to recognise its completions.
  uint64_t planned_intent_ = 0;  // Generation of the intent that is being programmed.
  Instant changes_wait_until_{};
};

}  // namespace fabricd::sweep
