// SPDX-License-Identifier: Apache-2.0
#include "telemetry/collector.h"

#include <algorithm>
#include <array>
#include <utility>

namespace fabricd::telemetry {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kExpiryStep = seconds(1);
constexpr uint32_t kBusyShare = 10;
constexpr Millis kWatchedFor = 15 * 60 * 1000;
constexpr size_t kMostWatched = 256;  // Of them each makes two more requests in an interval.

}  // namespace

std::optional<LinkTrap> LinkTrapOf(const wire::Notice& notice) {
  if (!notice.generic) return std::nullopt;
  if (notice.subject_port()) return LinkTrap{notice.subject_lid(), notice.subject_port()};
  if (notice.trap == wire::kTrapBadPKey || notice.trap == wire::kTrapBadQKey)
    return LinkTrap{notice.issuer_lid, PortNum(), false};
  return std::nullopt;
}

Collector::Collector(const Options& options, Instant now, uint64_t seed)
    : options_(options),
      // A moment before: Millis 0 means never.
      started_(now - milliseconds(1)),
      state_(options.enabled ? State::kWaiting : State::kOff),
      records_(options.history),
      schedule_(seed),
      window_(options.max_outstanding, static_cast<uint32_t>(seed)),
      expired_at_(now) {}

Millis Collector::ToMillis(Instant at) const {
  return static_cast<Millis>(std::chrono::duration_cast<milliseconds>(at - started_).count());
}

void Collector::Step(const Event& event, Instant now, Effects& effects) {
  std::visit([&](const auto& one) { On(one, now, effects); }, event);
  const uint32_t pass_before = schedule_.pass();
  schedule_.TakeDue(ToMillis(now),
                    [&](PortRef port, uint32_t pass) { TakeTurn(port, pass, ToMillis(now)); });
  if (state_ == State::kPolling) stats_.passes += schedule_.pass() - pass_before;
  Pump(now, effects);
  PumpSmps(now, effects);
  EndPasses(now, effects);
}

// A pass on demand waits no longer for a device of which nothing more that it must have is
// expected.
void Collector::LeavePass(Device& device, Millis now) {
  if (!device.is_in_pass || device.AwaitsMandatory(now)) return;
  device.is_in_pass = false;
  --pass_.left;
}

void Collector::EndPasses(Instant now, Effects& effects) {
  if (pass_.polls.empty()) return;
  if (state_ != State::kPolling) {
    for (Device& device : devices_) device.is_in_pass = false;
    pass_.left = 0;
    for (uint64_t id : std::exchange(pass_.polls, {})) effects.passes_refused.push_back(id);
  } else if (pass_.left == 0) {
    for (uint64_t id : std::exchange(pass_.polls, {})) effects.passes_done.push_back(id);
    stats_.last_pass = now - pass_.began;
    ++stats_.passes;
  }
}

void Collector::FitInterval(Millis now) {
  size_t hosts = 0;
  if (snapshot_ != nullptr) hosts = snapshot_->node_count() - snapshot_->switch_count();
  Duration interval = options_.interval;
  if (interval.count() == 0) interval = hosts > kManyHosts ? seconds(60) : seconds(30);
  const auto wanted =
      static_cast<Millis>(std::chrono::duration_cast<milliseconds>(interval).count());
  if (schedule_.interval() != wanted) schedule_.Start(now, wanted);
}

void Collector::On(const CoreLoad& event, Instant now, Effects& /*effects*/) {
  if (event.busy && !load_.busy) busy_since_ = now;
  if (!event.busy) busy_since_ = kNever;
  if (event.writing) window_.VoidAll();
  load_ = event;
}

void Collector::On(const PollNow& event, Instant now, Effects& effects) {
  if (state_ != State::kPolling) {
    effects.passes_refused.push_back(event.id);
    return;
  }
  if (pass_.polls.empty()) pass_.began = now;
  pass_.polls.push_back(event.id);
  const Millis at = ToMillis(now);
  snapshot_->ForEachNode([&](const fabric::Node& node) {
    for (const auto& [ref, port] : node.LinkPorts())
      if (IsPolled(node, ref.port)) Want(ref, AskSet::Of({Ask::kExtended, Ask::kClassic}), at);
    Device& device = devices_[node.index.value()];
    if (!device.is_in_pass) ++pass_.left;
    device.is_in_pass = true;
    LeavePass(device, at);
  });
}

void Collector::On(const ReadHistory& event, Instant now, Effects& effects) {
  HistoryAnswer answer{event.id, records_.Has(event.port), ToMillis(now), {}};
  if (answer.known) answer.samples = records_.ReadHistory(event.port, answer.now, event.span);
  answer.step = records_.HistoryStep(event.span);
  effects.histories.push_back(std::move(answer));
}

void Collector::On(const NewOptions& event, Instant now, Effects& effects) {
  // What is kept is kept as it was set up at the start: history and window.
  options_.interval = event.options.interval;
  options_.classic_interval = event.options.classic_interval;
  options_.ber_interval = event.options.ber_interval;
  options_.module_interval = event.options.module_interval;
  options_.vendor = event.options.vendor;
  if (snapshot_ != nullptr) {
    snapshot_->ForEachNode([&](const fabric::Node& node) {
      Device& device = devices_[node.index.value()];
      const bool allowed_before = device.vendor == Absence::kNone;
      device.vendor = VendorOf(node);
      NoteDevice(node.index, ToMillis(now));
      // What the vendor's attributes are is asked for with ClassPortInfo.
      if (!allowed_before && device.vendor == Absence::kNone) device.knows_capabilities = false;
    });
  }
  if (options_.as_standby != event.options.as_standby) {
    options_.as_standby = event.options.as_standby;
    On(FabricChanged{snapshot_, notified_state_}, now, effects);
  }
  if (state_ == State::kPolling) FitInterval(ToMillis(now));
}

void Collector::On(const LinkTrap& event, Instant now, Effects& /*effects*/) {
  if (state_ != State::kPolling) return;
  // A search each, and traps come from devices: the shell hands over few at a time.
  PortRef port;
  snapshot_->ForEachNode([&](const fabric::Node& node) {
    for (const auto& [ref, end_port] : node.EndPorts()) {
      if (end_port.info.lid != event.lid || !event.lid) continue;
      port = {node.index, node.IsSwitch() ? event.port : ref.port};
    }
  });
  if (port.IsNone() || !records_.Has(port)) return;
  records_.Device(port.node).incidents.Add(port.port, Incident::kTrap, ToMillis(now));
  if (event.is_of_link && IsPolled(*snapshot_->node(port.node), port.port))
    WantCauses(port, ToMillis(now));
}

void Collector::On(const Tick& /*event*/, Instant now, Effects& /*effects*/) {
  if (now - expired_at_ < kExpiryStep) return;
  expired_at_ = now;
  for (TransactionId id : window_.Expired(now)) {
    if (const std::optional<Request> request = window_.Close(id)) {
      OnNoResponse(*request, true, ToMillis(now));
    }
  }
}

Instant Collector::NextWake(Instant now) const {
  Instant wake = now + seconds(1);
  if (now < full_until_) wake = full_until_;
  const Millis turn = schedule_.NextAt();
  if (turn != Schedule::kNone && state_ == State::kPolling) {
    wake = std::min(wake, std::max(started_ + milliseconds(turn), now + kTurnStep));
  }
  return wake;
}

void Collector::Watch(PortRef port, Millis now) {
  const PortRef peer = snapshot_->port(port)->peer;
  if (watched_.size() + 2 > kMostWatched)
    absl::erase_if(watched_, [&](const auto& each) { return each.second <= now; });
  for (const PortRef end : {port, peer}) {
    if (end.IsNone() || !records_.Has(end)) continue;
    // Where many links are bad at once the usual readings have to do.
    if (watched_.size() >= kMostWatched && !watched_.contains(end)) continue;
    watched_[end] = now + kWatchedFor;
  }
}

size_t Collector::WindowRoom(Instant now) const {
  if (now < full_until_) return 0;
  size_t window = window_.size();
  if (load_.busy) {
    if (now - busy_since_ < kLongestWait) return 0;
    window = std::max<size_t>(1, window / kBusyShare);
  }
  return window > window_.in_flight() ? window - window_.in_flight() : 0;
}

void Collector::Pump(Instant now, Effects& effects) {
  if (state_ != State::kPolling) {
    for (uint32_t node : std::exchange(queue_, {})) devices_[node].is_queued = false;
    return;
  }
  const Millis at = ToMillis(now);
  size_t room = WindowRoom(now);
  while (room > 0 && !queue_.empty()) {
    const uint32_t index = queue_.front();
    queue_.pop_front();
    Device& device = devices_[index];
    device.is_queued = false;
    const uint8_t limit = device.in_a_row == 0 ? kInFlightPerDevice : uint8_t{1};
    // Its next response queues it again.
    if (device.in_flight() >= limit) continue;
    const std::optional<NextAsk> next = device.Next(at);
    if (next && Send(NodeIndex(index), *next, now, effects)) --room;
    if (next) Queue(NodeIndex(index));
    LeavePass(device, at);
  }
}

void Collector::PumpSmps(Instant now, Effects& effects) {
  if (smp_in_flight_ || load_.smps || load_.busy || state_ != State::kPolling) return;
  while (!smps_.empty() && window_.HasRoom() && !smp_in_flight_) {
    const SmpAsk ask = smps_.front();
    smps_.pop_front();
    Device& device = devices_[ask.node.value()];
    if (device.absence(ask.next.ask, ToMillis(now)) != Absence::kNone) continue;
    const bool is_second_probe = device.IsProbe(ask.next.ask) && device.ProbesNow();
    if (device.in_flight() >= kInFlightPerDevice || is_second_probe) {
      smps_.push_back(ask);
      return;
    }
    smp_in_flight_ = Send(ask.node, ask.next, now, effects);
  }
}

std::shared_ptr<const TelemetryView> Collector::MakeView(Instant now) {
  auto view = std::make_shared<TelemetryView>();
  view->number = ++number_;
  view->state = state_;
  view->receives_traps = notified_state_ == State::kPolling;
  view->at = ToMillis(now);
  view->started = started_;
  view->interval = schedule_.interval();
  view->polls_since = polls_since_;
  view->options = options_;
  view->snapshot = snapshot_;
  view->stats = stats_;
  view->stats.window = window_.size();
  view->stats.in_flight = window_.in_flight();
  records_.Publish(*view);
  return view;
}

}  // namespace fabricd::telemetry
