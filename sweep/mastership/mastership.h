// SPDX-License-Identifier: Apache-2.0
// sweep/mastership: this SM and its relation to the other SMs of the subnet.
//
// Mastership: the state of this SM (IBA vol 1 §14.4.1) and everything that concerns other SMs. It
// answers their SMInfo requests, elects after each discovery, checks again before it becomes
// master, polls the master as a standby, watches other SMs as a master, hands over and takes over,
// by itself or on an operator's command. It only decides; the core carries out the returned Orders.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/snapshot.h"
#include "mad/transaction_engine.h"
#include "sweep/device/device_table.h"
#include "sweep/interface/questions.h"
#include "sweep/mastership/election.h"
#include "sweep/mastership/key_proof.h"
#include "sweep/mastership/last_master.h"
#include "sweep/mastership/master_poll.h"
#include "sweep/mastership/master_watcher.h"
#include "sweep/mastership/mastership_claim.h"
#include "sweep/mastership/pre_master_checks.h"
#include "sweep/mastership/priority_notice.h"
#include "sweep/mastership/sm_watch.h"
#include "sweep/mastership/standby_patience.h"
#include "sweep/mastership/step_down_book.h"
#include "sweep/mastership/sweep_budget.h"
#include "sweep/observe/discovery.h"

namespace fabricd::sweep {

class Mastership {
 public:
  // The purpose of a request, carried as the kind in its context.
  enum class Ask : uint8_t {
    kPoll,
    kHandover,
    kCheck,
    kOwnPort,
    kWatch,
    kProof,
    kWatchMaster,
    kMasterPort,
    kWatchedPort,
  };

  struct Order {
    enum class Kind : uint8_t {
      kNothing,
      kProgram,    // Master: assign LIDs, route, program.
      kOnlyRead,   // The mode allows no more: read everything, and show it.
      kSweep,      // Start a heavy sweep; `why`.
      kLookSoon,   // Start one when the current activities have ended; `why`.
      kBeStandby,  // Stop everything: another SM is master, or will be.
      kWait,       // Master, but program nothing: a lower master has to hand over first.
      kGiveUp,     // No decision is possible now; `why`. Try again later.
    };
    Kind kind = Kind::kNothing;
    std::string why;
    bool rose = false;  // This SM has just become master.
    // The same, where its predecessor had the same durable state: clients need not register again.
    bool continues = false;
    bool tables_unknown = false;  // Another master may have written since they were read.
    bool shows_others = false;    // others() or watched_master() has changed.

    static Order Sweep(std::string why) { return {Kind::kSweep, std::move(why)}; }
  };

  // All references must outlive this. `options` may change when a sweep starts.
  Mastership(const CoreOptions& options, const mad::LocalPort& local, const DeviceTable& devices,
             mad::TransactionEngine& engine, OpenQuestions& questions, Effects& effects);

  wire::SmState state() const { return state_; }
  bool IsMaster() const { return state_ == wire::SmState::kMaster; }
  // Discovering, master, or never anything else than a reader: this SM may read the fabric.
  bool MaySweep() const {
    return IsMaster() || state_ == wire::SmState::kDiscovering || OnlyReads();
  }
  // The mode is not manage: the state stays NOT-ACTIVE, and only Gets are sent.
  bool OnlyReads() const { return !MayManage(options_.sm.mode); }
  wire::SmInfo Own() const;  // The SMInfo that this SM returns, with its SM_Key.
  const std::vector<RemoteSm>& others() const { return others_; }

  WatchedMaster watched_master() const { return shared_.watcher.state(); }
  Guid watched_guid() const { return shared_.watcher.guid(); }
  bool watched_port_responds() const { return shared_.watcher.port_responds(); }
  Guid last_master() const { return shared_.last_master.guid(); }
  // STANDBY of an SM that has answered as master.
  bool has_other_master() const {
    return state_ == wire::SmState::kStandby && watched_ &&
           watched_->state == wire::SmState::kMaster && !shared_.last_master.is_busy();
  }

  uint8_t priority() const { return priority_; }  // 0-15, current value.
  // Of an SM that has just become STANDBY: an operator has made it step down, or has lowered its
  // priority while it was master.
  bool was_given_away() const { return step_down_.HasGivenAway(priority_); }

  void Start();  // NOT-ACTIVE to DISCOVERING, unless this SM only reads.
  // Another SM's Get or Set of SMInfo. The response is appended to `send`, now or later (KeyProof).
  [[nodiscard]] Order OnRequest(const mad::IncomingMad& mad, const wire::Smp& smp, Instant now,
                                std::vector<mad::OutgoingMad>& send);
  // The engine has dropped all requests without completions.
  void OnRequestsDropped() {
    proof_.AskAgain();
    shared_.last_master.OnRequestsDropped();
    shared_.watcher.OnRequestsDropped();
  }
  // A heavy sweep starts. The engine has dropped all requests; earlier checks, polls and watches
  // end.
  void OnSweepStart();
  // The sweep has discovered this snapshot. `unread` may name SMs that did not respond.
  [[nodiscard]] Order OnDiscovered(std::shared_ptr<const fabric::FabricSnapshot> snapshot,
                                   std::vector<RemoteSm> found, const std::vector<Unread>& unread,
                                   Instant now);
  void OnLightSweep(std::vector<RemoteSm> others, Instant now);
  [[nodiscard]] Order OnCompletion(const mad::Completion& completion, Instant now);
  [[nodiscard]] Order OnClaimed(const MastershipClaimed& claimed, Instant now);
  // Commands of operators. The outcome is added to Effects::finished.
  [[nodiscard]] Order On(const SetPriority& command);
  [[nodiscard]] Order On(const StepDown& command);
  void On(SharingPorts sharing) { shared_.last_master.On(std::move(sharing)); }
  // The configuration was reloaded: its priority is valid from now on. A sweep follows.
  void OnReload(uint8_t priority) { ChangePriority(priority); }
  // A heavy sweep has ended. This may complete a step-down.
  void OnSweepEnd();
  // Call at NextDeadline(): sends polls.
  void OnTimer(Instant now);
  Instant NextDeadline() const {
    return std::min({poll_.next(), watch_.NextDeadline(), shared_.watcher.NextDeadline()});
  }

 private:
  // Of managers that share their durable state.
  struct SharedState {
    SharedState(const SmOptions& options, const DeviceTable& devices,
                mad::TransactionEngine& engine, OpenQuestions& questions);

    LastMaster last_master;
    MasterWatcher watcher;  // Uses last_master.
    MastershipClaim claim;
  };

  Order OnHandoverRequest(Guid from);
  void AnswerAsReader(const mad::IncomingMad& mad, const wire::Smp& smp,
                      std::vector<mad::OutgoingMad>& send);
  mad::OutgoingMad Reply(const mad::IncomingMad& mad, const wire::Smp& request, uint16_t status,
                         bool shows_key) const;
  void AnswerGet(const mad::IncomingMad& mad, const wire::Smp& request,
                 const std::optional<wire::DirectedPath>& back,
                 std::vector<mad::OutgoingMad>& send);
  void AnswerHeld(const KeyProof::Proof& proof);
  static std::optional<wire::DirectedPath> PathBack(const wire::Smp& request);
  void NoteRequester(const wire::DirectedPath& back);
  mad::DeviceId DeviceBehind(const wire::DirectedPath& path) const;
  Order OnSeen(const RemoteSm& seen, Instant now);
  Order OnControl(const wire::SmInfo& sender, wire::SmControl control, wire::SmState next,
                  Instant now);
  Order StandBy(const RemoteSm& other, Instant now);
  Order WaitFor(const RemoteSm& master, Instant now);
  std::vector<Unread> WithoutUnresponsiveMaster(std::vector<Unread> unread) const;
  bool Rises(const ElectionVerdict& verdict) const;
  bool MustClaim(const ElectionVerdict& verdict) const;
  Order FinishCheck(Instant now);
  Order Follow(const ElectionVerdict& verdict, Instant now);
  void HandOver(const RemoteSm& other);
  Order OnHandoverAnswer(const mad::Completion& completion, Instant now);
  Order OnPollAnswer(const mad::Completion& completion, Instant now);
  Order OnLowerMaster(const mad::Completion& completion, Instant now);
  Order OnWatchedMaster(const mad::Completion& completion, Instant now);
  Order OnMasterPort(const mad::Completion& completion);
  Order DiscoverAgain();
  void ChangePriority(uint8_t priority);
  const RemoteSm* BestStandby() const;
  void Answer(uint64_t command, absl::Status status, MastershipOutcome outcome = {});
  void SendPriorityNotice(const mad::Completion& own_port);
  PortRef FindPort(Guid port_guid) const;
  PortRef OwnPort() const { return snapshot_ ? FindPort(local_port_.port_guid) : PortRef(); }
  ElectionVerdict ElectNow(Instant now);
  void SetState(wire::SmState state);
  void Log(LogLevel level, std::string text) { effects_.log.push_back({level, std::move(text)}); }

  const CoreOptions& options_;
  const mad::LocalPort& local_port_;
  const DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  Effects& effects_;

  wire::SmState state_ = wire::SmState::kNotActive;
  uint8_t priority_;
  uint32_t activity_count_ = 0;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  std::vector<RemoteSm> others_;
  // Standby: the SM that is polled. Master: the lower master that should hand over, or the higher
  // SM that was sent a handover.
  std::optional<RemoteSm> watched_;
  PreMasterChecks checks_;
  SmWatch watch_;
  KeyProof proof_;
  SharedState shared_;
  SweepBudget budget_;
  MasterPoll poll_;           // Polls watched_.
  StandbyPatience patience_;  // Used while watched_ is set.
  PriorityNotice notice_;
  StepDownBook step_down_;
};

}  // namespace fabricd::sweep
