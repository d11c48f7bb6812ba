// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/sim_fabric.h"

#include <utility>
#include <variant>

#include "common/check.h"
#include "common/status.h"
#include "mad/wire/mad_header.h"
#include "mad/wire/notice.h"
#include "sim/fabric/mad_bytes.h"

namespace fabricd::sim {

SimFabric::SimFabric(const fabric::FabricSnapshot& topology, const SimOptions& options)
    : seed_(options.seed),
      nodes_(topology, options.device),
      traps_({options.trap_interval_min, options.trap_repeats}, nodes_, queue_, stats_),
      hosts_(options.reports_port_events, nodes_, queue_, stats_),
      links_({options.training_time, options.reboot_time}, nodes_, queue_, traps_, hosts_),
      outside_(nodes_, links_),
      agents_(nodes_, queue_, traps_, hosts_, links_, stats_),
      walk_({options.link_latency, options.seed}, nodes_, queue_, traps_, hosts_, links_, outside_,
            agents_, stats_),
      traffic_(nodes_),
      errors_(options.seed, nodes_, traps_, traffic_) {
  if (options.performance != PerformanceOptions()) SetPerformanceOfAll(options.performance);
}

void SimFabric::SetObserver(SimObserver* observer) {
  hosts_.set_observer(observer);
  links_.set_observer(observer);
  agents_.set_observer(observer);
}

void SimFabric::RunDue(Instant now) {
  while (const std::optional<Event> event = queue_.TakeDue(now)) RunEvent(*event);
  RouteTrafficLater();
}

// Not at once: a table update is hundreds of Sets.
void SimFabric::RouteTrafficLater() {
  if (traffic_.empty() || route_scheduled_ || traffic_.routed_revision() == nodes_.revision()) {
    return;
  }
  route_scheduled_ = true;
  queue_.Schedule({queue_.now() + kRouteDelay, Event::Kind::kRouteTraffic, {}, 0, 0});
}

void SimFabric::RunEvent(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kArrive: walk_.Run(event); return;
    case Event::Kind::kTimeOut:
    case Event::Kind::kNoAcknowledgement: hosts_.Run(event); return;
    case Event::Kind::kLinkRequest:
    case Event::Kind::kTrain:
    case Event::Kind::kRebooted: links_.Run(event); return;
    case Event::Kind::kTrap:
      if (std::optional<Packet> trap = traps_.Run(event)) walk_.Carry(std::move(*trap));
      return;
    case Event::Kind::kRouteTraffic:
      route_scheduled_ = false;
      traffic_.Route(queue_.now());
      return;
    case Event::Kind::kLinkErrors:
      errors_scheduled_ = false;
      errors_.Step();
      CountErrorsLater();
      return;
  }
}

void SimFabric::CountErrorsLater() {
  if (errors_.empty() || errors_scheduled_) return;
  errors_scheduled_ = true;
  queue_.Schedule({queue_.now() + LinkErrors::kStep, Event::Kind::kLinkErrors, {}, 0, 0});
}

void SimFabric::Attach(PortRef port) {
  FABRICD_CHECK(
      nodes_.HasPort(port) && nodes_.Device(port.node).ManagementPort(port.port) == port.port,
      "node {} port {} is no end port", port.node, port.port);
  hosts_.Attach(port);
}

void SimFabric::Detach(Instant now, PortRef port) {
  if (!hosts_.IsAttached(port)) return;
  RunDue(now);
  if (hosts_.IsSm(port)) SetIsSm(now, port, false);
  hosts_.Detach(port);
}

void SimFabric::SetIsSm(Instant now, PortRef port, bool is_sm) {
  hosts_.SetIsSm(port, is_sm);
  SetIsSmBit(now, port, is_sm);
}

void SimFabric::SetScriptedSm(Instant now, PortRef port, std::optional<wire::SmInfo> sm) {
  nodes_.Port(port).scripted_sm = sm;
  SetIsSmBit(now, port, sm.has_value());
}

void SimFabric::SetIsSmBit(Instant now, PortRef port, bool is_sm) {
  queue_.AdvanceTo(now);
  wire::PortInfo& info = nodes_.Port(port).info;
  const uint32_t before = info.capability_mask;
  info.capability_mask = is_sm ? before | wire::kCapIsSm : before & ~wire::kCapIsSm;
  if (info.capability_mask != before) traps_.RaiseCapabilityMaskChange(port);
}

absl::Status SimFabric::Send(Instant now, PortRef from, mad::OutgoingMad mad) {
  RunDue(now);
  absl::StatusOr<HostPorts::Sent> sent = hosts_.Send(from, std::move(mad));
  if (!sent.ok()) return sent.status();
  walk_.Carry(std::move(sent->packet));
  RunDue(queue_.now());
  if (sent->request) hosts_.StartTimeOut(*sent->request);
  return absl::OkStatus();
}

void SimFabric::Advance(Instant now, std::vector<Delivery>& out) {
  RunDue(now);
  hosts_.TakeDeliveries(out);
}

Instant SimFabric::next_event() const {
  const Instant delivery = hosts_.first_delivery();
  return delivery != kNever ? delivery : queue_.next_at();
}

std::vector<mad::IncomingMad> SimFabric::Exchange(Instant now, PortRef host, mad::OutgoingMad mad) {
  FABRICD_CHECK(mad.timeout > Duration::zero() && mad.payload.size() >= wire::kMadBytes,
                "Exchange takes a request with a time-out");
  const uint32_t id = static_cast<uint32_t>(TransactionIdOf(mad.payload));
  std::vector<Delivery> others;
  hosts_.TakeDeliveries(others);
  const absl::Status sent = Send(now, host, std::move(mad));
  FABRICD_CHECK(sent.ok(), "{}", Message(sent));
  std::vector<mad::IncomingMad> arrived;
  std::vector<Delivery> delivered;
  for (bool answered = false; !answered;) {
    delivered.clear();
    hosts_.TakeDeliveries(delivered);
    for (Delivery& delivery : delivered) {
      auto* incoming = std::get_if<mad::IncomingMad>(&delivery.what);
      if (answered || delivery.host != host || !incoming) {
        others.push_back(std::move(delivery));
        continue;
      }
      const bool closes = incoming->kind != mad::IncomingMad::Kind::kReceived ||
                          (incoming->payload[kMadMethodAt] & wire::kResponseBit) != 0;
      answered = closes && static_cast<uint32_t>(TransactionIdOf(incoming->payload)) == id;
      arrived.push_back(std::move(*incoming));
    }
    if (answered) break;
    FABRICD_CHECK(!queue_.empty(), "a waiting request has no time-out event");
    RunDue(queue_.next_at());
  }
  hosts_.ReturnDeliveries(std::move(others));
  return arrived;
}

PortRef SimFabric::FreeHostPort() const {
  for (const auto& [name, adapters] : Hosts()) {
    for (NodeIndex adapter : adapters) {
      const SimDevice& device = nodes_.Device(adapter);
      for (PortNum number : device.LinkPorts()) {
        const PortRef port{adapter, number};
        if (!device.port(number).cable.IsNone() && !outside_.Has(port)) return port;
      }
    }
  }
  return {};
}

void SimFabric::MirrorOutside(Instant now, PortRef port, const OutsideState& state) {
  RunDue(now);
  outside_.Mirror(port, state);
  RunDue(queue_.now());
}

void SimFabric::SendFromOutside(Instant now, Packet packet) {
  RunDue(now);
  walk_.CarryFromOutside(std::move(packet));
  RunDue(queue_.now());
}

absl::Status SimFabric::CheckNode(NodeIndex node) const {
  if (nodes_.Find(node) != nullptr) return absl::OkStatus();
  return NotFound("no node {} in the simulated fabric", node);
}

absl::Status SimFabric::Unlink(Instant now, PortRef port) {
  FABRICD_RETURN_IF_ERROR(nodes_.CheckSocket(port));
  RunDue(now);
  FABRICD_RETURN_IF_ERROR(links_.Unlink(port));
  RunDue(queue_.now());
  return absl::OkStatus();
}

absl::Status SimFabric::Link(Instant now, PortRef port) {
  FABRICD_RETURN_IF_ERROR(nodes_.CheckSocket(port));
  const absl::StatusOr<PortRef> peer = links_.PulledPeer(port);
  if (!peer.ok()) return peer.status();
  return Connect(now, port, *peer);
}

absl::Status SimFabric::Connect(Instant now, PortRef a, PortRef b) {
  for (PortRef end : {a, b}) {
    FABRICD_RETURN_IF_ERROR(nodes_.CheckSocket(end));
    FABRICD_RETURN_IF_ERROR(links_.CheckFree(end));
  }
  if (a == b) return InvalidArgument("a cable needs two sockets");
  RunDue(now);
  links_.Connect(a, b);
  RunDue(queue_.now());
  return absl::OkStatus();
}

absl::Status SimFabric::LoseSignal(Instant now, PortRef port, uint8_t reason) {
  FABRICD_RETURN_IF_ERROR(nodes_.CheckSocket(port));
  RunDue(now);
  FABRICD_RETURN_IF_ERROR(links_.LoseSignal(port, reason));
  RunDue(queue_.now());
  return absl::OkStatus();
}

absl::Status SimFabric::SetDisabled(Instant now, PortRef port, bool disabled) {
  FABRICD_RETURN_IF_ERROR(nodes_.CheckSocket(port));
  RunDue(now);
  links_.RequestPhysicalState(
      port, disabled ? wire::PortPhysicalState::kDisabled : wire::PortPhysicalState::kPolling);
  RunDue(queue_.now());
  return absl::OkStatus();
}

absl::Status SimFabric::PowerOff(Instant now, NodeIndex node, Ending ending) {
  FABRICD_RETURN_IF_ERROR(CheckNode(node));
  RunDue(now);
  FABRICD_RETURN_IF_ERROR(links_.PowerOff(node, ending));
  RunDue(queue_.now());
  return absl::OkStatus();
}

absl::Status SimFabric::PowerOn(Instant now, NodeIndex node) {
  FABRICD_RETURN_IF_ERROR(CheckNode(node));
  RunDue(now);
  FABRICD_RETURN_IF_ERROR(links_.PowerOn(node));
  RunDue(queue_.now());
  return absl::OkStatus();
}

absl::Status SimFabric::Reboot(Instant now, NodeIndex node) {
  FABRICD_RETURN_IF_ERROR(PowerOff(now, node));
  links_.BootLater(node);
  RunDue(queue_.now());
  return absl::OkStatus();
}

absl::Status SimFabric::RaisePortTrap(Instant now, PortRef port, uint16_t number) {
  if (number < wire::kTrapLocalLinkIntegrity || number > wire::kTrapFlowControlWatchdog) {
    return InvalidArgument("trap {} is not one of a port's thresholds (129-131)", number);
  }
  FABRICD_RETURN_IF_ERROR(nodes_.CheckSocket(port));
  RunDue(now);
  FABRICD_RETURN_IF_ERROR(traps_.RaiseThreshold(port, number));
  RunDue(queue_.now());
  return absl::OkStatus();
}

absl::Status SimFabric::SendStrayTrap(Instant now, PortRef port, uint16_t number) {
  if (number < wire::kTrapLinkStateChange || number > wire::kTrapFlowControlWatchdog) {
    return InvalidArgument("trap {} is not one of a link (128-131)", number);
  }
  FABRICD_RETURN_IF_ERROR(nodes_.CheckSocket(port));
  RunDue(now);
  absl::StatusOr<Packet> trap = traps_.MakeStray(port, number);
  if (!trap.ok()) return trap.status();
  walk_.Carry(*std::move(trap));
  RunDue(queue_.now());
  return absl::OkStatus();
}

void SimFabric::SetQuirks(NodeIndex node, Quirks quirks) {
  FABRICD_CHECK(nodes_.Find(node) != nullptr, "no node {} in the simulated fabric", node);
  nodes_.Device(node).SetQuirks(std::move(quirks));
}

void SimFabric::SetAdaptiveRouting(NodeIndex node, ShadowLft mode) {
  FABRICD_CHECK(nodes_.Find(node) != nullptr, "no node {} in the simulated fabric", node);
  nodes_.Device(node).SetAdaptiveRouting(mode);
}

absl::Status SimFabric::SetPerformance(NodeIndex node, const PerformanceOptions& options) {
  FABRICD_RETURN_IF_ERROR(CheckNode(node));
  nodes_.Performance(node).SetOptions(std::make_shared<const PerformanceOptions>(options));
  return absl::OkStatus();
}

void SimFabric::SetPerformanceOfAll(const PerformanceOptions& options) {
  const auto shared = std::make_shared<const PerformanceOptions>(options);
  for (uint32_t index = 0; index < nodes_.index_end(); ++index) {
    if (nodes_.Find(NodeIndex(index)) != nullptr) {
      nodes_.Performance(NodeIndex(index)).SetOptions(shared);
    }
  }
}

absl::Status SimFabric::AddToCounter(Instant now, PortRef port, Counter counter, uint64_t count) {
  FABRICD_RETURN_IF_ERROR(nodes_.CheckSocket(port));
  RunDue(now);
  nodes_.Performance(port.node).Add(port.port, counter, count);
  return absl::OkStatus();
}

uint64_t SimFabric::CounterTotal(Instant now, PortRef port, Counter counter) {
  RunDue(now);
  PerformanceAgent& agent = nodes_.Performance(port.node);
  agent.CountUpTo(now, nodes_.Device(port.node), port.port);
  return agent.Total(port.port, counter);
}

absl::Status SimFabric::ClearCounters(Instant now, PortRef port) {
  FABRICD_RETURN_IF_ERROR(nodes_.CheckSocket(port));
  RunDue(now);
  nodes_.Performance(port.node).ClearPort(now, nodes_.Device(port.node), port.port);
  return absl::OkStatus();
}

absl::Status SimFabric::SetBitErrorRates(Instant now, PortRef port, const BitErrorRates& rates) {
  FABRICD_RETURN_IF_ERROR(nodes_.CheckSocket(port));
  for (double rate : {rates.raw, rates.effective, rates.symbol}) {
    if (!(rate >= 0 && rate <= 1)) return InvalidArgument("{} is no bit error rate", rate);
  }
  RunDue(now);
  const SimDevice& device = nodes_.Device(port.node);
  nodes_.Performance(port.node).SetBitErrorRates(
      now, device, port.port, rates, Rng(seed_ ^ device.guid().value() ^ port.port.value()).Next());
  return absl::OkStatus();
}

absl::Status SimFabric::SetLinkNoise(Instant now, PortRef receiver, const LinkNoise& noise) {
  FABRICD_RETURN_IF_ERROR(nodes_.CheckSocket(receiver));
  if (!(noise.raw >= 0 && noise.raw <= 1)) {
    return InvalidArgument("{} is no bit error rate", noise.raw);
  }
  if (!(noise.burst >= 1) || !(noise.spurious >= 0)) {
    return InvalidArgument("a burst has at least one error, and spurious errors are not below 0");
  }
  RunDue(now);
  errors_.Set(queue_.now(), receiver, noise);
  CountErrorsLater();
  return absl::OkStatus();
}

absl::Status SimFabric::SetErrors(Instant now, PortRef port, const PortErrors& errors) {
  // The only one that refuses what is not the port's fault comes first.
  if (errors.rates) FABRICD_RETURN_IF_ERROR(SetBitErrorRates(now, port, *errors.rates));
  if (errors.clear) FABRICD_RETURN_IF_ERROR(ClearCounters(now, port));
  for (const auto& [counter, count] : errors.counts) {
    FABRICD_RETURN_IF_ERROR(AddToCounter(now, port, counter, count));
  }
  if (errors.module_celsius) {
    FABRICD_RETURN_IF_ERROR(SetModuleTemperature(port, errors.module_celsius));
  }
  return nodes_.CheckSocket(port);
}

absl::Status SimFabric::SetModuleTemperature(PortRef port, std::optional<int> celsius) {
  FABRICD_RETURN_IF_ERROR(nodes_.CheckSocket(port));
  nodes_.Performance(port.node).SetModuleTemperature(port.port, celsius);
  return absl::OkStatus();
}

absl::Status SimFabric::ReplaceCable(PortRef port) {
  FABRICD_RETURN_IF_ERROR(nodes_.CheckSocket(port));
  const PortRef peer = nodes_.Port(port).cable;
  if (peer.IsNone()) return NotFound("no cable is there");
  for (PortRef end : {port, peer}) nodes_.Performance(end.node).ReplaceModule(end.port);
  return absl::OkStatus();
}

absl::Status SimFabric::StartTraffic(Instant now, TrafficJob job) {
  RunDue(now);
  return traffic_.Start(queue_.now(), std::move(job));
}

absl::Status SimFabric::StopTraffic(Instant now, const std::string& name) {
  RunDue(now);
  return traffic_.Stop(queue_.now(), name);
}

absl::Status SimFabric::SetReceiverShare(Instant now, PortRef port, double share) {
  FABRICD_RETURN_IF_ERROR(nodes_.CheckSocket(port));
  if (!(share >= 0 && share <= 1)) return InvalidArgument("{} is no part of a rate", share);
  if (nodes_.Device(port.node).IsSwitch()) {
    return InvalidArgument("'{}' is a switch, no receiver", nodes_.Device(port.node).description());
  }
  RunDue(now);
  traffic_.SetReceiverShare(queue_.now(), port, share);
  return absl::OkStatus();
}

PortRef SimFabric::LinkedPeer(PortRef port) const {
  if (!nodes_.HasPort(port) || port.port.value() == 0) return {};
  const SimPort& own = nodes_.Port(port);
  return own.info.port_state >= wire::PortState::kInit ? own.cable : PortRef{};
}

}  // namespace fabricd::sim
