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
    : nodes_(topology, options.device),
      traps_({options.trap_interval_min, options.trap_repeats}, nodes_, queue_, stats_),
      hosts_(nodes_, queue_, stats_),
      links_({options.training_time, options.reboot_time}, nodes_, queue_, traps_, hosts_),
      agents_(nodes_, queue_, traps_, hosts_, links_, stats_),
      walk_({options.link_latency, options.seed}, nodes_, queue_, traps_, hosts_, links_, agents_,
            stats_) {}

void SimFabric::SetObserver(SimObserver* observer) {
  hosts_.set_observer(observer);
  links_.set_observer(observer);
  agents_.set_observer(observer);
}

void SimFabric::RunDue(Instant now) {
  while (const std::optional<Event> event = queue_.TakeDue(now)) RunEvent(*event);
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
  }
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

absl::Status SimFabric::PowerOff(Instant now, NodeIndex node) {
  FABRICD_RETURN_IF_ERROR(CheckNode(node));
  RunDue(now);
  FABRICD_RETURN_IF_ERROR(links_.PowerOff(node));
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

void SimFabric::SetOddities(NodeIndex node, Oddities oddities) {
  FABRICD_CHECK(nodes_.Find(node) != nullptr, "no node {} in the simulated fabric", node);
  nodes_.Device(node).SetOddities(std::move(oddities));
}

PortRef SimFabric::LinkedPeer(PortRef port) const {
  if (!nodes_.HasPort(port) || port.port.value() == 0) return {};
  const SimPort& own = nodes_.Port(port);
  return own.info.port_state >= wire::PortState::kInit ? own.cable : PortRef{};
}

}  // namespace fabricd::sim
