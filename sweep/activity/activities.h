// SPDX-License-Identifier: Apache-2.0
// Activities: what the core is doing, and what it does next. It owns the parts that send requests,
// starts them when the ActivityMachine allows it, and takes up what they end with. What ends when a
// heavy sweep starts, or when another SM becomes master, is written here and nowhere else.
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

namespace fabricd::sweep {

class Activities {
 public:
  // All outlive this. `options` are replaced where a heavy sweep starts.
  Activities(const Ground& ground, CoreOptions& options, ObservedFabric& observed, Agenda& agenda,
             CommandQueue& commands, Mastership& mastership, Remediation& remediation,
             PartitionKeeper& partitions, Programming& programming, SweepJournal& journal,
             ViewPublisher& view);

  // ---- what the core is asked for

  void StartHeavySweep(std::string why, Instant now, bool is_patient = false);
  // What the Mastership has decided.
  void Apply(Mastership::Order order, Instant now);
  void OnCommand(const SweepCommand& command, Instant now);
  void OnLocalPort(mad::LocalPortEvent event);
  void ReadVlTables(const ReadLanes& wanted);
  void OnLidsStored(const Persisted& stored, Instant now);

  // ---- what goes on

  void OnCompletion(const mad::Completion& completion, Instant now);
  void OnTimer(Instant now);
  // Goes on with whatever has become possible.
  void Advance(Instant now);
  Instant NextDeadline() const;
  // Nothing that has happened waits for the heavy sweep under way.
  bool MayBePatient(Instant now) const;

  ChangeFollower& follower() { return follower_; }
  CoreState state() const { return machine_.state(); }
  bool surveys() const { return !follower_.empty(); }
  Phase phase() const;
  Progress progress() const;

 private:
  // The machine allows it, and this SM is master.
  bool MayAsMaster(Start start) const { return machine_.Allows(start) && mastership_.IsMaster(); }
  bool MayReroute() const;
  bool MaySurvey() const;
  bool MayRead() const { return MayAsMaster(Start::kReads) && follower_.empty(); }
  bool MayMakeTrees() const;
  void EndEverything();
  void AdoptOptions(Instant now);

  void FinishDiscovery(Instant now);
  bool HasNeighbour();
  void EnterStandby(Instant now);
  void Program(Instant now);
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

  void StartLightSweep(Instant now);
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
  Programming& programming_;
  SweepJournal& journal_;
  ViewPublisher& view_;
  ActivityMachine machine_;
  std::unique_ptr<Discovery> discovery_;
  LightSweeps light_sweeps_;
  ChangeFollower follower_;
  IdleReads reads_;
};

}  // namespace fabricd::sweep
