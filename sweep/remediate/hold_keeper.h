// SPDX-License-Identifier: Apache-2.0
// HoldKeeper: carries out commands about holds. One command at a time is evaluated, checked by the
// guards, made durable and then entered in the book; others wait in a bounded queue. It also
// expires holds and tracks their progress: pending until tables and ports are confirmed and, for a
// drain, until the packets in flight have left.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/guards.h"
#include "policy/holds.h"
#include "policy/policy_view.h"
#include "sweep/interface/events.h"
#include "sweep/interface/options.h"
#include "sweep/interface/questions.h"
#include "sweep/remediate/drain_time.h"
#include "sweep/remediate/hold_clock.h"

namespace fabricd::sweep {

// References to the current state of the core.
struct KnownFabric {
  const std::shared_ptr<const fabric::FabricSnapshot>& snapshot;
  const std::shared_ptr<const fabric::LidTable>& lids;
  const std::shared_ptr<const routing::RouteState>& routes;  // May be null.
  const PortRef& local;                                      // The SM's port.
  const CoreOptions& options;
};

class HoldKeeper {
 public:
  static constexpr size_t kMaxWaiting = 1024;

  // All must outlive this. `before`: as stored.
  HoldKeeper(KnownFabric fabric, Effects& effects, OpenQuestions& questions,
             policy::StoredHolds before);

  // `epoch`: wall-clock time at Instant zero. The stored epoch of an earlier run is unknown.
  void Begin(policy::WallMs epoch, Instant now);
  // Holds keep their remaining time.
  void OnWallClockSet(policy::WallMs epoch, Instant now);
  // By the epoch of the book, which lags behind a clock that was set until the change is durable.
  policy::WallMs Wall(Instant now) const { return clock_.Wall(now); }

  void Create(CreateHold command, Instant now);
  void Delete(DeleteHold command, Instant now);
  void Acknowledge(const AckHold& command, Instant now);
  // The answer to the last question.
  void OnAnswer(IntentEvaluated judged, Instant now);
  void OnAnswer(const Persisted& persisted, Instant now);
  void OnTimer(Instant now);
  Instant NextDeadline() const;

  // What the owner of a shared state has stored. REQUIRES: this SM follows it
  // (SmOptions::FollowsOwner). It changes no hold by itself then, and refuses every command.
  void Replace(policy::StoredHolds stored);

  // For fabricd's own holds: like Create and Delete, but TakeAnswers() returns the outcome.
  void CreateOwn(uint64_t reference, policy::Hold hold, Instant now);
  void DeleteOwn(uint64_t hold, Instant now);
  struct Answer {
    uint64_t reference;
    absl::Status status;
    uint64_t hold = 0;
  };
  std::vector<Answer> TakeAnswers() { return std::exchange(answers_, {}); }

  const policy::HoldBook& book() const { return book_; }
  // The reason of the last change since the last call. Empty: no change.
  std::string TakeBookChange() { return std::exchange(book_change_, {}); }

  // The intent of the book and of these damped links has number `generation` now. `renewed`: it
  // concerns other nodes than before, so pending holds need this generation.
  void OnIntent(const fabric::Intent& intent, std::vector<PortRef> damped, uint64_t generation,
                bool renewed, Instant now);
  // The tables and ports of intent `generation` are confirmed.
  void OnApplied(uint64_t generation, Instant now);

  std::vector<policy::HoldStatus> List() const;  // By id.
  bool TakeShownChange() { return std::exchange(shown_changed_, false); }

 private:
  enum class Verb : uint8_t { kCreate, kDelete, kAcknowledge, kExpire, kForget, kRetime };
  struct Operation {
    Verb verb;
    uint64_t command = 0;  // 0: no command waits.
    uint64_t reference = 0;
    policy::Hold hold;           // kCreate.
    std::optional<Instant> end;  // kCreate: the expiry.
    bool validate_only = false, renews = false;
    absl::Status unresolved;                // kCreate.
    policy::HoldBook::DeleteRequest about;  // kDelete; kAcknowledge: `owner` is the requester.
    std::vector<uint64_t> lifted;           // kForget.
    policy::WallMs epoch = 0;               // kRetime.
  };
  struct Progress {
    policy::HoldState state = policy::HoldState::kPending;
    uint64_t generation = 0;          // The first intent that contains it.
    std::optional<Instant> waits_to;  // Applied, with packets in flight until then.
  };

  bool Follows() const { return fabric_.options.sm.FollowsOwner(); }
  void Enqueue(Operation operation, Instant now);
  void Refuse(const Operation& operation, const absl::Status& why);
  bool IsUnderWay(Verb verb) const;
  void RetimeIfDue(Instant now);
  void StartNext(Instant now);
  void Begin(Instant now);
  void BeginCreate(Instant now);
  void Persist(absl::StatusOr<policy::HoldChange> change);
  void Finish(absl::Status status);
  void Enter(Instant now);
  void Tell(const char* type, fabric::Severity severity, const policy::Hold& hold,
            std::string message, Instant now);
  policy::GuardFacts FactsOf(const policy::Hold& hold,
                             const routing::Consequences& consequences) const;
  fabric::Intent IntentWith(const policy::Hold& hold) const;
  // Updates the progress of all holds.
  void Refresh(Instant now);
  bool IsDone(const policy::Hold& hold, Progress& progress, Instant now);
  bool AreEnabled(const policy::Hold& hold) const;
  void MeasureDrains();

  const KnownFabric fabric_;
  Effects& effects_;
  OpenQuestions& questions_;
  policy::HoldBook book_;
  HoldClock clock_;

  std::deque<Operation> waiting_;
  std::optional<Operation> current_;
  policy::HoldChange change_;             // Of current_, to be made durable.
  std::shared_ptr<HoldOutcome> outcome_;  // Of current_.
  Instant next_try_ = Instant::min();     // Earliest retry of expiries after a failed write.

  std::map<uint64_t, Progress> progress_;  // By hold, including released ones.
  fabric::Intent intent_;
  std::vector<PortRef> damped_;
  uint64_t applied_ = 0;
  DrainTime drain_time_;  // Of the plans since the pending drains began.
  std::vector<Answer> answers_;
  std::string book_change_;
  bool shown_changed_ = true;
};

}  // namespace fabricd::sweep
