// SPDX-License-Identifier: Apache-2.0
// sweep/mastership: this SM among the other SMs of the subnet.
//
// Mastership: which state this SM is in (IBA vol 1 §14.4.1) and all it has to do with other SMs:
// answers their SMInfo requests, elects after each discovery, looks once more before it rises,
// polls the master it stands by for, keeps an eye on others while it is master, hands over and
// takes over, unasked or on an operator's command. It decides; the core carries out the Orders that
// come back.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/snapshot.h"
#include "mad/transaction_engine.h"
#include "sweep/device/device_table.h"
#include "sweep/interface/events.h"
#include "sweep/mastership/election.h"
#include "sweep/mastership/key_proof.h"
#include "sweep/mastership/master_poll.h"
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
  // What a request is for: the kind in its context.
  enum class Ask : uint8_t { kPoll, kHandover, kCheck, kOwnPort, kWatch, kProof };

  struct Order {
    enum class Kind : uint8_t {
      kNothing,
      kProgram,    // Master: assign LIDs, route, program.
      kSweep,      // Discover anew; `why`.
      kLookSoon,   // The same once what is under way has ended.
      kBeStandby,  // Stop everything: another is master, or will be.
      kWait,       // Master, but program nothing: a lower master has to hand over first.
      kGiveUp,     // It cannot be decided now; `why`. Try again later.
    };
    Kind kind = Kind::kNothing;
    std::string why;
    bool rose = false;            // This SM has just become master.
    bool tables_unknown = false;  // Another master may have written since they were read.
    bool shows_others = false;    // others() is not what it was.
  };

  // All references must outlive this; `options` may change where a sweep starts.
  Mastership(const CoreOptions& options, const mad::LocalPort& local, const DeviceTable& devices,
             mad::TransactionEngine& engine, Effects& effects);

  wire::SmState state() const { return state_; }
  bool IsMaster() const { return state_ == wire::SmState::kMaster; }
  // Discovering or master: the fabric is this SM's to read.
  bool MaySweep() const { return IsMaster() || state_ == wire::SmState::kDiscovering; }
  wire::SmInfo Own() const;  // As SMInfo answers it.
  const std::vector<RemoteSm>& others() const { return others_; }

  uint8_t priority() const { return priority_; }  // 0-15, as it is now.

  void Start();  // NOT-ACTIVE to DISCOVERING.
  // Another SM's Get or Set of SMInfo; its answer is appended to `send`, now or later (KeyProof).
  [[nodiscard]] Order OnRequest(const mad::IncomingMad& mad, const wire::Smp& smp, Instant now,
                                std::vector<mad::OutgoingMad>& send);
  // The engine has dropped all requests without completions.
  void OnRequestsDropped() { proof_.AskAgain(); }
  // A heavy sweep starts, and the same: what was asked and watched before is void.
  void OnSweepStart();
  // It has ended in this snapshot; `unread` may name SMs that did not answer.
  [[nodiscard]] Order OnDiscovered(std::shared_ptr<const fabric::FabricSnapshot> snapshot,
                                   std::vector<RemoteSm> found, const std::vector<Unread>& unread,
                                   Instant now);
  void OnLightSweep(std::vector<RemoteSm> others, Instant now);
  [[nodiscard]] Order OnCompletion(const mad::Completion& completion, Instant now);
  // Commands of operators; answered in Effects::finished.
  [[nodiscard]] Order On(const SetPriority& command);
  [[nodiscard]] Order On(const StepDown& command);
  // The configuration was read again: its priority counts from now on. A sweep follows.
  void OnReload(uint8_t priority) { ChangePriority(priority); }
  // A heavy sweep has ended, and with it perhaps the mastership.
  void OnSweepEnd();
  // At NextDeadline(): polls.
  void OnTimer(Instant now);
  Instant NextDeadline() const { return std::min(poll_.next(), watch_.NextDeadline()); }

 private:
  Order OnHandoverRequest(Guid from);
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
  bool Rises(const ElectionVerdict& verdict) const;
  Order FinishCheck(Instant now);
  Order Follow(const ElectionVerdict& verdict, Instant now);
  void HandOver(const RemoteSm& other);
  Order OnHandoverAnswer(const mad::Completion& completion, Instant now);
  Order OnPollAnswer(const mad::Completion& completion, Instant now);
  Order OnLowerMaster(const mad::Completion& completion);
  Order OnWatchedMaster(const mad::Completion& completion, Instant now);
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
  // Standby: the SM that is polled. Master: the lower master that is waited for, or the higher SM
  // that was asked to take over.
  std::optional<RemoteSm> watched_;
  PreMasterChecks checks_;
  SmWatch watch_;
  KeyProof proof_;
  SweepBudget budget_;
  uint32_t lost_handovers_ = 0;  // In a row, unanswered.
  MasterPoll poll_;              // Of watched_.
  StandbyPatience patience_;     // With watched_.
  PriorityNotice notice_;
  StepDownBook step_down_;
};

}  // namespace fabricd::sweep
