// SPDX-License-Identifier: Apache-2.0
#include "daemon/sa/sa_keeper.h"

#include <pthread.h>

#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

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
    std::unique_lock lock(mutex_);
    stopping_ = true;
    Wake(lock);
  }
  if (thread_.joinable()) thread_.join();
}

SaKeeper::Statistics SaKeeper::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_;
}

void SaKeeper::Wake(std::unique_lock<std::mutex>& lock) {
  const bool wake = !std::exchange(awake_, true);
  lock.unlock();
  if (wake) woken_.notify_one();
}

bool SaKeeper::PushRequest(mad::IncomingMad&& request) {
  const uint16_t source = request.from.lid.value();
  if (!requests_.Push(source, std::move(request))) return false;
  std::unique_lock lock(mutex_);
  Wake(lock);
  return true;
}

void SaKeeper::PushNote(sa::StateEvent note) {
  std::unique_lock lock(mutex_);
  if (notes_.size() >= kNotes) {
    ++statistics_.dropped;
    return;
  }
  notes_.push_back(std::move(note));
  Wake(lock);
}

void SaKeeper::PushView(sa::FabricChanged changed) {
  std::unique_lock lock(mutex_);
  view_ = std::move(changed);
  Wake(lock);
}

// False: it is to stop.
bool SaKeeper::Wait(Instant deadline) {
  std::unique_lock lock(mutex_);
  const auto woken = [this] { return awake_; };
  if (deadline == kNever)
    woken_.wait(lock, woken);
  else
    woken_.wait_until(lock, ProcessClock::ToSteady(deadline), woken);
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
    {
      std::lock_guard lock(mutex_);
      if (written_) events.emplace_back(*std::exchange(written_, std::nullopt));
      if (view_) events.emplace_back(*std::exchange(view_, std::nullopt));
      std::move(notes_.begin(), notes_.end(), std::back_inserter(events));
      notes_.clear();
    }
    const bool more = requests_.TakeReady(requests, kBatch);
    for (mad::IncomingMad& request : requests)
      events.emplace_back(sa::ClientRequest{request.from, std::move(request.payload)});
    const Instant now = Now();
    for (sa::StateEvent& event : events) state_->Step(std::move(event), now);
    if (now >= state_->NextDeadline()) state_->Step(sa::TimePassed{}, now);
    const bool again = Carry(state_->TakeEffects(now), now);
    deadline = more || again ? now : state_->NextDeadline();
    std::lock_guard lock(mutex_);
    statistics_.reports = state_->reports();
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
    std::unique_lock lock(mutex_);
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
