// SPDX-License-Identifier: Apache-2.0
// Programming: from what was observed to devices that hold what is wanted. LIDs come first, then a
// plan and the trees that go with it, which are asked for, and a run of the Programmer that writes
// what differs. There is one run at a time; a change supersedes it. The core says when one starts.
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
  // What one lost cable changes is written in less, on the largest fabrics too.
  static constexpr Duration kTimeToWrite = std::chrono::milliseconds(50);

  // All outlive this.
  Programming(const Ground& ground, ObservedFabric& observed, LidManager& lids, Planner& planner,
              Remediation& remediation, PartitionKeeper& partitions, OpenQuestions& questions,
              SweepJournal& journal, ViewPublisher& view, Multicast::SharedGroups groups,
              std::shared_ptr<const fabric::AliasGuids> aliases);

  DesiredTracker& desired() { return desired_; }
  Planner& planner() { return planner_; }
  const Planner& planner() const { return planner_; }
  Multicast& multicast() { return multicast_; }
  const Multicast& multicast() const { return multicast_; }

  // ---- beginning

  // All was read.
  void OnDiscovered();
  // Another master may have written since tables were read.
  void ForgetTables() {
    ground_.devices.applied().ForgetTables();
    multicast_.Forget();
  }

  // Assigns LIDs. True: Start() may follow; false: their write is asked for, and comes first.
  bool AssignLids();
  // That write is durable, or has failed.
  void OnLidsStored(const absl::Status& status) { lids_.OnStored(status); }
  bool AreLidsDurable() const { return lids_.IsDurable(); }
  // What is pending is planned for and programmed. REQUIRES: LIDs are durable.
  void Start(Instant now);
  // The same of the whole plan, where the last was a repair. What is known stays.
  void StartWholePlan(Instant now);
  // Only trees, for groups that have changed. The plan stays.
  void StartTrees(Instant now);
  // Groups have changed, and nothing that is asked for makes trees of them anyway.
  bool WantsTrees() const { return multicast_.HasChanges() && planner_.has_answer(); }

  // ---- the run

  bool under_way() const { return programmer_ != nullptr; }
  // Of the run, or of one that waits for its LIDs to be durable.
  bool IsPending() const { return under_way() || lids_.IsAwaited(); }
  // A plan that is being made comes first, and its tables for a while: changes that keep coming
  // would starve all of them. What that did not suffice for is a difference like any other.
  bool ComesBeforeChanges(Instant now) const;
  // When it no longer does, if it is the writing that does.
  Instant changes_wait_until() const { return changes_wait_until_; }

  void OnPlan(PlanReady ready, Instant now);
  void OnOrder(TablesOrdered ordered, Instant now);
  void OnTrees(TreesReady ready);
  void OnCables(CablesChecked checked);
  // True: the request was of an earlier run, and its answer shows that something changed meanwhile,
  // so that the node has to be read again.
  [[nodiscard]] bool OnCompletion(const mad::Completion& completion);
  // Of any activity: what a device has just answered may be all that a queued Set is for.
  void OnRead(const mad::Completion& completion) {
    if (programmer_) programmer_->OnRead(completion);
  }
  // Goes on as far as is possible now. REQUIRES: under_way().
  void Advance(Instant now);

  // ---- the end

  // All is written, or has failed.
  bool done() const { return under_way() && programmer_->done() && !AwaitsCables(); }
  struct Outcome {
    bool trees_only = false;
    bool complete = false;             // Every write was confirmed.
    std::vector<NodeIndex> to_reread;  // Nodes that changed meanwhile.
  };
  // REQUIRES: done(). What was written is known.
  Outcome Finish(Instant now);
  // A change has come: what was written is applied, what is in flight is not written again before
  // it is known, what is left is pending. Returns the nodes that changed meanwhile.
  std::vector<NodeIndex> Supersede(Instant now);
  // All is read again, or nothing is to be programmed.
  void Cancel();

  // ---- to be shown

  Phase phase() const;  // REQUIRES: under_way().
  Progress progress() const;

 private:
  void Begin(bool trees_only);
  void AskPlan(Instant now);
  void AdvanceTrees();
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
  uint8_t run_ = 0;              // Of the programmer.
  uint64_t planned_intent_ = 0;  // Generation of the intent that is being programmed.
  Instant changes_wait_until_{};
};

}  // namespace fabricd::sweep
