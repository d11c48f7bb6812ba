// SPDX-License-Identifier: Apache-2.0
// Links and their state machine, and the faults that an operator injects.
#include <algorithm>

#include "common/check.h"
#include "common/status.h"
#include "sim/device/link_rate.h"
#include "sim/fabric/sim_fabric.h"

namespace fabricd::sim {
namespace {

using wire::PortPhysicalState;
using wire::PortState;

bool WantsLink(PortPhysicalState state) {
  return state == PortPhysicalState::kPolling || state == PortPhysicalState::kSleep;
}

PortPhysicalState StateAfterLoss(const wire::PortInfo& info) {
  return info.link_down_default_state == wire::LinkDownDefaultState::kSleep
             ? PortPhysicalState::kSleep
             : PortPhysicalState::kPolling;
}

}  // namespace

void SimFabric::SetPhysical(PortRef port, PortPhysicalState state) {
  DropLink(port, /*asked_for=*/true);
  Port(port).info.port_physical_state = state;
  TryTrain(port, options_.training_time);
}

// Both ends lose the link before either tells: a trap must not leave by the link that is going.
// What a Set asked for is no PortStateChange at the port that was asked (§14.2.5.4).
void SimFabric::DropLink(PortRef port, bool asked_for) {
  const PortRef ends[] = {port, Port(port).cable};
  bool was_up[2] = {false, false};
  for (size_t i = 0; i < 2; ++i) {
    if (ends[i].IsNone()) continue;
    wire::PortInfo& info = Port(ends[i]).info;
    was_up[i] = info.port_state != PortState::kDown;
    const bool held = info.port_physical_state == PortPhysicalState::kDisabled ||
                      info.port_physical_state == PortPhysicalState::kSleep;
    info.port_state = PortState::kDown;
    if (!held) info.port_physical_state = StateAfterLoss(info);
    ++Port(ends[i]).training;  // A training under way is void.
    if (was_up[i]) NoteChange(ends[i].node);
  }
  for (size_t i = 0; i < 2; ++i) {
    if (!was_up[i]) continue;
    if (i != 0 || !asked_for) NoteStateChange(ends[i]);
    DeliverEvent(ends[i], mad::LocalPortEvent::Kind::kPortDown);
  }
}

void SimFabric::NoteStateChange(PortRef port) {
  SimDevice& node = Device(port.node);
  if (!node.IsSwitch()) return;
  node.NotePortStateChange();
  RaiseTrap({{port.node, PortNum(0)}, wire::kTrapLinkStateChange});
}

void SimFabric::TryTrain(PortRef port, Duration training_time) {
  SimPort& own = Port(port);
  if (!own.plugged || own.info.port_state != PortState::kDown) return;
  SimPort& peer = Port(own.cable);
  if (!nodes_[port.node.value()].running || !nodes_[own.cable.node.value()].running) return;
  const PortPhysicalState here = own.info.port_physical_state;
  const PortPhysicalState there = peer.info.port_physical_state;
  // A sleeping port wakes when its peer polls; two sleepers sleep on (§7.2.7).
  if (!WantsLink(here) || !WantsLink(there)) return;
  if (here == PortPhysicalState::kSleep && there == PortPhysicalState::kSleep) return;
  if (training_time == Duration::zero()) {
    FinishTraining(port);
    return;
  }
  own.info.port_physical_state = peer.info.port_physical_state = PortPhysicalState::kTraining;
  Schedule({now_ + training_time, Event::Kind::kTrain, port, 0, own.training});
}

void SimFabric::FinishTraining(PortRef port) {
  const PortRef peer = Port(port).cable;
  NegotiateRate(Port(port).info, Port(peer).info);
  for (PortRef end : {port, peer}) {
    Port(end).info.port_physical_state = PortPhysicalState::kLinkUp;
    Port(end).info.port_state = PortState::kInit;
  }
  NoteStateChange(port);
  NoteStateChange(peer);
}

absl::Status SimFabric::CheckSocket(PortRef port) const {
  if (!device(port.node)) return NotFound("no node {} in the simulated fabric", port.node);
  const SimDevice& node = Device(port.node);
  if (port.port.value() == 0 || !node.HasPort(port.port)) {
    return NotFound("'{}' ({}) has no port {}", node.description(), node.guid(), port.port);
  }
  return absl::OkStatus();
}

absl::Status SimFabric::Unlink(Instant now, PortRef port) {
  FABRICD_RETURN_IF_ERROR(CheckSocket(port));
  RunDue(now);
  SimPort& own = Port(port);
  if (!own.plugged) {
    return FailedPrecondition("'{}' port {} has no plugged cable", Device(port.node).description(),
                              port.port);
  }
  own.plugged = Port(own.cable).plugged = false;
  DropLink(port, /*asked_for=*/false);
  RunDue(now_);
  return absl::OkStatus();
}

absl::Status SimFabric::Link(Instant now, PortRef port) {
  FABRICD_RETURN_IF_ERROR(CheckSocket(port));
  const SimPort& own = Port(port);
  if (own.plugged || own.cable.IsNone()) {
    return FailedPrecondition("'{}' port {} {}", Device(port.node).description(), port.port,
                              own.plugged ? "has a plugged cable" : "never had a cable");
  }
  return Connect(now, port, own.cable);
}

absl::Status SimFabric::Connect(Instant now, PortRef a, PortRef b) {
  for (PortRef end : {a, b}) {
    FABRICD_RETURN_IF_ERROR(CheckSocket(end));
    if (Port(end).plugged) {
      return FailedPrecondition("'{}' port {} has a plugged cable", Device(end.node).description(),
                                end.port);
    }
  }
  if (a == b) return InvalidArgument("a cable needs two sockets");
  RunDue(now);
  // A cable that was pulled from here and hangs elsewhere is forgotten at its other socket.
  for (PortRef end : {a, b}) {
    const PortRef former = Port(end).cable;
    if (!former.IsNone() && former != a && former != b) Port(former).cable = PortRef{};
  }
  Port(a).cable = b;
  Port(b).cable = a;
  Port(a).plugged = Port(b).plugged = true;
  TryTrain(a, options_.training_time);
  RunDue(now_);
  return absl::OkStatus();
}

absl::Status SimFabric::PowerOff(Instant now, NodeIndex index) {
  if (!device(index)) return NotFound("no node {} in the simulated fabric", index);
  RunDue(now);
  NodeState& state = nodes_[index.value()];
  if (!state.running) {
    return FailedPrecondition("'{}' is {} already", Device(index).description(),
                              state.boots ? "rebooting" : "off");
  }
  SimDevice& node = Device(index);
  state.running = false;
  ++state.power_cycles;
  for (uint8_t port = 1; port <= node.last_port().value(); ++port) {
    DropLink({index, PortNum(port)}, /*asked_for=*/false);
  }
  ForgetTraps(index);
  node.Reset();
  NoteChange(index);
  for (const auto& host : hosts_) {
    // The program on this port outlives its adapter's restart and its driver sets the bit again.
    if (host->port.node == index && host->is_sm) {
      Port(host->port).info.capability_mask |= wire::kCapIsSm;
    }
  }
  RunDue(now_);
  return absl::OkStatus();
}

absl::Status SimFabric::PowerOn(Instant now, NodeIndex index) {
  if (!device(index)) return NotFound("no node {} in the simulated fabric", index);
  RunDue(now);
  NodeState& state = nodes_[index.value()];
  if (state.running || state.boots) {
    return FailedPrecondition("'{}' is {} already", Device(index).description(),
                              state.boots ? "rebooting" : "on");
  }
  FinishBoot(index);
  RunDue(now_);
  return absl::OkStatus();
}

absl::Status SimFabric::Reboot(Instant now, NodeIndex index) {
  FABRICD_RETURN_IF_ERROR(PowerOff(now, index));
  nodes_[index.value()].boots = true;
  Schedule({now_ + options_.reboot_time, Event::Kind::kRebooted, {index, PortNum(0)}, 0, 0});
  RunDue(now_);
  return absl::OkStatus();
}

void SimFabric::SetOddities(NodeIndex index, Oddities oddities) {
  FABRICD_CHECK(device(index) != nullptr, "no node {} in the simulated fabric", index);
  Device(index).SetOddities(std::move(oddities));
}

void SimFabric::FinishBoot(NodeIndex index) {
  nodes_[index.value()].running = true;
  nodes_[index.value()].boots = false;
  for (uint8_t port = 1; port <= Device(index).last_port().value(); ++port) {
    TryTrain({index, PortNum(port)}, options_.training_time);
  }
}

SimEndpoint SimFabric::Endpoint(PortRef port) const {
  return {Device(port.node).description(), Device(port.node).guid(), port.port};
}

std::vector<SimCable> SimFabric::ListCables() const {
  std::vector<SimCable> cables;
  for (uint32_t index = 0; index < nodes_.size(); ++index) {
    if (!nodes_[index].device) continue;
    for (uint8_t number = 1; number <= nodes_[index].device->last_port().value(); ++number) {
      const PortRef ref{NodeIndex(index), PortNum(number)};
      const SimPort& port = Port(ref);
      if (port.cable.IsNone() || port.cable < ref) continue;
      SimCable cable{Endpoint(ref), Endpoint(port.cable), port.plugged,
                     port.info.port_state >= PortState::kInit};
      if (std::pair(cable.b.guid, cable.b.port) < std::pair(cable.a.guid, cable.a.port)) {
        std::swap(cable.a, cable.b);
      }
      cables.push_back(std::move(cable));
    }
  }
  std::sort(cables.begin(), cables.end(), [](const SimCable& x, const SimCable& y) {
    return std::pair(x.a.guid, x.a.port) < std::pair(y.a.guid, y.a.port);
  });
  return cables;
}

std::vector<SimNode> SimFabric::ListNodes() const {
  std::vector<SimNode> nodes;
  for (const NodeState& state : nodes_) {
    if (!state.device) continue;
    nodes.push_back({state.device->description(), state.device->guid(), state.device->IsSwitch(),
                     state.device->node_info().num_ports, state.running});
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const SimNode& a, const SimNode& b) { return a.guid < b.guid; });
  return nodes;
}

}  // namespace fabricd::sim
