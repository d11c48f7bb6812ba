// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/core_host.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "common/process_clock.h"
#include "common/status.h"

namespace fabricd::daemon {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The longest sleep of the loop, after which the progress line is refreshed.
constexpr auto kLongestSleep = std::chrono::milliseconds(200);

// During a sweep responses arrive one by one, each with its own wake-up, although the requests that
// they allow could be sent together. Waiting briefly for more responses saves a quarter of the
// processor time of a bring-up on ibsim, and costs less than a round trip. With few SMPs in flight,
// as in a survey of one switch, the next request depends on each response, so there is no wait.
constexpr auto kGatherTime = std::chrono::microseconds(200);
constexpr size_t kEnoughEvents = 64;

}  // namespace

absl::Status TransportNetwork::Send(mad::OutgoingMad&& mad) {
  if (fence_ != nullptr && !fence_->MaySend(mad)) return Unavailable("this process was stopped");
  return transport_.Send(mad);
}

CoreHost::CoreHost(const shell::CoreInputs& inputs, Links links,
                   std::unique_ptr<FlightRecorder> recorder)
    : inbox_(links.inbox),
      fence_(links.fence ? std::optional<shell::WriteFence>(*links.fence) : std::nullopt),
      network_(links.transport, fence_ ? &*fence_ : nullptr),
      records_(links.store, [] { return WallNowMs() / 1000; }),
      executor_(links.store_thread),
      recorder_(std::move(recorder)),
      core_(inputs.MakeCore()),
      runner_(*core_, {network_, executor_, records_, links.listener}, recorder_.get()) {
  if (recorder_) recorder_->OnStart(inputs);
}

void CoreHost::Run(const std::function<bool(const sweep::Core&)>& turn) {
  const Instant now = ProcessClock::Now();
  if (fence_) fence_->BeginTurn();
  runner_.Step(sweep::StartEvent{wall_clock_.epoch()}, now);
  runner_.CarryOut(now);
  while (turn(*core_)) Turn();
}

void CoreHost::Turn() {
  events_.clear();
  const auto latest = SteadyClock::now() + kLongestSleep;
  const Instant deadline = core_->NextDeadline();
  inbox_.Take(events_,
              deadline == kNever ? latest : std::min(latest, ProcessClock::ToSteady(deadline)));
  const bool many = core_->smps_in_flight() > kManyInFlight;
  if (many && !events_.empty() && events_.size() < kEnoughEvents) {
    std::this_thread::sleep_for(kGatherTime);
    inbox_.Take(events_, SteadyClock::now());
  }
  if (fence_) pause_ = fence_->BeginTurn();
  if (pause_) return;
  const Instant now = ProcessClock::Now();
  if (const auto epoch = wall_clock_.Look()) runner_.Step(sweep::WallClockSet{*epoch}, now);
  for (sweep::Event& event : events_) runner_.Step(std::move(event), now);
  if (now >= core_->NextDeadline()) runner_.Step(sweep::TimerEvent{}, now);
  runner_.CarryOut(now);
  // Before the store learns who has the epoch now: that would be another reason to start again.
  if (fence_) pause_ = fence_->Pause();
}

}  // namespace fabricd::daemon
