// SPDX-License-Identifier: Apache-2.0
// Core: the subnet manager as a pure state machine (DESIGN §1). Events and the time go in, Effects
// come out; no IO, no clock, no threads. The same class runs on hardware, on ibsim and in the
// simulator.
//
// It decides what to do next and keeps the three states apart: observed (observed_),
// desired (lids_, planner_), applied (devices_). The work itself is in Discovery and Survey,
// Mastership, AssignLids, the routing (outside, by Effects::questions), Programmer and LightSweep.
//
// Two ways lead to tables that fit. A heavy sweep reads everything: at the start, on command, when
// the configuration or another SM asks for it. All else is a change: what tells of it (traps, light
// sweeps, time-outs) makes suspects_, a Survey looks at those, and what it found is planned and
// programmed while the rest stays as it is. A change may come at any time after discovery; the
// programming under way is then superseded, for the next run starts from what is applied.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "mad/transaction_engine.h"
#include "sweep/agenda/agenda.h"
#include "sweep/agenda/command_queue.h"
#include "sweep/desired/desired_tracker.h"
#include "sweep/device/device_table.h"
#include "sweep/device/lane_reader.h"
#include "sweep/interface/events.h"
#include "sweep/interface/options.h"
#include "sweep/interface/questions.h"
#include "sweep/mastership/mastership.h"
#include "sweep/observe/cable_watch.h"
#include "sweep/observe/discovery.h"
#include "sweep/observe/light_sweep.h"
#include "sweep/observe/observed_fabric.h"
#include "sweep/observe/surveys.h"
#include "sweep/observe/suspects.h"
#include "sweep/plan/lid_manager.h"
#include "sweep/plan/multicast.h"
#include "sweep/plan/planner.h"
#include "sweep/program/programmer.h"
#include "sweep/program/read_back.h"
#include "sweep/remediate/partition_keeper.h"
#include "sweep/remediate/remediation.h"
#include "sweep/report/sweep_journal.h"
#include "sweep/report/view_publisher.h"

namespace fabricd::sweep {

// What is going on, for a progress line: `done` of `total` in this phase; total 0: unknown.
struct Progress {
  Phase phase = Phase::kIdle;
  std::string step;
  size_t done = 0, total = 0;
};

class Core {
 public:
  // `records` are the LIDs made durable earlier, `holds` and `partitions` the same; `groups` those
  // and `aliases` those that are known from before (null: none).
  Core(CoreOptions options, mad::LocalPort local, const std::vector<LidRecord>& records,
       policy::StoredHolds holds = {},
       std::shared_ptr<const fabric::MulticastGroups> groups = nullptr,
       policy::PartitionState partitions = {},
       std::shared_ptr<const fabric::AliasGuids> aliases = nullptr);
  ~Core();

  void Step(Event event, Instant now);
  // Pumps the engine and hands out all that has come together since the last call.
  Effects TakeEffects(Instant now);
  // When a TimerEvent is due at the latest.
  Instant NextDeadline() const;

  Progress progress() const;
  Phase phase() const { return phase_; }
  wire::SmState sm_state() const { return mastership_.state(); }
  bool subnet_up() const { return view_.subnet_up(); }
  // Changes are looked into, or wait to be programmed.
  bool surveys() const { return !surveys_.empty(); }
  uint32_t sweeps_done() const { return view_.sweeps_done(); }
  const mad::EngineStatistics& statistics() const { return engine_.statistics(); }
  size_t smps_in_flight() const { return engine_.in_flight(); }

 private:
  void OnMad(const mad::IncomingMad& mad, Instant now);
  void OnTrap(const mad::IncomingMad& mad, Instant now);
  void OnLocalPort(mad::LocalPortEvent event, Instant now);
  void OnCompletion(const mad::Completion& completion, Instant now);
  void OnAnswer(Answer answer, Instant now);
  void OnPersisted(const Persisted& persisted, Instant now);
  void OnPlan(PlanReady ready, Instant now);
  void OnOrder(TablesOrdered ordered, Instant now);
  void OnCables(CablesChecked checked);
  void OnTrees(TreesReady ready);
  void OnCommand(const SweepCommand& command, Instant now);
  void OnPartitionCommand(ChangePartitions command);
  void OnAliases(AliasesChanged changed);
  void OnReadLanes(const ReadLanes& wanted);
  void StartLaneReader();
  void AdvanceLaneReader();
  void StartReadBack(SweepKind kind, Instant now);
  void AdvanceReadBack(Instant now);
  void NoteKeys(const Programmer& done);
  template <typename Command>
  void OnHoldCommand(Command command, Instant now);
  void OnTimer(Instant now);
  void Pump(Instant now);
  void Advance(Instant now);

  void StartHeavySweep(std::string why, Instant now, bool patient = false);
  void FinishDiscovery(Instant now);
  bool HasNeighbour();
  void Obey(Mastership::Order order, Instant now);
  void StandBy(Instant now);
  void AssignLidsAndGo(Instant now);
  void StartProgramming(Instant now);
  void AskPlan(Instant now);
  void StartSettling(Instant now);
  void AdvanceProgramming(Instant now);
  void FinishProgramming(Instant now);
  bool MayMakeTrees() const;
  void StartTrees(Instant now);
  void AdvanceTrees();
  void FinishTrees(Instant now);
  ProgrammerInput InputOfProgrammer(bool trees_only);
  void SuspectUnknownPorts(Instant now);
  void LookAgain(const std::vector<NodeIndex>& nodes, Instant now);

  bool MayReroute() const;
  bool MaySurvey() const;
  void AdvanceSurveys(Instant now);
  bool IsHoldingNews(Instant now) const;
  void OnNews(Surveys::News taken, Instant now);
  void Reroute(std::vector<NodeIndex> touched, const std::string& cause, std::string subject,
               Instant since, Instant now);
  void Retry(Instant now);
  void StartSurvey(SurveyTask task, Instant now);
  void LookAtSilentPaths(Instant now);
  void Suspect(PortRef port, const std::string& cause, Instant now);
  void EndSweep(SweepKind kind, bool failed, Instant now);
  bool IsIdleMaster() const { return phase_ == Phase::kIdle && mastership_.IsMaster(); }
  void StartLightSweep(Instant now);
  void FinishLightSweep(Instant now);
  bool IsReported(Instant now) const;
  bool AllLinksActive();
  void SetPhase(Phase phase);
  std::shared_ptr<const FabricView> MakeView(Instant now);

  CoreOptions options_;  // Replaced only where a heavy sweep starts.
  Agenda agenda_{options_};
  const mad::LocalPort local_port_;
  mad::TransactionEngine engine_;
  DeviceTable devices_;
  ObservedFabric observed_;

  ProblemList problems_;

  // What is being done.
  Phase phase_ = Phase::kIdle;
  std::unique_ptr<Discovery> discovery_;
  std::unique_ptr<Programmer> programmer_;
  std::unique_ptr<LightSweep> light_;
  std::vector<NodeIndex> silent_switches_;  // In the last light sweep.
  std::unique_ptr<LaneReader> lane_reader_;
  std::set<NodeIndex> lanes_wanted_;  // To be read when nothing else is going on.
  uint16_t lane_run_ = 0;
  ReadBack read_back_;
  Suspects suspects_;
  Surveys surveys_;
  Instant hold_news_until_{};  // While the tables of an urgent plan are being written.
  uint8_t run_ = 0;            // Of the programmer.
  CableWatch cables_;

  std::vector<mad::Completion> completions_;
  Effects effects_;
  CommandQueue commands_{effects_.finished};
  SweepJournal journal_{engine_, effects_};
  ViewPublisher view_;
  OpenQuestions questions_;  // Go into effects_.
  LidManager lids_;
  Mastership mastership_;  // Writes into effects_.
  Planner planner_;        // The same into effects_.log.
  Multicast multicast_;
  Remediation remediation_;  // Writes into effects_, as does:
  PartitionKeeper partitions_;
  DesiredTracker desired_;
  uint64_t planned_intent_ = 0;  // Generation of the intent that is being programmed.
};

}  // namespace fabricd::sweep
