// SPDX-License-Identifier: Apache-2.0
#include "daemon/verdicts/verdict_thread.h"

#include <pthread.h>

#include <spdlog/spdlog.h>

#include "common/process_clock.h"
#include "common/status.h"
#include "daemon/base/niceness.h"

namespace fabricd::daemon {
namespace {

// Behind the core, the SA, computing and the collector.
constexpr int kNiceness = 12;
constexpr Duration kFirst = std::chrono::seconds(10);
// Between two looks at the fabric that the verdicts of another node are shown on.
constexpr Duration kFollowing = std::chrono::seconds(1);
// After a write that failed, where nobody waits for it.
constexpr Duration kRetry = std::chrono::seconds(10);

Instant Now() { return ProcessClock::Now(); }

}  // namespace

VerdictThread::VerdictThread(VerdictOptions options, const fabric::HostPatterns& patterns,
                             const fabric::NodeNameMap& names, policy::StoredVerdicts stored,
                             VerdictLinks links)
    : links_(std::move(links)),
      keeper_(std::move(options), patterns, names, stored),
      durable_(policy::VerdictRows(stored)) {
  view_.Set(query::NoVerdicts());
}

VerdictThread::~VerdictThread() { Stop(); }

void VerdictThread::Start() {
  thread_ = std::thread([this] { Loop(); });
  pthread_setname_np(thread_.native_handle(), "verdicts");
}

void VerdictThread::Stop() {
  inbox_.Close();
  if (thread_.joinable()) thread_.join();
  const absl::Status stopped = Unavailable("fabricd is stopping");
  VerdictInbox::Arrivals last;  // Where it was never started.
  (void)inbox_.Take(last, Steady::now());
  for (VerdictInbox::Question& question : last.questions) question.done(stopped, nullptr);
  for (auto* waiting : {&unanswered_, &next_answered_}) {
    for (auto& [done, record] : *waiting) done(stopped, nullptr);
    waiting->clear();
  }
}

// ---- any thread

void VerdictThread::SetOptions(VerdictOptions options) { inbox_.Push(std::move(options)); }

void VerdictThread::Follow(policy::StoredVerdicts stored) { inbox_.Push(std::move(stored)); }

void VerdictThread::Do(VerdictCommand command, VerdictDone done) {
  Ask({std::move(command), std::move(done)});
}

void VerdictThread::Evaluate(PortRef port, VerdictDone done) { Ask({port, std::move(done)}); }

void VerdictThread::Ask(VerdictInbox::Question question) {
  if (inbox_.Push(std::move(question))) return;
  question.done(Unavailable("verdicts are busy or stopping"), nullptr);
}

// ---- the thread

void VerdictThread::Loop() {
  SetNiceness(kNiceness);
  next_ = Now() + NextStep();
  VerdictInbox::Arrivals arrivals;
  while (inbox_.Take(arrivals, ProcessClock::ToSteady(next_))) {
    Handle(arrivals);
    const Instant now = Now();
    if (now >= next_) {
      Carry(keeper_.Assess(Inputs()), now);
      next_ = now + NextStep();
    }
    Write();
  }
  // What came last is refused as the others that wait.
  for (VerdictInbox::Question& question : arrivals.questions)
    question.done(Unavailable("fabricd is stopping"), nullptr);
}

policy::WallMs VerdictThread::WallOf(Instant now) {
  wall_clock_.Look();
  return wall_clock_.epoch() +
         std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
}

// What there is to see is soon shown, if only that nothing is known yet.
Duration VerdictThread::NextStep() const {
  const Duration interval = keeper_.options().interval;
  if (keeper_.follows()) return std::min<Duration>(interval, kFollowing);
  return view_.Get()->enabled ? interval : std::min<Duration>(interval, kFirst);
}

VerdictInputs VerdictThread::Inputs() {
  const Instant now = Now();
  return {links_.telemetry(), links_.fabric(), now, WallOf(now)};
}

void VerdictThread::Handle(VerdictInbox::Arrivals& arrivals) {
  const Instant now = Now();
  if (arrivals.options) {
    keeper_.SetOptions(*std::move(arrivals.options), now, WallOf(now));
    next_ = std::min(next_, now + keeper_.options().interval);
  }
  if (arrivals.stored) {
    durable_ = policy::VerdictRows(*arrivals.stored);
    keeper_.Follow(*std::move(arrivals.stored));
    next_ = now;
  }
  for (const VerdictInbox::HoldAnswer& answer : arrivals.holds)
    keeper_.OnHoldAnswer(answer.link, answer.hold, now);
  if (arrivals.written) {
    is_writing_ = false;
    if (arrivals.written->ok()) {
      durable_ = std::move(writing_);
    } else {
      next_write_ = now + kRetry;
      spdlog::error("verdicts could not be stored: {}", Message(*arrivals.written));
    }
    for (auto& [done, record] : std::exchange(unanswered_, {}))
      done(*arrivals.written, arrivals.written->ok() ? record : nullptr);
  }
  for (VerdictInbox::Question& question : arrivals.questions) Answer(question);
}

void VerdictThread::Answer(VerdictInbox::Question& question) {
  const VerdictInputs inputs = Inputs();
  const auto* const command = std::get_if<VerdictCommand>(&question.what);
  if (command == nullptr) {
    auto record = keeper_.Evaluate(std::get<PortRef>(question.what), inputs);
    const absl::Status status = record != nullptr
                                    ? absl::OkStatus()
                                    : NotFound("there is no link whose two ends are both read");
    question.done(status, std::move(record));
    return;
  }
  VerdictEffects effects;
  const absl::Status status = keeper_.Do(*command, inputs, effects);
  if (!status.ok()) {
    question.done(status, nullptr);
    return;
  }
  Carry(std::move(effects), inputs.now);
  // What follows from it follows at once, and the answer shows it.
  Carry(keeper_.Assess(Inputs()), inputs.now);
  auto record = command->kind == VerdictCommand::Kind::kResetBreaker
                    ? nullptr
                    : keeper_.Evaluate(command->port, inputs);
  next_answered_.emplace_back(std::move(question.done), std::move(record));
}

void VerdictThread::Carry(VerdictEffects effects, Instant now) {
  if (effects.publish != nullptr) view_.Set(std::move(effects.publish));
  for (const fabric::FabricEvent& event : effects.events)
    if (event.severity != fabric::Severity::kInfo)
      spdlog::warn("{}: {}: {}", event.type, event.subject, event.message);
  if (!effects.events.empty()) links_.append_events(std::move(effects.events), now);
  for (VerdictEffects::Creation& creation : effects.create) {
    const auto done = [this, link = creation.link](
                          const absl::Status& status,
                          const std::shared_ptr<const sweep::HoldOutcome>& outcome) {
      using Hold = absl::StatusOr<uint64_t>;
      const bool made = status.ok() && outcome != nullptr;
      Hold hold = made ? Hold(outcome->hold.id) : Hold(status);
      inbox_.Push(VerdictInbox::HoldAnswer{link, std::move(hold)});
    };
    links_.post_hold(std::move(creation.command), done);
  }
  for (sweep::DeleteHold& command : effects.remove)
    links_.post_hold(std::move(command), [](const absl::Status& status, const auto&) {
      // It is taken back again in the next assessment, if it stands still.
      if (!status.ok()) spdlog::warn("a hold of telemetry stays: {}", Message(status));
    });
}

// Whatever differs from what is durable. Who waits for it is answered when it is.
void VerdictThread::Write() {
  const Instant now = Now();
  if (is_writing_ || (now < next_write_ && next_answered_.empty())) return;
  StoredRows rows = keeper_.Rows(now, WallOf(now));
  RowChanges changes = policy::Difference(durable_, rows);
  std::move(next_answered_.begin(), next_answered_.end(), std::back_inserter(unanswered_));
  next_answered_.clear();
  const auto written = [this](absl::Status status) { inbox_.PushWritten(std::move(status)); };
  if (changes.empty()) {
    for (auto& [done, record] : std::exchange(unanswered_, {})) done(absl::OkStatus(), record);
    return;
  }
  is_writing_ = true;
  writing_ = std::move(rows);
  const auto shared = std::make_shared<const RowChanges>(std::move(changes));
  if (!links_.on_store(
          [shared, written](store::Store& store) { written(store.ChangeRows(*shared)); }))
    written(Unavailable("the store's queue is full"));
}

}  // namespace fabricd::daemon
