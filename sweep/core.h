// SPDX-License-Identifier: Apache-2.0
// Core: the subnet manager as a pure state machine (DESIGN §1). It takes events and the time, and
// returns Effects. It does no IO, reads no clock and starts no threads. The same class runs on
// hardware, on ibsim and in the simulator.
//
// It passes each event to the responsible part, and keeps three states apart: observed (observed_),
// desired (lids_, planner_, programming_) and applied (devices_). Activities decides what runs now
// and what runs next.
//
// Tables are brought up to date in two ways. A heavy sweep reads everything: at the start, on
// command, and when the configuration or another SM requires it. Everything else is a change:
// traps, light sweeps and timeouts name suspects, a survey reads those, and what it found is
// planned and programmed while the rest stays as it is. A change may arrive at any time after
// discovery. It then supersedes the programming under way, and the next run starts from the applied
// state.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "mad/transaction_engine.h"
#include "sweep/activity/activities.h"
#include "sweep/activity/trap_follower.h"

namespace fabricd::sweep {

class Core {
 public:
  // `records`, `holds` and `partitions` were made durable earlier. `groups` and `aliases` are those
  // known from before; null: none. `takeover`: what is known of earlier mastership. `actions`: what
  // rules did.
  Core(CoreOptions options, mad::LocalPort local, const std::vector<LidRecord>& records,
       policy::StoredHolds holds = {},
       std::shared_ptr<const fabric::MulticastGroups> groups = nullptr,
       policy::PartitionState partitions = {},
       std::shared_ptr<const fabric::AliasGuids> aliases = nullptr, TakeoverRecord takeover = {},
       std::shared_ptr<const SwitchTables> vouched = nullptr, policy::ActionRecord actions = {});
  ~Core();

  void Step(Event event, Instant now);
  // Pumps the engine and returns all effects since the last call.
  Effects TakeEffects(Instant now);
  // The latest time at which a TimerEvent is due.
  Instant NextDeadline() const;

  Progress progress() const { return activities_.progress(); }
  Phase phase() const { return activities_.phase(); }
  wire::SmState sm_state() const { return mastership_.state(); }
  bool subnet_up() const { return view_.subnet_up(); }
  // True: changes are being surveyed, or wait to be programmed.
  bool surveys() const { return activities_.surveys(); }
  uint32_t sweeps_done() const { return view_.sweeps_done(); }
  const mad::EngineStatistics& statistics() const { return engine_.statistics(); }
  size_t smps_in_flight() const { return engine_.in_flight(); }

 private:
  void On(const StartEvent& event, Instant now);
  void On(const WallClockSet& event, Instant now) { remediation_.On(event, now); }
  void On(const TimerEvent& event, Instant now);
  void On(const mad::IncomingMad& mad, Instant now);
  void On(const mad::LocalPortEvent& event, Instant) { activities_.OnLocalPort(event.kind); }
  void On(Answer answer, Instant now);
  void On(const SweepCommand& command, Instant now) { activities_.OnCommand(command, now); }
  void On(OptionsChanged changed, Instant now);
  void On(CreateHold command, Instant now) { OnHoldCommand(std::move(command), now); }
  void On(DeleteHold command, Instant now) { OnHoldCommand(std::move(command), now); }
  void On(AckHold command, Instant now) { OnHoldCommand(std::move(command), now); }
  void On(const ClearDamping& command, Instant now) { OnHoldCommand(command, now); }
  void On(GroupsChanged changed, Instant now);
  void On(ChangePartitions command, Instant now);
  void On(AliasesChanged changed, Instant now);
  void On(StoredStateChanged changed, Instant now);
  void On(SharingPorts sharing, Instant) { mastership_.On(std::move(sharing)); }
  void On(StoreTakesWrites, Instant) {
    if (lids_.HasUnstored()) agenda_.WantReroute("the store takes writes again");
  }
  void On(const ReadLanes& wanted, Instant) { activities_.ReadVlTables(wanted); }
  void On(const SetPriority& command, Instant now) { OnMastershipCommand(command, now); }
  void On(const StepDown& command, Instant now) { OnMastershipCommand(command, now); }
  void On(const AcceptTakeover& command, Instant now) { activities_.OnCommand(command, now); }

  template <typename Command>
  void OnHoldCommand(Command command, Instant now);
  template <typename Command>
  void OnMastershipCommand(const Command& command, Instant now);
  // Refuses a command on a standby, because the master keeps `what`.
  void Refuse(uint64_t command, std::string_view what);
  std::optional<MKey> RepressKey(Lid sender) const;
  void OnSmp(const mad::IncomingMad& mad, const wire::Smp& smp, Instant now);
  void OnCompletion(const mad::Completion& completion, Instant now);
  std::vector<mad::Completion> Pump(Instant now);
  Ground MakeGround();

  CoreOptions options_;  // Replaced only when a heavy sweep starts.
  Effects effects_;      // The parts append to it.
  OpenQuestions questions_{effects_.questions};
  mad::TransactionEngine engine_;
  ObservedFabric observed_;
  DeviceTable devices_;
  ProblemList problems_;
  LidManager lids_;
  Planner planner_;
  Mastership mastership_;
  Remediation remediation_;
  PartitionKeeper partitions_;
  TakeoverGuard guard_;
  Agenda agenda_{options_};
  CommandQueue commands_{effects_.finished};
  SweepJournal journal_{engine_, effects_};
  ViewPublisher view_;
  Programming programming_;
  Activities activities_;
  TrapFollower traps_;
};

}  // namespace fabricd::sweep
