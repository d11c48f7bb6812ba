// SPDX-License-Identifier: Apache-2.0
#include "sweep/remediate/hold_keeper.h"

#include <algorithm>
#include <utility>

#include "common/breakage.h"
#include "common/status.h"
#include "policy/intent_maker.h"
#include "policy/target.h"

namespace fabricd::sweep {

using policy::Hold;
using policy::HoldKind;
using policy::HoldState;

namespace {

// An expiry that could not be made durable is retried after this time.
constexpr Duration kRetry = std::chrono::seconds(5);

std::string NameOf(const Hold& hold) {
  return fmt::format("{} {}", policy::TargetKindName(hold.target.kind), hold.target.name);
}

size_t CountEndPorts(const fabric::FabricSnapshot& snapshot) {
  size_t count = 0;
  snapshot.ForEachNode(
      [&](const fabric::Node& node) { count += node.IsSwitch() ? 0 : node.info.num_ports; });
  return count;
}

}  // namespace

HoldKeeper::HoldKeeper(KnownFabric fabric, Effects& effects, OpenQuestions& questions,
                       policy::StoredHolds before)
    : fabric_(fabric),
      effects_(effects),
      questions_(questions),
      book_(std::move(before.holds), before.highest_id) {
  for (const auto* holds : {&book_.standing(), &book_.lifted()})
    for (const auto& [id, hold] : *holds) {
      progress_[id];
      book_change_ = "holds of before";
    }
}

void HoldKeeper::Replace(policy::StoredHolds stored) {
  book_ = policy::HoldBook(std::move(stored.holds), stored.highest_id);
  auto before = std::exchange(progress_, {});
  for (const auto* holds : {&book_.standing(), &book_.lifted()})
    for (const auto& [id, hold] : *holds) progress_[id] = before[id];
  book_change_ = "holds of the master";
  shown_changed_ = true;
}

void HoldKeeper::Begin(policy::WallMs epoch, Instant now) {
  clock_.Start(epoch);
  RetimeIfDue(now);
}

void HoldKeeper::OnWallClockSet(policy::WallMs epoch, Instant now) {
  clock_.Set(epoch);
  RetimeIfDue(now);
}

void HoldKeeper::RetimeIfDue(Instant now) {
  if (Follows()) return clock_.OnRewritten(clock_.clock());  // The owner rewrites them.
  if (clock_.MustRewrite() && now >= next_try_ && !IsUnderWay(Verb::kRetime))
    Enqueue({.verb = Verb::kRetime}, now);
}

// ---- commands

void HoldKeeper::Create(CreateHold command, Instant now) {
  Enqueue({.verb = Verb::kCreate,
           .command = command.command,
           .hold = std::move(command.hold),
           .end = command.ttl ? std::optional(now + *command.ttl) : std::nullopt,
           .validate_only = command.validate_only,
           .renews = command.renews,
           .unresolved = std::move(command.unresolved)},
          now);
}
void HoldKeeper::Delete(DeleteHold command, Instant now) {
  Enqueue({.verb = Verb::kDelete, .command = command.command, .about = std::move(command.request)},
          now);
}
void HoldKeeper::Acknowledge(const AckHold& command, Instant now) {
  Enqueue({.verb = Verb::kAcknowledge,
           .command = command.command,
           .about = {command.id, command.asker, command.any_owner}},
          now);
}
void HoldKeeper::CreateOwn(uint64_t reference, Hold hold, Instant now) {
  Enqueue({.verb = Verb::kCreate, .reference = reference, .hold = std::move(hold)}, now);
}
void HoldKeeper::DeleteOwn(uint64_t hold, Instant now) {
  Enqueue({.verb = Verb::kDelete, .about = {.id = hold, .owner = {}, .any_owner = true}}, now);
}

void HoldKeeper::Enqueue(Operation operation, Instant now) {
  if (Follows()) return Refuse(operation, FailedPrecondition("the master keeps the holds"));
  if (waiting_.size() >= kMaxWaiting)
    return Refuse(operation,
                  MakeStatus(absl::StatusCode::kResourceExhausted,
                             "{} commands about holds are waiting already", waiting_.size()));
  waiting_.push_back(std::move(operation));
  StartNext(now);
}

void HoldKeeper::Refuse(const Operation& operation, const absl::Status& why) {
  if (operation.command != 0) effects_.finished.push_back({operation.command, why, nullptr});
  if (operation.reference != 0) answers_.push_back({operation.reference, why});
}

bool HoldKeeper::IsUnderWay(Verb verb) const {
  const auto is_verb = [verb](const Operation& other) { return other.verb == verb; };
  return (current_ && is_verb(*current_)) || std::any_of(waiting_.begin(), waiting_.end(), is_verb);
}

void HoldKeeper::StartNext(Instant now) {
  while (!current_ && !waiting_.empty()) {
    current_ = std::move(waiting_.front());
    waiting_.pop_front();
    outcome_.reset();
    Begin(now);
  }
}

// May finish the operation at once.
void HoldKeeper::Begin(Instant now) {
  switch (current_->verb) {
    case Verb::kCreate: BeginCreate(now); break;
    case Verb::kDelete: Persist(book_.Delete(current_->about, Wall(now))); break;
    case Verb::kAcknowledge:
      Persist(book_.Acknowledge(current_->about.id, current_->about.owner,
                                current_->about.any_owner, Wall(now)));
      break;
    case Verb::kExpire: Persist(book_.Expire(Wall(now))); break;
    case Verb::kForget: Persist(book_.Forget(current_->lifted, Wall(now))); break;
    case Verb::kRetime:
      current_->epoch = clock_.clock();
      Persist(book_.Retime(clock_.correction(), Wall(now) + clock_.correction()));
      break;
  }
}

void HoldKeeper::BeginCreate(Instant now) {
  if (current_->end) current_->hold.expires = Wall(*current_->end);
  const auto existing = book_.FindExisting(current_->hold);
  if (!existing.ok()) return Finish(existing.status());
  outcome_ = std::make_shared<HoldOutcome>();
  if (*existing != nullptr) {
    outcome_->hold = **existing;
    outcome_->existing = true;
    if (!current_->renews) return Finish(absl::OkStatus());
    return Persist(book_.Renew((*existing)->id, current_->hold.expires));
  }
  if (!current_->unresolved.ok()) {
    outcome_.reset();
    return Finish(current_->unresolved);
  }
  auto change = book_.Create(current_->hold, Wall(now), fabric_.options.policy.holds.max_holds);
  if (!change.ok()) {
    outcome_.reset();
    return Finish(change.status());
  }
  outcome_->hold = change->put.front();
  change_ = *std::move(change);
  // If no route and no port changes, there are no consequences to evaluate.
  fabric::Intent with = IntentWith(outcome_->hold);
  if (with == intent_) {
    if (current_->validate_only) return Finish(absl::OkStatus());
    return Persist(std::move(change_));
  }
  questions_.Ask(EvaluateIntent{fabric_.snapshot, fabric_.lids, fabric_.options.routing,
                                fabric_.routes, std::move(with), fabric_.local});
}

// The intent with this hold. The damped links stay as they are.
fabric::Intent HoldKeeper::IntentWith(const Hold& hold) const {
  policy::HoldBook with = book_;
  with.Apply({{hold}, {}});
  return policy::MakeIntent(with, *fabric_.snapshot, damped_, fabric_.local);
}

void HoldKeeper::OnAnswer(IntentEvaluated judged, Instant now) {
  outcome_->consequences = std::move(judged.consequences);
  const absl::Status guarded =
      policy::CheckGuards(outcome_->hold, FactsOf(outcome_->hold, outcome_->consequences),
                          *fabric_.snapshot, fabric_.local);
  if (!guarded.ok() || current_->validate_only)
    Finish(guarded);
  else
    Persist(std::move(change_));
  StartNext(now);
}

policy::GuardFacts HoldKeeper::FactsOf(const Hold& hold,
                                       const routing::Consequences& consequences) const {
  policy::GuardFacts facts;
  facts.plan_found = consequences.plan_found;
  facts.why_not = consequences.why_not;
  facts.sm_cut_off = consequences.sm_cut_off;
  facts.standing = book_.Count(hold.kind);
  facts.budget =
      policy::BudgetOf(hold.kind, CountEndPorts(*fabric_.snapshot), fabric_.options.policy.holds);
  const std::vector<PortRef> own = policy::OwnEndPorts(hold, *fabric_.snapshot);
  for (PortRef port : consequences.cut_off)
    if (!std::binary_search(own.begin(), own.end(), port)) facts.cut_off.push_back(port);
  return facts;
}

void HoldKeeper::Persist(absl::StatusOr<policy::HoldChange> change) {
  if (!change.ok()) return Finish(change.status());
  change_ = *std::move(change);
  const bool acknowledged = current_->verb == Verb::kAcknowledge;
  if (!outcome_ && (current_->verb == Verb::kDelete || acknowledged)) {
    outcome_ = std::make_shared<HoldOutcome>();
    outcome_->hold = *book_.FindAny(current_->about.id);
    outcome_->existing = change_.empty();
    if (acknowledged && !change_.empty()) outcome_->hold = change_.put.front();
  }
  if (change_.empty()) return Finish(absl::OkStatus());
  questions_.Ask(PersistHolds{change_.put, change_.remove});
}

void HoldKeeper::OnAnswer(const Persisted& persisted, Instant now) {
  if (persisted.status.ok()) {
    Enter(now);
  } else {
    effects_.log.push_back({LogLevel::kError, fmt::format("holds could not be stored: {}",
                                                          Message(persisted.status))});
    next_try_ = now + kRetry;
    outcome_.reset();
  }
  Finish(persisted.status);
  StartNext(now);
}

// The change is durable and takes effect now.
void HoldKeeper::Enter(Instant now) {
  using fabric::Severity;
  const policy::HoldChange change = std::exchange(change_, {});
  const bool expired = current_->verb == Verb::kExpire;
  const char* gone = expired ? "HoldExpired" : "HoldDeleted";
  const char* how = expired ? "expired" : "was taken back";
  for (uint64_t id : change.remove) {
    if (const Hold* hold = book_.Find(id))
      Tell(gone, Severity::kInfo, *hold,
           fmt::format("{} of {} {}", HoldKindText(*hold), NameOf(*hold), how), now);
    progress_.erase(id);
  }
  for (const Hold& hold : change.put) {
    const Hold* before = book_.Find(hold.id);
    const bool over = hold.lifted || hold.ended;
    if (over && before != nullptr)
      Tell(gone, Severity::kInfo, hold,
           fmt::format("{} of {} {}", HoldKindText(hold), NameOf(hold), how), now);
    else if (!over && before == nullptr)
      Tell("HoldCreated", Severity::kInfo, hold,
           fmt::format("{} of {} for {}: {}", HoldKindText(hold), NameOf(hold), hold.owner,
                       hold.reason),
           now);
    else if (current_->verb == Verb::kAcknowledge)
      Tell("HoldAcknowledged", Severity::kInfo, hold,
           fmt::format("{} of {} was acknowledged", HoldKindText(hold), NameOf(hold)), now);
    if (hold.ended)
      progress_.erase(hold.id);
    else if (hold.lifted || before == nullptr)
      progress_[hold.id] = {HoldState::kPending, 0, {}};
  }
  book_.Apply(change);
  shown_changed_ = true;
  if (current_->verb == Verb::kRetime) {
    effects_.log.push_back(
        {LogLevel::kInfo,
         fmt::format("the wall clock was set: {} holds keep the time that they have left",
                     change.put.size())});
    return;
  }
  const uint64_t id = change.put.empty() ? change.remove.front() : change.put.front().id;
  book_change_ = fmt::format("hold {}", id);
}

void HoldKeeper::Finish(absl::Status status) {
  const Operation done = *std::exchange(current_, std::nullopt);
  if (done.verb == Verb::kRetime && status.ok()) clock_.OnRewritten(done.epoch);
  const uint64_t hold = outcome_ ? outcome_->hold.id : 0;
  if (done.reference != 0) answers_.push_back({done.reference, status, hold});
  if (done.command != 0)
    effects_.finished.push_back({done.command, std::move(status), std::move(outcome_)});
  outcome_.reset();
}

void HoldKeeper::Tell(const char* type, fabric::Severity severity, const Hold& hold,
                      std::string message, Instant now) {
  fabric::FabricEvent event;
  event.type = type;
  event.severity = severity;
  event.subject = hold.target.name;
  if (!hold.target.ports.empty()) {
    event.node = hold.target.ports.front().node;
    event.port = hold.target.ports.front().port;
  } else if (!hold.target.nodes.empty()) {
    event.node = hold.target.nodes.front();
  }
  event.message = std::move(message);
  event.facts = {{"hold", std::to_string(hold.id)},
                 {"kind", HoldKindText(hold)},
                 {"owner", hold.owner},
                 {"reason", hold.reason}};
  event.at = now;
  effects_.events.push_back(std::move(event));
}

// ---- progress

void HoldKeeper::OnIntent(const fabric::Intent& intent, std::vector<PortRef> damped,
                          uint64_t generation, bool renewed, Instant now) {
  intent_ = intent;
  damped_ = std::move(damped);
  for (auto& [id, progress] : progress_)
    if (progress.state == HoldState::kPending && (renewed || progress.generation == 0))
      progress = {HoldState::kPending, generation, {}};
  shown_changed_ = true;
  MeasureDrains();
  Refresh(now);
}

// Packets in flight may have followed the previous plan, or any plan since.
void HoldKeeper::MeasureDrains() {
  const bool drains = std::any_of(progress_.begin(), progress_.end(), [&](const auto& entry) {
    const Hold* hold = book_.Find(entry.first);
    return hold != nullptr && hold->kind == HoldKind::kDrain &&
           entry.second.state == HoldState::kPending;
  });
  if (!drains)
    drain_time_.Reset();
  else if (fabric_.routes != nullptr)
    drain_time_.Measure(fabric_.routes->plan, *fabric_.snapshot, *fabric_.lids);
}

void HoldKeeper::OnApplied(uint64_t generation, Instant now) {
  applied_ = std::max(applied_, generation);
  MeasureDrains();
  Refresh(now);
}

bool HoldKeeper::IsDone(const Hold& hold, Progress& progress, Instant now) {
  if (hold.kind == HoldKind::kCordon) return true;
  if (applied_ < progress.generation || progress.generation == 0) return false;
  if (hold.kind == HoldKind::kDisable)
    return std::all_of(
        hold.target.facing.begin(), hold.target.facing.end(), [&](const policy::HeldPort& facing) {
          const fabric::Port* port =
              fabric_.snapshot->port(policy::PortRefOf(facing, *fabric_.snapshot));
          return port == nullptr || !port->known ||
                 port->info.port_physical_state == wire::PortPhysicalState::kDisabled;
        });
  if (hold.kind != HoldKind::kDrain) return true;
  if (!progress.waits_to) progress.waits_to = now + drain_time_.Of(fabric_.options.link);
  return now >= *progress.waits_to;
}

bool HoldKeeper::AreEnabled(const Hold& hold) const {
  for (const policy::HeldPort& facing : hold.target.facing) {
    const PortRef ref = policy::PortRefOf(facing, *fabric_.snapshot);
    if (std::binary_search(intent_.disabled.begin(), intent_.disabled.end(), ref)) continue;
    const fabric::Port* port = fabric_.snapshot->port(ref);
    if (port == nullptr || !port->known ||
        port->info.port_physical_state == wire::PortPhysicalState::kDisabled)
      return false;
  }
  return true;
}

void HoldKeeper::Refresh(Instant now) {
  for (const auto& [id, hold] : book_.standing()) {
    Progress& progress = progress_[id];
    if (progress.state == HoldState::kInEffect || !IsDone(hold, progress, now)) continue;
    progress.state = HoldState::kInEffect;
    shown_changed_ = true;
    if (Follows()) continue;
    Tell("HoldInEffect", fabric::Severity::kInfo, hold,
         fmt::format("{} of {} is in effect", HoldKindText(hold), NameOf(hold)), now);
  }
  Operation forget{.verb = Verb::kForget};
  for (const auto& [id, hold] : book_.lifted()) {
    const Progress& progress = progress_[id];
    if (progress.generation != 0 && applied_ >= progress.generation && AreEnabled(hold))
      forget.lifted.push_back(id);
  }
  if (!forget.lifted.empty() && !IsUnderWay(Verb::kForget) && now >= next_try_)
    Enqueue(std::move(forget), now);
}

void HoldKeeper::OnTimer(Instant now) {
  RetimeIfDue(now);
  const auto next = book_.NextExpiry();
  if (IsBroken(Breakage::kHoldsNeverEnd)) next_try_ = now + std::chrono::hours(1);
  if (!Follows() && next && *next <= Wall(now) && !IsUnderWay(Verb::kExpire) && now >= next_try_)
    Enqueue({.verb = Verb::kExpire}, now);
  Refresh(now);
}

Instant HoldKeeper::NextDeadline() const {
  Instant next = kNever;
  // While an operation is under way, its answer triggers the next step, so no deadline is needed.
  if (const auto expiry = book_.NextExpiry(); expiry && !current_ && !Follows())
    next = std::max(clock_.InstantOf(*expiry), next_try_);
  if (clock_.MustRewrite() && !current_) next = std::min(next, next_try_);
  for (const auto& [id, progress] : progress_)
    if (progress.state == HoldState::kPending && progress.waits_to)
      next = std::min(next, *progress.waits_to);
  return next;
}

std::vector<policy::HoldStatus> HoldKeeper::List() const {
  std::vector<policy::HoldStatus> list;
  for (const auto& [id, hold] : book_.standing()) {
    const Progress& progress = progress_.at(id);
    policy::HoldStatus status{hold, progress.state, policy::NoteOf(hold, *fabric_.snapshot)};
    if (policy::DisablesLinkOf(hold, *fabric_.snapshot, fabric_.local))
      status.note = "the SM's own link stays up: with it down nobody could enable it again";
    if (status.note.empty() && progress.state == HoldState::kPending)
      status.note = Follows()           ? "the master knows whether it is in effect"
                    : progress.waits_to ? "packets under way are waited out"
                                        : "tables and ports are not all written yet";
    list.push_back(std::move(status));
  }
  return list;
}

}  // namespace fabricd::sweep
