// SPDX-License-Identifier: Apache-2.0
// Activities: what the core does now, and what it does next. It owns the parts that send requests,
// starts them when the ActivityMachine allows it, and applies their results. Only this class
// decides what is cancelled when a heavy sweep starts or another SM becomes master.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sweep/activity/activity_machine.h"
#include "sweep/activity/change_follower.h"
#include "sweep/activity/idle_reads.h"
#include "sweep/activity/light_sweeps.h"
#include "sweep/activity/programming.h"
#include "sweep/agenda/agenda.h"
#include "sweep/agenda/command_queue.h"
#include "sweep/mastership/mastership.h"
#include "sweep/observe/discovery.h"
#include "sweep/observe/own_port_watch.h"
#include "sweep/takeover/takeover_guard.h"

namespace fabricd::sweep {

class Activities {
 public:
  // All references must outlive this. `options` is replaced only when a heavy sweep starts.
  Activities(const Ground& ground, CoreOptions& options, ObservedFabric& observed, Agenda& agenda,
             CommandQueue& commands, Mastership& mastership, Remediation& remediation,
             PartitionKeeper& partitions, TakeoverGuard& guard, Programming& programming,
             SweepJournal& journal, ViewPublisher& view);

  // ---- events and commands

  void StartHeavySweep(std::string why, Instant now, bool is_patient = false);
  // Carries out a decision of Mastership.
  void Apply(Mastership::Order order, Instant now);
  void OnCommand(const SweepCommand& command, Instant now);
  void OnCommand(const AcceptTakeover& command, Instant now);
  void OnLocalPort(mad::LocalPortEvent::Kind kind);
  void ReadVlTables(const ReadLanes& wanted);
  void OnLidsStored(const Persisted& stored, Instant now);
  void OnTakeoverStored(const absl::Status& status, Instant now);

  // ---- progress

  void OnCompletion(const mad::Completion& completion, Instant now);
  void OnTimer(Instant now);
  // Starts or continues everything that has become possible.
  void Advance(Instant now);
  Instant NextDeadline() const;
  // True: the heavy sweep under way is not urgent: no reported or multicast change waits for it.
  bool MayBePatient(Instant now) const;

  ChangeFollower& follower() { return follower_; }
  CoreState state() const { return machine_.state(); }
  bool has_own_link() const { return own_port_.has_link(); }
  bool surveys() const { return !follower_.empty(); }
  Phase phase() const;
  Progress progress() const;

 private:
  // True: the machine allows it, and this SM is master.
  bool MayAsMaster(Start start) const { return machine_.Allows(start) && mastership_.IsMaster(); }
  // True: other managers depend on whether this one has a link.
  bool WatchesOwnPort() const { return options_.sm.shares_state; }
  bool MayReroute() const;
  bool MaySurvey() const;
  bool MayRead() const { return MayAsMaster(Start::kReads) && follower_.empty(); }
  bool MayMakeTrees() const;
  void EndEverything();
  void AdoptOptions(Instant now);

  void FinishDiscovery(Instant now);
  bool HasNeighbour();
  void EnterStandby(Instant now);
  bool IsStoppedByGuard(Instant now);
  void StartReading(Instant now);
  void FinishReading(Instant now);
  void EmitHeld(const TakeoverReport& report);
  bool IsWatchDue(Instant now) const {
    return state() == CoreState::kWatching && now >= agenda_.next_heavy();
  }
  // A fabric that works is read beside all other work; so is one that only is watched.
  bool MayBeginPatient(Instant now) const {
    return state() == CoreState::kWatching || (view_.subnet_up() && agenda_.IsCheck(now));
  }
  void Program(Instant now);
  void ProgramIfDurable(Instant now);
  void StartProgramming(Instant now);
  void StartWholePlan(Instant now);
  void StartTrees(Instant now);
  void FinishProgrammingIfDone(Instant now);
  void FinishProgramming(const Programming::Outcome& outcome, Instant now);
  void StartWhatIsWanted(Instant now);
  bool AllLinksActive();

  void SurveyUnresponsivePaths(Instant now);
  void AdvanceSurveys(Instant now);
  void OnChanges(Surveys::Changes taken, Instant now);
  void Reroute(const std::vector<NodeIndex>& touched, const std::string& cause, std::string subject,
               Instant since, Instant now);
  void Retry(Instant now);

  void StartLightSweep(Instant now, bool reads_tables = true);
  void FinishLightSweep(const LightSweep& ended, Instant now);
  void StartReadBack(SweepKind kind, Instant now);
  void AdvanceReadBack(Instant now);
  bool UsesVls() const;
  void EndSweep(SweepKind kind, bool failed, CoreEvent event, Instant now);

  const Ground ground_;
  CoreOptions& options_;
  ObservedFabric& observed_;
  Agenda& agenda_;
  CommandQueue& commands_;
  Mastership& mastership_;
  Remediation& remediation_;
  PartitionKeeper& partitions_;
  TakeoverGuard& guard_;
  Programming& programming_;
  SweepJournal& journal_;
  ViewPublisher& view_;
  ActivityMachine machine_;
  std::unique_ptr<Discovery> discovery_;
  OwnPortWatch own_port_;
  LightSweeps light_sweeps_;
  ChangeFollower follower_;
  IdleReads reads_;
};

}  // namespace fabricd::sweep
