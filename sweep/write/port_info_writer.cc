// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/port_info_writer.h"

#include <utility>

#include <absl/hash/hash.h>
#include <fmt/format.h>

#include "common/breakage.h"
#include "sweep/device/ignored_settings.h"

namespace fabricd::sweep {
namespace {

using wire::PortPhysicalState;
using wire::PortState;

// A fingerprint of the Set and of the values that the port kept. The refusal is known as long as
// both stay the same.
uint64_t RefusalOf(const PortWish& wish, const wire::PortInfo& seen) {
  auto constant_part = [](wire::PortInfo info) {  // Without states, commands and counters.
    info.port_state = PortState::kNoChange;
    info.port_physical_state = PortPhysicalState::kNoChange;
    info.client_reregister = false;
    info.m_key_violations = info.p_key_violations = info.q_key_violations = 0;
    info.diag_code = 0;
    info.capability_mask = 0;      // IsSM changes; its consequences are in `wish`.
    info.local_port = PortNum(0);  // The port that the request arrived at.
    info.reserved = {};            // Some firmware changes bits that mean nothing.
    wire::SmpData bytes{};
    info.Encode(bytes);
    return bytes;
  };
  return absl::Hash<std::pair<wire::SmpData, wire::SmpData>>{}(
      {constant_part(wish.info), constant_part(seen)});
}

bool IsStateChange(Work work) { return work == Work::kArm || work == Work::kActivate; }

// Changes in a response that the Set did not request.
struct UnexpectedChange {
  bool link = false;     // It came up, went down, or both.
  bool restart = false;  // The device has lost everything that was written to it.
};

UnexpectedChange FindChange(const fabric::Node& node, const WorkItem& item,
                            const wire::PortInfo& now) {
  const wire::PortInfo& before = node.port(item.port).info;
  const bool is_up = now.port_state >= PortState::kInit;
  const bool bounced = before.port_state >= PortState::kArmed && now.port_state == PortState::kInit;
  // For a CA only this shows a restart: it got its LID again by the Set that it has just answered.
  const bool restart =
      (item.work == Work::kReadPort && HasLostLid(before, now)) || (!node.IsSwitch() && bounced);
  return {bounced || is_up != node.port(item.port).IsUp(), restart};
}

bool LacksSpeeds(const wire::PortInfo& before, const wire::PortInfo& now) {
  const auto lacks = [](uint8_t was, uint8_t is) { return (was & ~is) != 0; };
  return ActiveSpeed(now) < ActiveSpeed(before) ||
         lacks(before.link_speed_supported, now.link_speed_supported) ||
         lacks(before.link_speed_enabled, now.link_speed_enabled) ||
         lacks(before.link_speed_ext_supported, now.link_speed_ext_supported) ||
         lacks(before.link_speed_ext_enabled, now.link_speed_ext_enabled) ||
         lacks(before.link_speed_ext_supported2, now.link_speed_ext_supported2) ||
         lacks(before.link_speed_ext_enabled2, now.link_speed_ext_enabled2);
}

// A response to a Set does not lower the speeds of a link that has not trained again: the device
// has only left out what it shows to a Get. They would be written with the next Set.
void KeepSpeeds(const wire::PortInfo& before, wire::PortInfo& now) {
  if (!LacksSpeeds(before, now)) return;
  now.link_speed_active = before.link_speed_active;
  now.link_speed_supported = before.link_speed_supported;
  now.link_speed_enabled = before.link_speed_enabled;
  now.link_speed_ext_active = before.link_speed_ext_active;
  now.link_speed_ext_supported = before.link_speed_ext_supported;
  now.link_speed_ext_enabled = before.link_speed_ext_enabled;
  now.link_speed_ext_active2 = before.link_speed_ext_active2;
  now.link_speed_ext_supported2 = before.link_speed_ext_supported2;
  now.link_speed_ext_enabled2 = before.link_speed_ext_enabled2;
}

}  // namespace

// ---- listing

void PortInfoWriter::List(ProgramStage stage, WorkQueue& queue) {
  switch (stage) {
    case ProgramStage::kPorts: return ListConfigured(queue);
    case ProgramStage::kHeld: return ListHeld(queue);
    case ProgramStage::kArm: return ListStates(Work::kArm, PortState::kInit, queue);
    case ProgramStage::kActivate: return ListStates(Work::kActivate, PortState::kArmed, queue);
    default: return;
  }
}

void PortInfoWriter::ListConfigured(WorkQueue& queue) {
  ground_.scope.ForEach([&](const fabric::Node& node) {
    for (const auto& [ref, port] : node.AllPorts())
      if (port.known) queue.Add({node.index, 0, ref.port, Work::kConfigurePort});
  });
  // The switch port that an end port is attached to enforces its partitions. That switch may not be
  // in the scope.
  ground_.scope.ForEachKeyed([&](const fabric::Node& node) {
    for (const auto& [ref, port] : node.LinkPorts())
      if (!node.IsSwitch() && !port.peer.IsNone() &&
          ground_.desired.snapshot->node(port.peer.node)->IsSwitch())
        queue.Add({port.peer.node, 0, port.peer.port, Work::kConfigurePort});
  });
  queue.StripeUnique();
  // The SM's own LID first: responses to LID-routed MADs need it.
  queue.MoveToFront(
      [&](const WorkItem& item) { return item.ref() == ground_.desired.ports.local; });
}

// Ports that other programs have disabled are not enabled here. Without a plan, tables may still
// use the ports to disable.
void PortInfoWriter::ListHeld(WorkQueue& queue) {
  const auto list = [&](const std::vector<PortRef>& ports, Work work) {
    for (PortRef ref : ports) {
      const fabric::Node* node = ground_.builder.node(ref.node);
      if (node == nullptr || !node->IsSwitch() || ref.port.value() >= node->ports.size()) continue;
      const fabric::Port& port = node->port(ref.port);
      const bool is_down = port.info.port_physical_state == PortPhysicalState::kDisabled;
      if (port.known && is_down == (work == Work::kEnable))
        queue.Add({ref.node, 0, ref.port, work});
    }
  };
  if (ground_.desired.plan != nullptr) list(ground_.desired.ports.disabled, Work::kDisable);
  list(ground_.desired.ports.reenabled, Work::kEnable);
}

void PortInfoWriter::ListStates(Work work, PortState from, WorkQueue& queue) {
  if (ground_.desired.plan == nullptr) return;
  ground_.scope.ForEach([&](const fabric::Node& old) {
    const fabric::Node& node = *ground_.builder.node(old.index);
    for (const auto& [ref, port] : node.LinkPorts()) {
      if (IsBroken(Breakage::kPortNotArmed) && ref.port == PortNum(1)) continue;
      // A link that was found since has not been configured.
      const bool is_new =
          ref.port.value() >= old.ports.size() || old.port(ref.port).peer != port.peer;
      if (!port.known || is_new || port.info.port_state != from || !IsLinkReady(node, ref.port))
        continue;
      queue.Add({node.index, 0, ref.port, work});
      // Both ends of a link go down together, so the known state of the peer is out of date.
      const fabric::Port& peer = ground_.builder.node(port.peer.node)->port(port.peer.port);
      if (work == Work::kArm && peer.info.port_state >= PortState::kArmed)
        queue.Add({port.peer.node, 0, port.peer.port, Work::kReadPort});
    }
  });
  queue.Stripe();
}

bool PortInfoWriter::IsLinkReady(const fabric::Node& node, PortNum number) const {
  const fabric::Port& port = node.port(number);
  const fabric::Node* peer_node =
      port.peer.IsNone() ? nullptr : ground_.builder.node(port.peer.node);
  if (peer_node == nullptr) return false;
  const fabric::Port& peer = peer_node->port(port.peer.port);
  const PortRef self{node.index, number};
  // A port without a LID stays INIT: no packet could be sent to it or from it.
  const auto has_lid = [&](const fabric::Node& end, PortRef ref) {
    return end.IsSwitch() || ground_.desired.lids->Of(ref).base;
  };
  return port.IsUp() && peer.IsUp() && !mft_.IsUnsafe(node.index) &&
         !mft_.IsUnsafe(peer_node->index) && !ground_.record.IsUnconfigured(self) &&
         !ground_.record.IsUnconfigured(port.peer) && has_lid(node, self) &&
         has_lid(*peer_node, port.peer);
}

// ---- requests

std::optional<mad::SmpRequest> PortInfoWriter::Next(const WorkItem& item) {
  switch (item.work) {
    case Work::kConfigurePort: return Configure(item);
    case Work::kArm: return ChangeState(item, PortState::kInit, PortState::kArmed);
    case Work::kActivate: return ChangeState(item, PortState::kArmed, PortState::kActive);
    case Work::kDisable: return ChangePhysicalState(item, PortPhysicalState::kDisabled);
    case Work::kEnable: return ChangePhysicalState(item, PortPhysicalState::kPolling);
    case Work::kReadPort: return ReadOfPort(ground_.devices, NodeOf(item), item.port);
    default: return std::nullopt;
  }
}

std::optional<mad::SmpRequest> PortInfoWriter::Configure(const WorkItem& item) {
  const fabric::Node& node = NodeOf(item);
  const fabric::Port& port = node.port(item.port);
  // A survey has found another peer. The next run configures and arms the port.
  const fabric::Port* seen = ground_.desired.snapshot->port(item.ref());
  if (seen == nullptr || seen->peer != port.peer) {
    ground_.record.NoteUnconfigured(item.ref());
    return std::nullopt;
  }
  NoteDifferentVls(item.ref(), *seen);
  const bool came_up = port.info.port_state == PortState::kInit;
  const auto wish = ground_.config.Configure(
      *ground_.desired.snapshot, *ground_.desired.lids, node, item.port,
      came_up || ground_.desired.ports.first_run.MustRegister(port.info.master_sm_lid),
      keys_.EnforcementOf(item.ref(), port.info));
  if (!wish) return std::nullopt;
  // After a link came up the Set is repeated in any case, because the device may have restarted.
  if (!wish->info.client_reregister && !came_up &&
      ground_.devices.applied().IsKnownRefusal(item.ref(), RefusalOf(*wish, port.info))) {
    NoteIgnored(item.ref(), wish->info, port.info);
    return std::nullopt;
  }
  if (node.IsSwitch() && item.port != PortNum(0) && !keys_.IsKept(item.ref()))
    ground_.devices.applied().NoteRequestedEnforcement(
        item.ref(),
        {wish->info.partition_enforcement_inbound, wish->info.partition_enforcement_outbound});
  if (!node.IsSwitch() || item.port == PortNum(0))
    ground_.devices.ExpectMKey(item.ref(), ground_.devices.ConfiguredMKey(port.guid));
  return ground_.devices.Set(item.ref(), wish->modifier, wish->info);
}

// Such a link stays up as it is, because jobs run over it. It gets equal numbers when it trains
// again.
void PortInfoWriter::NoteDifferentVls(PortRef ref, const fabric::Port& port) {
  const fabric::Port* peer =
      port.peer.IsNone() ? nullptr : ground_.desired.snapshot->port(port.peer);
  const auto is_active = [](const fabric::Port& end) {
    return end.known && end.info.port_state == PortState::kActive;
  };
  if (peer == nullptr || ref > port.peer || !is_active(port) || !is_active(*peer) ||
      port.info.operational_vls == peer->info.operational_vls)
    return;
  ground_.record.AddProblem(
      ref, ProblemKind::kOperationalVlsDiffer,
      fmt::format("has {} VLs and its peer {}; the link is left as it is until it trains again",
                  wire::DataVls(port.info.operational_vls),
                  wire::DataVls(peer->info.operational_vls)));
}

// A value that was read since may show that the Set is done, or that the link has changed.
std::optional<mad::SmpRequest> PortInfoWriter::ChangeState(const WorkItem& item, PortState from,
                                                           PortState to) const {
  const fabric::Node& node = NodeOf(item);
  if (node.port(item.port).info.port_state != from) return std::nullopt;
  return SetOf(item, PortConfig::ChangeState(node, item.port, to));
}

std::optional<mad::SmpRequest> PortInfoWriter::ChangePhysicalState(const WorkItem& item,
                                                                   PortPhysicalState state) const {
  const fabric::Node& node = NodeOf(item);
  const bool is_down =
      node.port(item.port).info.port_physical_state == PortPhysicalState::kDisabled;
  if (is_down == (state == PortPhysicalState::kDisabled)) return std::nullopt;
  return SetOf(item, PortConfig::ChangePhysicalState(node, item.port, state));
}

// A switch that shows another enforcement than the last Set may only be slow to report it. Sending
// the old values back would undo the Set, and the port would let packets of other partitions pass.
mad::SmpRequest PortInfoWriter::SetOf(const WorkItem& item, PortWish wish) const {
  if (const auto told = ground_.devices.applied().RequestedEnforcement(item.ref())) {
    wish.info.partition_enforcement_inbound = told->inbound;
    wish.info.partition_enforcement_outbound = told->outbound;
  }
  return ground_.devices.Set(item.ref(), wish.modifier, wish.info);
}

// ---- responses

bool PortInfoWriter::TakeFailure(const WorkItem& item, const mad::Completion& completion) {
  const bool gone = IsGone(item.node);
  // Data from an ACTIVE peer takes an ARMED port to ACTIVE (IBA vol 1 §7.2.7), and a Set of that
  // state then fails with "invalid value". Read the current state.
  if (!gone && IsStateChange(item.work) &&
      completion.status == wire::kStatusInvalidAttributeValue) {
    restarts_.ReadAgain(item.ref());
    return true;
  }
  if (!HasFailed(item, completion)) return false;
  if (gone) return true;
  const bool configured = item.work == Work::kConfigurePort;
  if (configured || IsStateChange(item.work)) ground_.record.NoteUnconfigured(item.ref());
  if (configured) ground_.devices.applied().ForgetEnforcement(item.ref());
  return true;
}

void PortInfoWriter::OnAnswer(const WorkItem& item, const mad::Completion& completion) {
  const PortRef port = item.ref();
  if (item.work == Work::kReadPort) restarts_.OnRead(port);
  if (TakeFailure(item, completion)) return;
  auto info = wire::PortInfo::Decode(completion.response.data);
  if (item.work == Work::kConfigurePort) RevealMKey(NodeOf(item), port, info);
  const UnexpectedChange change = FindChange(NodeOf(item), item, info);
  const wire::PortInfo& before = NodeOf(item).port(item.port).info;
  if (completion.method == wire::Method::kSet && !change.link &&
      info.port_state >= PortState::kInit)
    KeepSpeeds(before, info);
  // Some devices answer with the state from before the Set.
  if (IsStateChange(item.work) && !change.link && info.port_state == before.port_state)
    restarts_.ReadAgain(port);
  ground_.builder.SetPortInfo(port, info);
  if (change.restart) restarts_.OnRestart(item.node);
  if (change.link) ground_.record.rereads().NoteChanged(item.node);
  if (item.work == Work::kConfigurePort) CheckConfigured(item, info);
}

// A port that has got another M_Key hides it from the response, because the request carried the
// former one (IBA vol 1 §14.2.4).
void PortInfoWriter::RevealMKey(const fabric::Node& node, PortRef port,
                                wire::PortInfo& info) const {
  const bool is_end_port = !node.IsSwitch() || port.port == PortNum(0);
  if (is_end_port && !info.m_key && info.m_key_protect_bits != 0)
    info.m_key = ground_.devices.ConfiguredMKey(node.port(port.port).guid);
}

// The device will not adopt the values that it does not show, except its LID. The refusal is
// recorded, so that the Set is not repeated with every sweep.
void PortInfoWriter::CheckConfigured(const WorkItem& item, const wire::PortInfo& info) {
  const PortRef port = item.ref();
  const fabric::Node& node = NodeOf(item);
  const bool is_management = node.IsSwitch() && item.port == PortNum(0);
  const bool is_end_port = !node.IsSwitch() || is_management;
  if (is_management) restarts_.NoteLidSet(item.node);
  if (is_end_port) ground_.devices.SetMKey(port, info.m_key);
  const bool lost_lid = is_end_port && info.lid != ground_.desired.lids->Of(port).base;
  const auto wish = ground_.config.Configure(*ground_.desired.snapshot, *ground_.desired.lids, node,
                                             item.port, false, keys_.EnforcementOf(port, info));
  // If the device was only slow, a later difference must not count as a known refusal.
  if (!wish) ground_.devices.applied().ForgetRefusal(port);
  if (wish && !lost_lid) {
    ground_.devices.applied().NoteRefusal(port, RefusalOf(*wish, info));
    NoteIgnored(port, wish->info, info);
  }
  if (!lost_lid) return;
  ground_.record.NoteUnconfigured(port);
  ground_.record.NoteRefusal(port, fmt::format("keeps LID {}", info.lid));
}

void PortInfoWriter::NoteIgnored(PortRef port, const wire::PortInfo& wanted,
                                 const wire::PortInfo& kept) {
  const fabric::Node& node = *ground_.builder.node(port.node);
  for (Problem& problem : IgnoredSettings(wanted, kept, node, port.port))
    ground_.record.AddProblem(std::move(problem));
}

bool PortInfoWriter::OnLateAnswer(const LateAnswer& late) {
  const WorkItem& item = late.item;
  if (item.work == Work::kConfigurePort && !IsOk(late.completion))
    late.devices.applied().ForgetEnforcement(item.ref());
  if (!late.IsConfirmed()) return false;
  const auto info = wire::PortInfo::Decode(late.completion.response.data);
  const UnexpectedChange change = FindChange(*late.builder.node(item.node), item, info);
  if (change.restart) late.devices.applied().ForgetWritten(item.node);
  late.builder.SetPortInfo(item.ref(), info);
  return change.link || change.restart;
}

}  // namespace fabricd::sweep
