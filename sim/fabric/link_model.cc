// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/link_model.h"

#include <cstdint>

#include "common/status.h"
#include "sim/device/link_rate.h"

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

LinkModel::LinkModel(Options options, SimNodes& nodes, EventQueue& queue, TrapSender& traps,
                     HostPorts& hosts)
    : options_(options), nodes_(nodes), queue_(queue), traps_(traps), hosts_(hosts) {
  for (uint32_t index = 0; index < nodes_.index_end(); ++index) {
    const SimDevice* node = nodes_.Find(NodeIndex(index));
    if (node == nullptr) continue;
    for (const PortNum number : node->LinkPorts()) {
      const PortRef ref{NodeIndex(index), number};
      if (nodes_.Port(ref).plugged) TryTrain(ref, Duration::zero());
    }
  }
}

void LinkModel::Activate(PortRef port) {
  nodes_.Port(port).info.port_state = PortState::kActive;
  ReportChange(port.node);
  hosts_.OnPortEvent(port, mad::LocalPortEvent::Kind::kPortActive);
}

void LinkModel::RequestPhysicalState(PortRef port, PortPhysicalState state) {
  queue_.Schedule({queue_.now(), Event::Kind::kLinkRequest, port, static_cast<uint64_t>(state), 0});
}

void LinkModel::Run(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kLinkRequest:
      SetPhysicalState(event.port, static_cast<PortPhysicalState>(event.id));
      return;
    case Event::Kind::kTrain:
      if (nodes_.Port(event.port).training == event.serial) FinishTraining(event.port);
      return;
    case Event::Kind::kRebooted: FinishBoot(event.port.node); return;
    default: return;
  }
}

void LinkModel::SetLoss(PortRef port, double loss) {
  for (PortRef end : {port, nodes_.Port(port).cable}) {
    if (end.IsNone()) continue;
    if (loss > 0)
      loss_[end] = loss;
    else
      loss_.erase(end);
  }
}

void LinkModel::SetPhysicalState(PortRef port, PortPhysicalState state) {
  DropLink(port, DropReason::kSet);
  nodes_.Port(port).info.port_physical_state = state;
  TryTrain(port, options_.training_time);
}

// Both ends lose the link before either tells: a trap must not leave by the link that is going.
// What a Set asked for is no PortStateChange at the port that was asked (§14.2.5.4).
void LinkModel::DropLink(PortRef port, DropReason reason, uint8_t opcode) {
  const PortRef ends[] = {port, nodes_.Port(port).cable};
  bool was_up[2] = {false, false};
  for (size_t i = 0; i < 2; ++i) {
    if (ends[i].IsNone()) continue;
    wire::PortInfo& info = nodes_.Port(ends[i]).info;
    was_up[i] = info.port_state != PortState::kDown;
    const bool held = info.port_physical_state == PortPhysicalState::kDisabled ||
                      info.port_physical_state == PortPhysicalState::kSleep;
    info.port_state = PortState::kDown;
    if (!held) info.port_physical_state = StateAfterLoss(info);
    ++nodes_.Port(ends[i]).training;  // A training under way is void.
    if (!was_up[i]) continue;
    CountDrop(ends[i], /*own=*/i == 0, reason, opcode);
    ReportChange(ends[i].node);
  }
  for (size_t i = 0; i < 2; ++i) {
    if (!was_up[i]) continue;
    if (i != 0 || reason != DropReason::kSet) ReportStateChange(ends[i]);
    hosts_.OnPortEvent(ends[i], mad::LocalPortEvent::Kind::kPortDown);
  }
}

// What an end with power counts of it; `own`: it is the end at which it began.
void LinkModel::CountDrop(PortRef end, bool own, DropReason reason, uint8_t opcode) {
  if (!nodes_.power(end.node).on) return;
  constexpr uint8_t kManagementCommand = 22, kCableUnplugged = 23, kPeerDisabled = 33,
                    kPeerReset = 37;
  LinkDownCause cause;
  switch (reason) {
    case DropReason::kSet:
      cause.intentional = true;
      cause.local_reason = own ? kManagementCommand : kPeerDisabled;
      cause.remote_reason = own ? 0 : kManagementCommand;
      break;
    case DropReason::kCablePulled: cause.local_reason = kCableUnplugged; break;
    case DropReason::kPowerOff:
      cause.blame = LinkDownCause::Blame::kRemote;
      cause.local_reason = kPeerReset;
      break;
    case DropReason::kShutdown:
      cause.blame = LinkDownCause::Blame::kRemote;
      cause.intentional = true;
      cause.local_reason = kPeerReset;
      cause.remote_reason = kManagementCommand;
      break;
    // Neither end knows of a fault of its own: what a bad cable looks like.
    case DropReason::kSignalLost:
      cause.blame = LinkDownCause::Blame::kRemote;
      cause.local_reason = opcode;
      break;
  }
  const SimDevice& device = nodes_.Device(end.node);
  PerformanceAgent& agent = nodes_.Performance(end.node);
  agent.OnLinkDown(queue_.now(), device, end.port, cause);
  // What a switch still had for the port that is gone.
  if (reason != DropReason::kSet && device.IsSwitch()) {
    agent.Add(end.port, Counter::kXmitInactiveDiscards, 1);
  }
}

void LinkModel::ReportStateChange(PortRef port) {
  SimDevice& node = nodes_.Device(port.node);
  if (!node.IsSwitch()) return;
  node.NotePortStateChange();
  traps_.RaiseLinkStateChange(port.node);
}

void LinkModel::TryTrain(PortRef port, Duration training_time) {
  SimPort& own = nodes_.Port(port);
  if (!own.plugged || own.info.port_state != PortState::kDown) return;
  SimPort& peer = nodes_.Port(own.cable);
  if (!nodes_.power(port.node).on || !nodes_.power(own.cable.node).on) return;
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
  queue_.Schedule({queue_.now() + training_time, Event::Kind::kTrain, port, 0, own.training});
}

void LinkModel::FinishTraining(PortRef port) {
  const PortRef peer = nodes_.Port(port).cable;
  NegotiateRate(nodes_.Port(port).info, nodes_.Port(peer).info);
  for (PortRef end : {port, peer}) {
    nodes_.Port(end).info.port_physical_state = PortPhysicalState::kLinkUp;
    nodes_.Port(end).info.port_state = PortState::kInit;
    nodes_.Performance(end.node).OnLinkUp(queue_.now(), end.port);
  }
  ReportStateChange(port);
  ReportStateChange(peer);
}

absl::Status LinkModel::Unlink(PortRef port) {
  SimPort& own = nodes_.Port(port);
  if (!own.plugged) {
    return FailedPrecondition("'{}' port {} has no plugged cable",
                              nodes_.Device(port.node).description(), port.port);
  }
  own.plugged = nodes_.Port(own.cable).plugged = false;
  DropLink(port, DropReason::kCablePulled);
  return absl::OkStatus();
}

absl::Status LinkModel::LoseSignal(PortRef port, uint8_t reason) {
  const SimPort& own = nodes_.Port(port);
  if (!own.plugged || own.info.port_state == PortState::kDown) {
    return FailedPrecondition("the link of '{}' port {} is not up",
                              nodes_.Device(port.node).description(), port.port);
  }
  DropLink(port, DropReason::kSignalLost, reason);
  TryTrain(port, options_.training_time);
  return absl::OkStatus();
}

absl::StatusOr<PortRef> LinkModel::PulledPeer(PortRef port) const {
  const SimPort& own = nodes_.Port(port);
  if (own.plugged || own.cable.IsNone()) {
    return FailedPrecondition("'{}' port {} {}", nodes_.Device(port.node).description(), port.port,
                              own.plugged ? "has a plugged cable" : "never had a cable");
  }
  return own.cable;
}

absl::Status LinkModel::CheckFree(PortRef port) const {
  if (!nodes_.Port(port).plugged) return absl::OkStatus();
  return FailedPrecondition("'{}' port {} has a plugged cable",
                            nodes_.Device(port.node).description(), port.port);
}

void LinkModel::Connect(PortRef a, PortRef b) {
  // A cable that was pulled from here and hangs elsewhere is forgotten at its other socket.
  for (PortRef end : {a, b}) {
    const PortRef former = nodes_.Port(end).cable;
    if (!former.IsNone() && former != a && former != b) nodes_.Port(former).cable = PortRef{};
  }
  nodes_.Port(a).cable = b;
  nodes_.Port(b).cable = a;
  nodes_.Port(a).plugged = nodes_.Port(b).plugged = true;
  TryTrain(a, options_.training_time);
}

absl::Status LinkModel::PowerOff(NodeIndex index, Ending ending) {
  SimNodes::Power& power = nodes_.power(index);
  SimDevice& node = nodes_.Device(index);
  if (!power.on) {
    return FailedPrecondition("'{}' is {} already", node.description(),
                              power.booting ? "rebooting" : "off");
  }
  power.on = false;
  ++power.cycles;
  for (uint8_t port = 1; port <= node.last_port().value(); ++port) {
    DropLink({index, PortNum(port)},
             ending == Ending::kShutdown ? DropReason::kShutdown : DropReason::kPowerOff);
  }
  traps_.Forget(index);
  node.Reset();
  nodes_.Performance(index).Restart(queue_.now());
  ReportChange(index);
  hosts_.RestoreIsSm(index);
  return absl::OkStatus();
}

absl::Status LinkModel::PowerOn(NodeIndex index) {
  const SimNodes::Power& power = nodes_.power(index);
  if (power.on || power.booting) {
    return FailedPrecondition("'{}' is {} already", nodes_.Device(index).description(),
                              power.booting ? "rebooting" : "on");
  }
  FinishBoot(index);
  return absl::OkStatus();
}

void LinkModel::BootLater(NodeIndex index) {
  nodes_.power(index).booting = true;
  queue_.Schedule(
      {queue_.now() + options_.reboot_time, Event::Kind::kRebooted, {index, PortNum(0)}, 0, 0});
}

void LinkModel::FinishBoot(NodeIndex index) {
  SimNodes::Power& power = nodes_.power(index);
  power.on = true;
  power.booting = false;
  nodes_.Performance(index).Restart(queue_.now());
  for (uint8_t port = 1; port <= nodes_.Device(index).last_port().value(); ++port) {
    TryTrain({index, PortNum(port)}, options_.training_time);
  }
}

}  // namespace fabricd::sim
