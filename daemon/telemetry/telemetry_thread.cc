// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/telemetry_thread.h"

#include <random>
#include <utility>

#include <spdlog/spdlog.h>

#include "common/mutex.h"
#include "common/process_clock.h"
#include "common/status.h"
#include "daemon/base/niceness.h"
#include "mad/wire/mad_header.h"
#include "mad/wire/notice.h"
#include "mad/wire/smp.h"

namespace fabricd::daemon {
namespace {

// Behind the core, SA answers and computing.
constexpr int kNiceness = 10;
constexpr std::chrono::seconds kReadInterval{1}, kIdleInterval{5};

// What the fabric counts, it counts by this clock.
Instant Now() { return ProcessClock::Now(); }

TransactionId IdOf(const std::vector<uint8_t>& payload) {
  return wire::MadHeader::Decode(
             std::span<const uint8_t, wire::kMadBytes>(payload.data(), wire::kMadBytes))
      .tid();
}

}  // namespace

TelemetryThread::TelemetryThread(const telemetry::Options& options, mad::Transport& transport,
                                 OnEpochs on_epochs)
    : transport_(transport),
      on_epochs_(std::move(on_epochs)),
      collector_(options, Now(), std::random_device{}()) {
  view_.Set(collector_.MakeView(Now()));
}

TelemetryThread::~TelemetryThread() { Stop(); }

void TelemetryThread::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void TelemetryThread::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyOne();
  if (thread_.joinable()) thread_.join();
  std::map<uint64_t, HistoryDone> histories;
  std::map<uint64_t, PolledDone> polls;
  {
    MutexLock lock(mutex_);
    histories.swap(histories_);
    polls.swap(polls_);
  }
  for (auto& [id, done] : histories) done(std::nullopt);
  for (auto& [id, done] : polls) done(Unavailable("fabricd is stopping"));
}

// ---- any thread

void TelemetryThread::OnMads(std::span<mad::IncomingMad> mads) {
  {
    MutexLock lock(mutex_);
    if (stopping_) return;
    for (mad::IncomingMad& mad : mads) mads_.push_back(std::move(mad));
  }
  changed_.NotifyOne();
}

void TelemetryThread::OnTrap(const mad::IncomingMad& mad) {
  if (mad.kind != mad::IncomingMad::Kind::kReceived || mad.payload.size() < wire::kMadBytes) return;
  const auto smp =
      wire::Smp::Decode(std::span<const uint8_t>(mad.payload).first<wire::kMadBytes>());
  if (!smp || smp->method != wire::Method::kTrap || smp->attribute != wire::AttributeId::kNotice)
    return;
  const auto trap = telemetry::LinkTrapOf(wire::Notice::Decode(smp->data));
  if (!trap) return;
  {
    MutexLock lock(mutex_);
    if (traps_.size() >= kMaxTraps) return;
    traps_.push_back(*trap);
  }
  changed_.NotifyOne();
}

void TelemetryThread::OnFabric(telemetry::FabricChanged fabric) {
  {
    MutexLock lock(mutex_);
    fabric_ = std::move(fabric);
  }
  changed_.NotifyOne();
}

void TelemetryThread::OnLoad(const telemetry::CoreLoad& load) {
  {
    MutexLock lock(mutex_);
    // Tables that were being written a moment ago lose requests all the same.
    const bool was_writing = load_ && load_->writing;
    load_ = load;
    load_->writing = load.writing || was_writing;
  }
  // It is taken into account before the next request; waking the thread for it would take a
  // processor from the core while a reroute waits.
}

void TelemetryThread::SetOptions(const telemetry::Options& options) {
  {
    MutexLock lock(mutex_);
    options_ = options;
  }
  changed_.NotifyOne();
}

std::shared_ptr<const telemetry::TelemetryView> TelemetryThread::view() {
  is_read_ = true;
  return view_.Get();
}

template <typename Done, typename Event>
bool TelemetryThread::Ask(std::map<uint64_t, Done>& waiting, Done& done, Event event) {
  if (stopping_ || histories_.size() + polls_.size() >= kMaxQuestions) return false;
  event.id = ++next_id_;
  waiting.emplace(event.id, std::move(done));
  questions_.push_back(std::move(event));
  changed_.NotifyOne();
  return true;
}

void TelemetryThread::ReadHistory(PortRef port, Duration span, HistoryDone done) {
  {
    MutexLock lock(mutex_);
    if (Ask(histories_, done, telemetry::ReadHistory{0, port, span})) return;
  }
  done(std::nullopt);
}

void TelemetryThread::PollNow(PolledDone done) {
  {
    MutexLock lock(mutex_);
    if (Ask(polls_, done, telemetry::PollNow{})) return;
  }
  done(Unavailable("telemetry is busy or stopping"));
}

// ---- the thread

bool TelemetryThread::Take(std::vector<telemetry::Event>& events, Steady::time_point until) {
  MutexLock lock(mutex_);
  changed_.WaitUntil(lock, until, [this]() FABRICD_REQUIRES(mutex_) {
    return stopping_ || !mads_.empty() || !questions_.empty() || !traps_.empty() || fabric_ ||
           options_;
  });
  if (options_) events.push_back(telemetry::NewOptions{*std::exchange(options_, std::nullopt)});
  if (fabric_) events.push_back(*std::exchange(fabric_, std::nullopt));
  if (load_) events.push_back(*std::exchange(load_, std::nullopt));
  for (const telemetry::LinkTrap& trap : traps_) events.push_back(trap);
  traps_.clear();
  for (mad::IncomingMad& mad : mads_) events.push_back(std::move(mad));
  mads_.clear();
  for (telemetry::Event& question : questions_) events.push_back(std::move(question));
  questions_.clear();
  return !stopping_;
}

void TelemetryThread::Loop() {
  SetNiceness(kNiceness);
  telemetry::Effects effects;
  std::vector<telemetry::Event> events;
  Instant now = Now();
  while (Take(events, std::min(ProcessClock::ToSteady(collector_.NextWake(now)),
                               published_ + PublishInterval()))) {
    now = Now();
    for (const telemetry::Event& event : events) collector_.Step(event, now, effects);
    events.clear();
    collector_.Step(telemetry::Tick{}, now, effects);
    Carry(effects, now);
    PublishIfDue(now);
  }
}

void TelemetryThread::Carry(telemetry::Effects& effects, Instant now) {
  // A refusal may make others, up to where nothing is wanted or there is no room.
  while (!effects.send.empty()) {
    for (const mad::OutgoingMad& mad : std::exchange(effects.send, {})) {
      const absl::Status sent = transport_.Send(mad);
      if (sent.ok()) continue;
      const bool for_good = !transport_.AgentStatus(mad.agent).ok();
      collector_.Step(telemetry::SendFailed{IdOf(mad.payload), for_good}, now, effects);
    }
  }
  if (!effects.epochs.empty()) on_epochs_(effects.epochs);
  std::vector<std::pair<HistoryDone, telemetry::HistoryAnswer>> histories;
  std::vector<PolledDone> polls, refused;
  {
    MutexLock lock(mutex_);
    for (telemetry::HistoryAnswer& answer : effects.histories) {
      auto node = histories_.extract(answer.id);
      if (!node.empty()) histories.emplace_back(std::move(node.mapped()), std::move(answer));
    }
    for (const auto& [ids, of] :
         {std::pair(&effects.passes_done, &polls), std::pair(&effects.passes_refused, &refused)}) {
      for (uint64_t id : *ids) {
        auto node = polls_.extract(id);
        if (!node.empty()) of->push_back(std::move(node.mapped()));
      }
    }
  }
  // Who waited for the readings is to find them.
  if (!polls.empty() || !refused.empty()) Publish(now);
  for (auto& [done, answer] : histories) done(std::move(answer));
  for (PolledDone& done : polls) done(absl::OkStatus());
  for (PolledDone& done : refused) {
    done(Unavailable("no counters are read: telemetry is {}", StateName(view_.Get()->state)));
  }
  effects.Clear();
}

std::chrono::seconds TelemetryThread::PublishInterval() const {
  return is_read_ ? kReadInterval : kIdleInterval;
}

void TelemetryThread::PublishIfDue(Instant now) {
  if (Steady::now() - published_ < PublishInterval()) return;
  is_read_ = false;
  on_epochs_({});
  Publish(now);
}

void TelemetryThread::Publish(Instant now) {
  published_ = Steady::now();
  view_.Set(collector_.MakeView(now));
}

}  // namespace fabricd::daemon
