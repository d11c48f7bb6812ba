// SPDX-License-Identifier: Apache-2.0
#include "daemon/sa/sa_keeper.h"

#include <pthread.h>

#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "common/mutex.h"
#include "common/process_clock.h"
#include "common/status.h"

namespace fabricd::daemon {
namespace {

constexpr size_t kRequests = 8192, kShare = 512, kNotes = 4096;
// Taken in one go: they share a write.
constexpr size_t kBatch = 1024;

Instant Now() { return ProcessClock::Now(); }

}  // namespace

SaKeeper::SaKeeper(std::unique_ptr<sa::SaState> state, mad::Transport& transport, KeeperLinks links)
    : state_(std::move(state)),
      transport_(transport),
      links_(std::move(links)),
      requests_(kRequests, kShare) {
  clients_.Set(std::make_shared<const sa::ClientState>());
}

SaKeeper::~SaKeeper() { Stop(); }

void SaKeeper::Start() {
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "sa-state");
}

void SaKeeper::Stop() {
  requests_.Close();
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    Wake(lock);
  }
  if (thread_.joinable()) thread_.join();
}

SaKeeper::Statistics SaKeeper::statistics() const {
  MutexLock lock(mutex_);
  return statistics_;
}

void SaKeeper::Wake(MutexLock& lock) {
  const bool wake = !std::exchange(awake_, true);
  lock.Unlock();
  if (wake) woken_.NotifyOne();
}

bool SaKeeper::PushRequest(mad::IncomingMad&& request) {
  const uint16_t source = request.from.lid.value();
  if (!requests_.Push(source, std::move(request))) return false;
  MutexLock lock(mutex_);
  Wake(lock);
  return true;
}

void SaKeeper::PushNote(sa::StateEvent note) {
  MutexLock lock(mutex_);
  if (notes_.size() >= kNotes) {
    ++statistics_.dropped;
    return;
  }
  notes_.push_back(std::move(note));
  Wake(lock);
}

void SaKeeper::PushView(sa::FabricChanged changed) {
  MutexLock lock(mutex_);
  view_ = std::move(changed);
  Wake(lock);
}

void SaKeeper::Replace(sa::StateReplaced replaced) {
  MutexLock lock(mutex_);
  replaced_ = std::move(replaced);
  Wake(lock);
}

// False: it is to stop.
bool SaKeeper::Wait(Instant deadline) {
  MutexLock lock(mutex_);
  const auto woken = [this]() FABRICD_REQUIRES(mutex_) { return awake_; };
  if (deadline == kNever)
    woken_.Wait(lock, woken);
  else
    woken_.WaitUntil(lock, ProcessClock::ToSteady(deadline), woken);
  awake_ = false;
  return !stopping_;
}

void SaKeeper::Run() {
  Carry(state_->TakeEffects(Now()), Now());
  std::vector<sa::StateEvent> events;
  std::vector<mad::IncomingMad> requests;
  Instant deadline = state_->NextDeadline();
  while (Wait(deadline)) {
    events.clear();
    requests.clear();
    // Before the view: who sent them is known to the newest view that was there when they came.
    const bool more = requests_.TakeReady(requests, kBatch);
    {
      MutexLock lock(mutex_);
      if (written_) events.emplace_back(*std::exchange(written_, std::nullopt));
      if (view_) events.emplace_back(*std::exchange(view_, std::nullopt));
      if (replaced_) events.emplace_back(*std::exchange(replaced_, std::nullopt));
      std::move(notes_.begin(), notes_.end(), std::back_inserter(events));
      notes_.clear();
    }
    for (mad::IncomingMad& request : requests)
      events.emplace_back(sa::ClientRequest{request.from, std::move(request.payload)});
    const Instant now = Now();
    for (sa::StateEvent& event : events) state_->Step(std::move(event), now);
    if (now >= state_->NextDeadline()) state_->Step(sa::TimePassed{}, now);
    const bool again = Carry(state_->TakeEffects(now), now);
    deadline = more || again ? now : state_->NextDeadline();
    MutexLock lock(mutex_);
    statistics_.reports = state_->reports();
    statistics_.unanswered = state_->unanswered();
  }
}

// True: a Report could not be sent, and the state is to be asked what now.
bool SaKeeper::Carry(sa::StateEffects effects, Instant now) {
  bool failed = false;
  for (const std::string& warning : effects.warnings) spdlog::warn("SA: {}", warning);
  if (effects.publish != nullptr) clients_.Set(std::move(effects.publish));
  if (effects.groups != nullptr) links_.tell_groups(std::move(effects.groups));
  if (effects.aliases != nullptr) links_.tell_aliases(std::move(effects.aliases));
  for (const mad::OutgoingMad& out : effects.send) {
    const absl::Status sent = transport_.Send(out);
    if (sent.ok()) continue;
    spdlog::debug("SA: {}", Message(sent));
    if (out.timeout == Duration::zero()) continue;
    failed = true;
    state_->Step(
        mad::IncomingMad{mad::IncomingMad::Kind::kSendFailed, out.agent, out.to, out.payload}, now);
  }
  if (!effects.write) return failed;
  const uint64_t id = effects.write->id;
  const auto done = [this, id](absl::Status status) {
    MutexLock lock(mutex_);
    written_ = sa::RowsWritten{id, std::move(status)};
    Wake(lock);
  };
  const auto write = std::make_shared<sa::WriteRows>(*std::move(effects.write));
  if (!links_.on_store(
          [write, done](store::Store& store) { done(store.ChangeRows(write->changes)); }))
    done(Unavailable("the store's queue is full"));
  return failed;
}

}  // namespace fabricd::daemon
