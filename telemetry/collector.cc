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
constexpr Millis kIdentifyAgain = 24u * 3600 * 1000;
constexpr Millis kProbeAfter = 30 * 1000;
constexpr uint32_t kBusyShare = 10;
constexpr Millis kWatchedFor = 15 * 60 * 1000;
constexpr size_t kMostWatched = 256;  // Of them each makes two more requests in an interval.

// Who defines the vendor attributes that are asked for (NodeInfo.VendorID). Ids and layouts above
// 0xFF00 and of class 0x0A mean other things to other vendors. Voltaire's switches have the same
// silicon.
constexpr std::array<uint32_t, 2> kVendors = {0x0002C9, 0x0008F1};

LinkFacts FactsOf(const fabric::Port& port) {
  LinkFacts facts;
  if (!port.IsUp()) return facts;
  const int width = wire::ActiveWidth(port.info);
  facts.width = static_cast<uint8_t>(width);
  facts.bytes_per_second = static_cast<uint64_t>(port.Rate().data * 1e9 / 8);
  return facts;
}

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
      window_(options.max_outstanding),
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
  --pass_left_;
}

void Collector::EndPasses(Instant now, Effects& effects) {
  if (polls_.empty()) return;
  if (state_ != State::kPolling) {
    for (Device& device : devices_) device.is_in_pass = false;
    pass_left_ = 0;
    for (uint64_t id : std::exchange(polls_, {})) effects.passes_refused.push_back(id);
  } else if (pass_left_ == 0) {
    for (uint64_t id : std::exchange(polls_, {})) effects.passes_done.push_back(id);
    stats_.last_pass = now - pass_began_;
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

void Collector::On(const FabricChanged& event, Instant now, Effects& effects) {
  if (!options_.enabled || event.snapshot == nullptr) return;
  const Millis at = ToMillis(now);
  notified_state_ = event.state;
  const bool polls = notified_state_ == State::kPolling ||
                     (notified_state_ == State::kStandby && options_.as_standby);
  const bool began = state_ != State::kPolling && polls;
  const auto before = std::exchange(snapshot_, event.snapshot);
  state_ = polls ? State::kPolling : notified_state_;
  records_.Fit(*snapshot_);
  devices_.resize(snapshot_->node_index_end());
  const fabric::FabricSnapshot none;
  const fabric::FabricSnapshot& old = before != nullptr ? *before : none;
  bool ports_changed = began || before == nullptr;
  snapshot_->ForEachNotShared(old, [&](NodeIndex index) {
    const fabric::Node* node = snapshot_->node(index);
    const fabric::Node* node_before = old.node(index);
    const auto ports = [](const fabric::Node* of) { return of != nullptr ? of->ports.size() : 0; };
    ports_changed = ports_changed || ports(node) != ports(node_before);
    if (node == nullptr) {
      for (const auto& [gone, port] : node_before->LinkPorts()) {
        if (records_.Has(gone) && records_.Find(gone) != nullptr) {
          records_.EnterState(gone, fabric::Port(), false, at);
        }
      }
      devices_[index.value()].ForgetAll();
      LeavePass(devices_[index.value()], at);
      return;
    }
    // What it was found not to have was before it left.
    if (node_before == nullptr) devices_[index.value()].Renew();
    UpdateNode(old, *node, at, effects);
  });
  if (state_ != State::kPolling) {
    for (Device& device : devices_) device.ForgetAll();
    smps_.clear();
    return;
  }
  if (ports_changed) SetPorts(at);
  FitInterval(at);
}

void Collector::UpdateNode(const fabric::FabricSnapshot& before, const fabric::Node& node,
                           Millis now, Effects& effects) {
  Device& device = devices_[node.index.value()];
  device.Fit(node.ports.size());
  device.vendor = VendorOf(node);
  const fabric::Node* old = before.node(node.index);
  const bool is_first = before.node_index_end() == 0;
  for (const auto& [ref, port] : node.LinkPorts()) {
    const bool was_there = old != nullptr && ref.port.value() < old->ports.size();
    UpdatePort(was_there ? &old->port(ref.port) : nullptr, port, ref, is_first, now, effects);
  }
}

void Collector::UpdatePort(const fabric::Port* before, const fabric::Port& port, PortRef ref,
                           bool is_first, Millis now, Effects& effects) {
  const PortRecord* known = records_.Find(ref);
  if (known == nullptr && !port.IsUp()) return;
  LinkFacts facts = FactsOf(port);
  PortRecord& record = records_.Port(ref);
  facts.tick = record.facts.tick;
  facts.knows_tick = record.facts.knows_tick;
  record.facts = facts;
  const PortRef last_peer = record.peer;
  records_.EnterState(ref, port, is_first, now);
  if (!port.IsUp()) {
    if (before != nullptr && before->IsUp()) record.down_at = now;
    devices_[ref.node.value()].Forget(ref.port);
    return;
  }
  if (!last_peer.IsNone() && !port.peer.IsNone() && last_peer != port.peer && record.epoch != 0) {
    records_.ReplaceLink(ref, now);
    effects.epochs.push_back({ref, EpochCause::kLinkReplaced});
  }
  if (before == nullptr) return;
  const bool came_up = before->info.port_state != wire::PortState::kActive &&
                       port.info.port_state == wire::PortState::kActive;
  if (!came_up || state_ != State::kPolling) return;
  Device& device = devices_[ref.node.value()];
  device.Renew();
  Want(ref,
       AskSet::Of({Ask::kExtended, Ask::kClassic, Ask::kLinkDown, Ask::kPhysical, Ask::kLinkDowns,
                   Ask::kModule, Ask::kOperational}),
       now);
}

Absence Collector::VendorOf(const fabric::Node& node) const {
  if (!options_.vendor) return Absence::kNotAllowed;
  return std::ranges::find(kVendors, node.info.vendor_id) != kVendors.end() ? Absence::kNone
                                                                            : Absence::kOtherVendor;
}

void Collector::SetPorts(Millis now) {
  std::vector<PortRef> ports;
  snapshot_->ForEachNode([&](const fabric::Node& node) {
    for (const auto& [ref, port] : node.LinkPorts()) {
      ports.push_back(ref);
    }
  });
  schedule_.SetPorts(ports, now);
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
  if (polls_.empty()) pass_began_ = now;
  polls_.push_back(event.id);
  const Millis at = ToMillis(now);
  snapshot_->ForEachNode([&](const fabric::Node& node) {
    for (const auto& [ref, port] : node.LinkPorts())
      if (IsPolled(node, ref.port)) Want(ref, AskSet::Of({Ask::kExtended, Ask::kClassic}), at);
    Device& device = devices_[node.index.value()];
    if (!device.is_in_pass) ++pass_left_;
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

void Collector::WantCauses(PortRef port, Millis now) {
  const AskSet causes = AskSet::Of({Ask::kExtended, Ask::kClassic, Ask::kRcvErrorDetails,
                                    Ask::kPhysical, Ask::kLinkDowns, Ask::kLinkDown});
  Want(port, causes, now);
  const PortRef peer = snapshot_->port(port)->peer;
  if (!peer.IsNone() && records_.Has(peer) && IsPolled(*snapshot_->node(peer.node), peer.port)) {
    Want(peer, causes, now);
  }
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

// ---- what is wanted

AskSet Collector::AsksOf(PortRef port, uint32_t pass, Millis now) const {
  const Device& device = devices_[port.node.value()];
  AskSet asks;
  // Slower attributes have their passes spread over the ports.
  const auto is_turn = [&](Duration interval) {
    const auto millis =
        static_cast<Millis>(std::chrono::duration_cast<milliseconds>(interval).count());
    const uint32_t every =
        std::max<uint32_t>(1, (millis + schedule_.interval() / 2) / schedule_.interval());
    return (pass + port.port.value() + port.node.value()) % every == 0;
  };
  const bool extended = HasExtended(device, now);
  if (extended) asks.Add(Ask::kExtended);
  const PortRecord* record = records_.Find(port);
  const bool has_baseline =
      record != nullptr && record->read_at[static_cast<size_t>(Source::kPortCounters)] != 0;
  const fabric::Node* node = snapshot_->node(port.node);
  const bool complete = extended && (device.capability_mask2 & wire::kPerf2ExtendedErrors) != 0 &&
                        node != nullptr && node->IsSwitch();
  if (!extended || (!complete && (!has_baseline || is_turn(options_.classic_interval)))) {
    asks.Add(Ask::kClassic);
  }
  if (device.has_registers && device.vendor == Absence::kNone) {
    if (is_turn(options_.ber_interval)) asks.Add(Ask::kBer);
    const auto watched = watched_.find(port);
    if (watched != watched_.end() && now < watched->second)
      asks.Add(AskSet::Of({Ask::kBer, Ask::kPhysical}));
    if (is_turn(options_.module_interval) || records_.FindInventory(port) == nullptr) {
      asks.Add(AskSet::Of({Ask::kModule, Ask::kOperational, Ask::kMonitor, Ask::kPhysical}));
      // Its baseline: it is read when a link was down, and tells of that only by an increase.
      if (record == nullptr || record->read_at[static_cast<size_t>(Source::kPpcntLinkDowns)] == 0) {
        asks.Add(Ask::kLinkDowns);
      }
    }
  }
  return asks;
}

void Collector::TakeTurn(PortRef port, uint32_t pass, Millis now) {
  if (state_ != State::kPolling) return;
  const fabric::Node* node = snapshot_->node(port.node);
  if (node == nullptr || port.port.value() >= node->ports.size() || !IsPolled(*node, port.port)) {
    return;
  }
  Device& device = devices_[port.node.value()];
  if (now - device.identified_at > kIdentifyAgain || !device.knows_capabilities) {
    WantOfDevice(port.node, AskSet::Of({Ask::kClassPortInfo}), now);
  }
  if (!device.knows_capabilities) {
    Want(port, AskSet::Of({Ask::kExtended, Ask::kClassic}), now);
    return;
  }
  ProbeIfDue(port.node, now);
  Want(port, AsksOf(port, pass, now), now);
  // Through the SMA, one at a time: VL15 has no flow control.
  constexpr size_t kMostSmps = 4096;
  if (device.has_ext_port_info && device.vendor == Absence::kNone && smps_.size() < kMostSmps) {
    const PortInventory* inventory = records_.FindInventory(port);
    const auto every = static_cast<Millis>(
        std::chrono::duration_cast<milliseconds>(options_.module_interval).count());
    if (inventory == nullptr || now - inventory->ext_at >= every) {
      smps_.push_back({port.node, {Ask::kExtPortInfo, port.port}});
    }
  }
}

// Devices may drop what they need not have. A fabric that comes up is not asked for it at once: so
// many timeouts would look like loss.
void Collector::ProbeIfDue(NodeIndex node, Millis now) {
  Device& device = devices_[node.value()];
  if (now - device.identified_at < std::min(schedule_.interval(), kProbeAfter)) return;
  AskSet probes;
  if (!device.knows_tick) probes.Add(Ask::kTick);
  if (!device.knows_registers) probes.Add(Ask::kVendorInfo);
  // Whoever has the attributes that it announces has class 0x0A too. SMPs go one at a time: each
  // that times out holds up the others.
  const bool has_class = device.knows_registers || device.HasAnswered(Ask::kVendorKey);
  if (has_class && !device.is_smp_asked) {
    device.is_smp_asked = true;
    probes.Add(Ask::kSmpInfo);
  }
  WantOfDevice(node, probes, now);
}

void Collector::Want(PortRef port, AskSet asks, Millis now) {
  Device& device = devices_[port.node.value()];
  if (device.knows_capabilities) {
    if (!HasExtended(device, now)) asks.Remove(Ask::kExtended);
    if (!device.has_registers || device.vendor != Absence::kNone) {
      for (Ask ask : {Ask::kBer, Ask::kPhysical, Ask::kLinkDowns, Ask::kLinkDown, Ask::kModule,
                      Ask::kOperational, Ask::kMonitor}) {
        asks.Remove(ask);
      }
    }
  } else {
    WantOfDevice(port.node, AskSet::Of({Ask::kClassPortInfo}), now);
  }
  device.Want(port.port, asks);
  Queue(port.node);
}

void Collector::WantOfDevice(NodeIndex node, AskSet asks, Millis now) {
  Device& device = devices_[node.value()];
  for (; !asks.IsEmpty(); asks.Remove(asks.First())) {
    const Ask ask = asks.First();
    if (device.absence(ask, now) != Absence::kNone) continue;
    if (IsSmp(ask)) {
      smps_.push_back({node, {ask, PortNum(0)}});
    } else {
      device.Want(ask);
    }
  }
  Queue(node);
}

void Collector::Queue(NodeIndex node) {
  Device& device = devices_[node.value()];
  if (device.is_queued || !device.WantsAny()) return;
  device.is_queued = true;
  queue_.push_back(node.value());
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
  view->options = options_;
  view->snapshot = snapshot_;
  view->stats = stats_;
  view->stats.window = window_.size();
  view->stats.in_flight = window_.in_flight();
  records_.Publish(*view);
  return view;
}

}  // namespace fabricd::telemetry
