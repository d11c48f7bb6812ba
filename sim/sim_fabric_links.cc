// SPDX-License-Identifier: Apache-2.0
// Links and their state machine, traps, and the faults that an operator injects.
#include <algorithm>

#include "common/status.h"
#include "sim/link_rate.h"
#include "sim/sim_fabric.h"

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

void Put16(std::array<uint8_t, 54>& details, size_t at, uint32_t value) {
  details[at] = static_cast<uint8_t>(value >> 8);
  details[at + 1] = static_cast<uint8_t>(value);
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
  RaiseTrap({port.node, PortNum(0)}, wire::kTrapLinkStateChange);
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

absl::Status SimFabric::Reboot(Instant now, NodeIndex index) {
  if (!device(index)) return NotFound("no node {} in the simulated fabric", index);
  RunDue(now);
  if (!nodes_[index.value()].running) {
    return FailedPrecondition("'{}' is rebooting already", Device(index).description());
  }
  SimDevice& node = Device(index);
  nodes_[index.value()].running = false;
  for (auto trap = traps_.begin(); trap != traps_.end();) {
    trap = trap->first.first.node == index ? traps_.erase(trap) : std::next(trap);
  }
  for (uint8_t port = 1; port <= node.last_port().value(); ++port) {
    DropLink({index, PortNum(port)}, /*asked_for=*/false);
  }
  node.Reset();
  for (const auto& host : hosts_) {
    // The program on this port outlives its adapter's restart and its driver sets the bit again.
    if (host->port.node == index && host->is_sm) {
      Port(host->port).info.capability_mask |= wire::kCapIsSm;
    }
  }
  Schedule({now_ + options_.reboot_time, Event::Kind::kRebooted, {index, PortNum(0)}, 0, 0});
  RunDue(now_);
  return absl::OkStatus();
}

void SimFabric::FinishReboot(NodeIndex index) {
  nodes_[index.value()].running = true;
  for (uint8_t port = 1; port <= Device(index).last_port().value(); ++port) {
    TryTrain({index, PortNum(port)}, options_.training_time);
  }
}

wire::Notice SimFabric::MakeNotice(PortRef source, uint16_t number) const {
  const wire::PortInfo& info = Port(source).info;
  wire::Notice notice;
  notice.trap = number;
  notice.producer = static_cast<uint32_t>(Device(source.node).node_info().node_type);
  notice.issuer_lid = info.lid;
  if (number == wire::kTrapLinkStateChange) {
    notice.type = 1;  // Urgent
    Put16(notice.details, 0, info.lid.value());
    return notice;
  }
  notice.type = 3;  // Informational; trap 144 (§14.2.5.1): LID, then the new CapabilityMask.
  Put16(notice.details, 2, info.lid.value());
  Put16(notice.details, 6, info.capability_mask >> 16);
  Put16(notice.details, 8, info.capability_mask & 0xFFFF);
  return notice;
}

void SimFabric::RaiseTrap(PortRef source, uint16_t number) {
  const wire::PortInfo& info = Port(source).info;
  if (!info.lid || !info.master_sm_lid) return;  // Nobody has configured this port: nobody to tell.
  const auto [at, fresh] = traps_.try_emplace({source, number});
  if (!fresh) {
    at->second.again = true;
    return;
  }
  Trap& trap = at->second;
  trap.repeats_left = options_.trap_repeats;
  trap.transaction_id = static_cast<uint64_t>(source.node.value() + 1) << 32 | next_trap_id_++;
  // As an event: link changes come in pairs, and the tables are those after both.
  trap.serial = next_serial_++;
  Schedule({now_, Event::Kind::kTrap, source, number, trap.serial});
}

void SimFabric::RunTrap(const Event& event) {
  const auto found = traps_.find({event.port, static_cast<uint16_t>(event.id)});
  if (found == traps_.end() || found->second.serial != event.serial) return;
  Trap& trap = found->second;
  if (trap.repeats_left-- < 0) {
    traps_.erase(found);
    return;
  }
  const wire::PortInfo& info = Port(event.port).info;
  const Duration period(int64_t{4096} << info.subnet_timeout);
  trap.serial = next_serial_++;
  Schedule({now_ + std::max(options_.trap_interval_min, period), Event::Kind::kTrap, event.port,
            event.id, trap.serial});
  SendTrap(event.port, static_cast<uint16_t>(event.id), trap);
}

void SimFabric::SendTrap(PortRef source, uint16_t number, Trap& trap) {
  const wire::PortInfo& info = Port(source).info;
  wire::Smp smp;
  smp.method = wire::Method::kTrap;
  smp.attribute = wire::AttributeId::kNotice;
  smp.tid = TransactionId(static_cast<uint32_t>(trap.transaction_id));
  smp.tid_high = static_cast<uint32_t>(trap.transaction_id >> 32);
  MakeNotice(source, number).Encode(smp.data);
  Packet packet;
  packet.bytes.resize(wire::kMadBytes);
  smp.Encode(std::span<uint8_t, wire::kMadBytes>(packet.bytes.data(), wire::kMadBytes));
  packet.at = source;
  packet.slid = info.lid;
  packet.dlid = info.master_sm_lid;
  packet.sl = ServiceLevel(info.master_sm_sl);
  ++stats_.traps_sent;
  Carry(std::move(packet));
}

void SimFabric::Repress(NodeIndex node, uint64_t transaction_id) {
  for (auto at = traps_.begin(); at != traps_.end(); ++at) {
    if (at->first.first.node != node || at->second.transaction_id != transaction_id) continue;
    const auto [source, number] = at->first;
    const bool again = at->second.again;
    traps_.erase(at);
    if (again) RaiseTrap(source, number);
    return;
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
