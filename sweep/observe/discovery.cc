// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/discovery.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/port_numbers.h"
#include "mad/wire/sm_info.h"
#include "sweep/device/completion.h"
#include "sweep/device/port_config.h"

namespace fabricd::sweep {
namespace {

constexpr uint8_t kFrontier = 1;  // What the next hop needs.
constexpr uint8_t kDetail = 2;

// Of the SMInfo request to a master that has just not responded to polls (MasterWatcher).
constexpr mad::Pace kAskAgain{std::chrono::milliseconds(50), 7};
constexpr mad::Pace kAskAtLength{std::chrono::milliseconds(150), 7};

}  // namespace

void Discovery::Submit(mad::SmpRequest request, Ask ask, PortRef subject, uint8_t priority,
                       uint32_t number) {
  request.context = mad::RequestContext::Of(activity_, ask, subject);
  request.context.number = number;
  request.priority = priority;
  ++outstanding_;
  ground_.engine.Submit(std::move(request));
}

KeySearch::Cable Discovery::CableOf(PortRef from) const {
  const fabric::Node* const node = from.IsNone() ? nullptr : ground_.builder.node(from.node);
  if (node == nullptr) return {};
  return {node->port(node->IsSwitch() ? PortNum(0) : from.port).guid, from.port};
}

std::vector<MKey> Discovery::KeysBehind(PortRef from) {
  if (from.IsNone()) return ground_.devices.OwnKeys();
  const fabric::Node* const node = ground_.builder.node(from.node);
  const PortRef there = node == nullptr ? PortRef() : node->port(from.port).peer;
  return ground_.devices.search().Next(CableOf(from), ground_.devices.KeysOf(there));
}

void Discovery::SendProbe(Probe probe, Ask ask) {
  mad::SmpRequest request;
  request.method = wire::Method::kGet;
  request.attribute = wire::AttributeId::kNodeInfo;
  request.path = probe.path;
  request.other_keys = KeysBehind(probe.from);
  request.m_key = request.other_keys.front();
  request.other_keys.erase(request.other_keys.begin());
  probe.device = kProbeDevices + static_cast<uint32_t>(probes_.size()) % kProbeDeviceCount;
  request.device = probe.device;
  if (ask == Ask::kProbe) hops_.OnSent(probe.hops);
  const auto number = static_cast<uint32_t>(probes_.size());
  probes_.push_back(std::move(probe));
  Submit(std::move(request), ask, {}, kFrontier, number);
}

void Discovery::Start(Instant) {
  started_ = true;
  SendProbe(Probe{}, Ask::kProbe);
}

void Discovery::StartBeyond(const std::vector<PortRef>& ports, PortRef local, Instant now) {
  started_ = beyond_ = true;
  local_ = local;
  for (PortRef port : ports) {
    if (ground_.builder.node(port.node) == nullptr || !ground_.devices.Has(port.node) ||
        !MayProbe(port))
      continue;
    hops_.Add(static_cast<uint16_t>(ground_.devices.PathTo(port.node).hops()), port);
  }
  ReleaseHops(now);
}

std::vector<NodeIndex> Discovery::found() const {
  std::vector<NodeIndex> nodes;
  for (const auto& [node, hops] : seen_)
    if (ground_.builder.node(node) != nullptr) nodes.push_back(node);
  return nodes;
}

void Discovery::OnCompletion(const mad::Completion& completion, Instant now) {
  FABRICD_CHECK(outstanding_ > 0);
  --outstanding_;
  const auto ask = completion.context.kind_as<Ask>();
  const PortRef subject = completion.context.subject();
  const bool told = completion.outcome == mad::Completion::Outcome::kResponse &&
                    (completion.status & wire::kStatusBusy) == 0;
  const bool is_probe = ask == Ask::kProbe || ask == Ask::kRecheck;
  if (!is_probe && ask != Ask::kPortStates && ask != Ask::kLink && !told &&
      (unread_.size() < kMaxUnread || completion.attribute == wire::AttributeId::kSmInfo))
    unread_.push_back({subject, completion.attribute, completion.modifier});
  if (!is_probe &&
      ground_.builder.node(subject.node) == nullptr) {  // A survey has removed it since.
    ReleaseHops(now);
    return;
  }
  switch (ask) {
    case Ask::kProbe: {
      const Probe probe = probes_[completion.context.number];
      OnProbe(probe, completion, now);
      break;
    }
    case Ask::kRecheck: {
      const Probe probe = probes_[completion.context.number];
      OnRecheck(probe, completion);
      break;
    }
    case Ask::kDescription:
      if (IsOk(completion)) ground_.builder.SetDescription(subject.node, DescriptionIn(completion));
      break;
    case Ask::kSwitchInfo: OnSwitchInfo(subject.node, completion, now); break;
    case Ask::kPortInfo: OnPortInfo(subject, completion, now); break;
    case Ask::kManagementPort: OnManagementPort(subject, completion); break;
    case Ask::kPKeyTable:
      if (IsOk(completion)) {
        ground_.devices.applied().PKeys(subject).Confirm(
            completion.modifier & 0xFFFF, wire::PKeyTable::Decode(completion.response.data));
      }
      break;
    case Ask::kSmInfo: OnSmInfo(subject, completion); break;
    case Ask::kPortStates: OnPortStates(subject.node, completion); break;
    case Ask::kLink: OnLink(subject, completion); break;
  }
  ReleaseHops(now);
}

bool Discovery::CheckNodeInfo(const wire::NodeInfo& info, PortRef from) {
  std::string fault;
  const auto type = static_cast<uint8_t>(info.node_type);
  if (!info.node_guid)
    fault = "NodeGUID is 0";
  else if (type < 1 || type > 3)
    fault = fmt::format("NodeType {} does not exist", type);
  else if (info.num_ports == 0 || info.num_ports == 255)
    fault = fmt::format("NumPorts is {}", info.num_ports);
  else if (info.local_port.value() > info.num_ports)
    fault = fmt::format("LocalPortNum {} is above NumPorts {}", info.local_port, info.num_ports);
  else if (type != 2 && !info.port_guid)
    fault = "PortGUID is 0";
  if (fault.empty()) return true;
  ground_.problems.Add(ProblemKind::kIllegalNodeInfo, SubjectOf(from),
                       fmt::format("the node behind answers nonsense: {}", fault));
  return false;
}

void Discovery::OnProbe(const Probe& probe, const mad::Completion& completion, Instant now) {
  hops_.OnAnswered(probe.hops, now + ground_.options.sweep.hop_patience);
  if (!IsOk(completion)) {
    if (probe.from.IsNone()) {
      local_failed_ = true;
      return;
    }
    OnNoAnswer(probe, completion, now);
    return;
  }
  const auto info = wire::NodeInfo::Decode(completion.response.data);
  if (!CheckNodeInfo(info, probe.from)) return;
  if (!probe.from.IsNone() && ground_.builder.node(probe.from.node) == nullptr) return;
  const NodeIndex known = ground_.builder.FindIndex(info.node_guid);
  const bool seen =
      !known.IsNone() && seen_.contains(known) && ground_.builder.node(known) != nullptr;
  if (seen && !probe.from.IsNone()) {
    const fabric::Node& node = *ground_.builder.node(known);
    const PortRef there{known, info.local_port};
    auto link = linked_.find(there);
    const bool taken = link != linked_.end() && link->second != probe.from;
    const bool other_shape =
        node.info.node_type != info.node_type || node.info.num_ports != info.num_ports;
    if (taken || other_shape) {
      // The node was moved, or two devices have one GUID: probe the first one again by its own
      // route.
      Probe again;
      again.from = taken ? link->second : PortRef{};
      again.path = taken && ground_.devices.Has(again.from.node)
                       ? ground_.devices.PathTo(again.from.node).Then(again.from.port)
                       : ground_.devices.PathTo(known);
      again.rival_from = probe.from;
      again.rival = info;
      SendProbe(std::move(again), Ask::kRecheck);
      return;
    }
  }
  Arrive(probe, info);
  const NodeIndex node = ground_.builder.FindIndex(info.node_guid);
  if (completion.found_key)
    ground_.devices.NoteAnswer(node.value(), probe.path, completion.found_key);
  if (completion.attempts > 1 && !completion.found_key) late_.insert(node);
}

void Discovery::OnRecheck(const Probe& probe, const mad::Completion& completion) {
  const bool still_there =
      IsOk(completion) &&
      wire::NodeInfo::Decode(completion.response.data).node_guid == probe.rival.node_guid;
  if (still_there) {
    const Guid guid = probe.rival.node_guid;
    const fabric::Node* first = ground_.builder.node(ground_.builder.FindIndex(guid));
    ground_.problems.Add(
        ProblemKind::kDuplicateGuid, SubjectOf(probe.rival_from),
        fmt::format("the node behind has GUID {}, which {} has too; it is left out", guid,
                    first != nullptr ? SubjectText(*first) : "another node"));
    return;
  }
  if (ground_.builder.node(probe.rival_from.node) == nullptr) return;
  Probe moved;
  moved.from = probe.rival_from;
  moved.path = ground_.devices.PathTo(probe.rival_from.node).Then(probe.rival_from.port);
  moved.hops = static_cast<uint16_t>(moved.path.hops());
  if (!probe.from.IsNone()) {
    linked_.erase(linked_[probe.from]);
    linked_.erase(probe.from);
  }
  Arrive(moved, probe.rival);
}

void Discovery::Arrive(const Probe& probe, const wire::NodeInfo& info) {
  const NodeIndex known = ground_.builder.FindIndex(info.node_guid);
  const bool alive =
      !known.IsNone() && ground_.builder.node(known) != nullptr && ground_.devices.Has(known);
  if (!alive) Forget(known);
  const NodeIndex node = ground_.builder.PutNode(info);
  MarkResponsive(ground_, node);
  if (beyond_ && alive && ground_.builder.node(node)->IsSwitch() && !seen_.contains(node)) {
    ArriveAgain(probe, {node, info.local_port});
    return;
  }
  const bool is_new = seen_.emplace(node, probe.hops).second;
  if (is_new && !alive) new_.insert(node);
  if (is_new)
    ground_.devices.SetPath(node, probe.path);
  else if (info.node_type == wire::NodeType::kSwitch)
    ground_.devices.SetAlternative(node, probe.path);
  if (info.node_type != wire::NodeType::kSwitch)
    ground_.devices.SetPortPath({node, info.local_port}, probe.path);
  const PortRef there{node, info.local_port};
  ground_.devices.SetPossibleMKeys(there, info.port_guid);
  ground_.devices.search().NoteFound(CableOf(probe.from), info.port_guid);
  if (probe.from.IsNone()) {
    // The SM's end port: of a CA the port that the transport opened, of a switch port 0.
    local_ = {node, info.node_type == wire::NodeType::kSwitch ? PortNum(0) : local_port_};
  } else if (there != probe.from) {  // A loopback plug returns its own port.
    ground_.builder.Link(probe.from, there);
    linked_[probe.from] = there;
    linked_[there] = probe.from;
  }
  const bool is_switch = info.node_type == wire::NodeType::kSwitch;
  ground_.builder.SetPortGuid({node, is_switch ? PortNum(0) : info.local_port}, info.port_guid);
  if (is_new) AskNode(node);
  if (!is_switch) {
    const fabric::Node* from =
        probe.from.IsNone() ? nullptr : ground_.builder.node(probe.from.node);
    const bool extended =
        from != nullptr && from->port(probe.from.port).info.link_speed_ext_active != 0;
    AskEndPort(probe.from.IsNone() ? local_ : there, extended);
  }
}

// Call for a node that a survey has removed since it was seen, so that it is read again.
void Discovery::Forget(NodeIndex node) {
  if (seen_.erase(node) == 0) return;
  absl::erase_if(asked_, [&](PortRef port) { return port.node == node; });
}

// A known switch that is reached over a link that came up. After a restart its tables are lost,
// which its SwitchInfo shows. If a later Set hides that, its LID shows it.
void Discovery::ArriveAgain(const Probe& probe, PortRef there) {
  seen_.emplace(there.node, probe.hops);
  ground_.builder.Link(probe.from, there);
  linked_[probe.from] = there;
  linked_[there] = probe.from;
  Submit(ground_.devices.Get(there.node, wire::AttributeId::kSwitchInfo, 0), Ask::kSwitchInfo,
         {there.node, PortNum(0)}, kFrontier);
  Submit(ground_.devices.Get(there.node, wire::AttributeId::kPortInfo, 0), Ask::kManagementPort,
         {there.node, PortNum(0)}, kFrontier);
  AskPortInfo(there,
              PortConfig::KnowsExtendedSpeeds(*ground_.builder.node(there.node), there.port));
}

void Discovery::AskNode(NodeIndex node) {
  const fabric::Node& found = *ground_.builder.node(node);
  Submit(ground_.devices.Get(node, wire::AttributeId::kNodeDescription, 0), Ask::kDescription,
         {node, PortNum(0)}, kDetail);
  if (!found.IsSwitch()) return;
  Submit(ground_.devices.Get(node, wire::AttributeId::kSwitchInfo, 0), Ask::kSwitchInfo,
         {node, PortNum(0)}, kFrontier);
  AskEndPort({node, PortNum(0)}, false);
}

void Discovery::AskEndPort(PortRef port, bool extended_speeds) {
  if (!asked_.insert(port).second) return;
  AskPortInfo(port, extended_speeds);
  AskPKeys(port, ground_.builder.node(port.node)->info.partition_cap);
}

void Discovery::AskPortInfo(PortRef port, bool extended_speeds) {
  const uint32_t modifier =
      port.port.value() | (extended_speeds ? wire::kSmSupportsExtendedSpeeds : 0u);
  Submit(ground_.devices.Get(port, wire::AttributeId::kPortInfo, modifier), Ask::kPortInfo, port,
         kFrontier);
}

void Discovery::AskPKeys(PortRef port, uint16_t cap) {
  const uint16_t blocks =
      static_cast<uint16_t>(std::max(1, (cap + static_cast<int>(wire::PKeyTable::kEntries) - 1) /
                                            static_cast<int>(wire::PKeyTable::kEntries)));
  AppliedState::PKeyBlocks& known = ground_.devices.applied().PKeys(port);
  known.Resize(blocks);
  known.ReadAgain();
  for (uint16_t block = 0; block < blocks; ++block)
    if (!known.IsContradicted(block))
      Submit(ground_.devices.Get(port, wire::AttributeId::kPKeyTable, block), Ask::kPKeyTable, port,
             kDetail);
}

void Discovery::OnSwitchInfo(NodeIndex node, const mad::Completion& completion, Instant now) {
  if (!IsOk(completion)) {
    if (StaysAsKnown({node, PortNum(0)}, completion, now)) return;
    ground_.problems.Add(
        ProblemKind::kUnresponsive, SubjectOf({node}),
        fmt::format("no SwitchInfo ({}): the switch is left out", WhyNot(completion)));
    failed_.insert(node);
    return;
  }
  auto info = wire::SwitchInfo::Decode(completion.response.data);
  const auto& before = ground_.builder.node(node)->switch_info;
  const bool restarted =
      beyond_ && before && before->linear_fdb_top != 0 && info.linear_fdb_top == 0;
  const bool ports_are_read = !beyond_ || restarted || new_.contains(node);
  if (!ports_are_read && std::exchange(info.port_state_change, false)) dirty_.push_back(node);
  ground_.builder.SetSwitchInfo(node, info);
  if (restarted) OnRestart(node);
}

void Discovery::OnManagementPort(PortRef port, const mad::Completion& completion) {
  if (!IsOk(completion)) return;
  const auto info = wire::PortInfo::Decode(completion.response.data);
  if (HasLostLid(ground_.builder.node(port.node)->port(port.port).info, info))
    OnRestart(port.node);
  else
    ground_.builder.SetPortInfo(port, info);
}

void Discovery::OnRestart(NodeIndex node) {
  if (!new_.insert(node).second) return;
  ground_.devices.applied().ForgetWritten(node);
  AskNode(node);
}

void Discovery::OnPortInfo(PortRef port, const mad::Completion& completion, Instant now) {
  if (!IsOk(completion)) {
    const bool is_end_port =
        !ground_.builder.node(port.node)->IsSwitch() || port.port == PortNum(0);
    if (is_end_port && StaysAsKnown(port, completion, now)) return;
    ground_.builder.SetPortUnknown(port);
    const SmOptions& sm = ground_.options.sm;
    const bool keyed = sm.m_key || !sm.m_key_by_guid.empty() || !sm.m_key_secret.empty();
    ground_.problems.Add(
        ProblemKind::kUnreadable, SubjectOf(port),
        fmt::format("no PortInfo ({}){}", WhyNot(completion),
                    keyed ? "; is the M_Key right?" : "; is it protected by an M_Key?"));
    return;
  }
  const auto info = wire::PortInfo::Decode(completion.response.data);
  const fabric::Node& node = *ground_.builder.node(port.node);
  if (auto fault = FindPortInfoFault(info, node, port.port)) {
    ground_.builder.SetPortUnknown(port);
    ground_.problems.Add(ProblemKind::kIllegalPortInfo, SubjectOf(port), *fault);
    return;
  }
  if (completion.attempts == 1) late_.erase(port.node);
  ground_.builder.SetPortInfo(port, info);
  // Its CapabilityMask was not known when it was asked, and it may have hidden its speeds.
  const uint32_t missing = PortConfig::ModifierOf(node, port.port) & ~completion.modifier;
  if (!node.IsSwitch() && (missing & wire::kSmSupportsExtendedSpeeds) != 0)
    return AskPortInfo(port, /*extended_speeds=*/true);
  AfterPortInfo(port);
}

void Discovery::AskSmInfo(PortRef port) {
  mad::SmpRequest request = ground_.devices.Get(port, wire::AttributeId::kSmInfo, 0);
  const Guid unresponsive = ground_.options.sm.unresponsive_master;
  const fabric::Node& node = *ground_.builder.node(port.node);
  if (unresponsive && node.port(port.port).guid == unresponsive)
    request.pace = ground_.options.sm.doubts_polls ? kAskAtLength : kAskAgain;
  Submit(std::move(request), Ask::kSmInfo, port, kDetail);
}

void Discovery::AfterPortInfo(PortRef port) {
  const fabric::Node& node = *ground_.builder.node(port.node);
  const wire::PortInfo& info = node.port(port.port).info;
  const bool end_port = !node.IsSwitch() || port.port == PortNum(0);
  if (end_port) {
    ground_.devices.SetMKey(port, info.m_key);
    if ((info.capability_mask & wire::kCapIsSm) != 0 && port != local_) AskSmInfo(port);
  }
  if (node.IsSwitch() && port.port == PortNum(0)) return AskPorts(port.node);
  if (!MayProbe(port) || !seen_.contains(port.node)) return;
  hops_.Add(seen_[port.node], port);
}

// REQUIRES: port 0 of the switch is known.
void Discovery::AskPorts(NodeIndex index) {
  const fabric::Node& node = *ground_.builder.node(index);
  const bool extended = PortConfig::KnowsExtendedSpeeds(node, PortNum(0));
  // Beyond a change all ports are read directly: no discovery of the whole subnet waits for them.
  if (beyond_ || !late_.contains(index) || !PortConfig::HasStateTable(node)) {
    for (const PortNum port : PortNumbers(PortNum(1), PortNum(node.info.num_ports)))
      AskPortInfo({index, port}, extended);
    return;
  }
  constexpr size_t kEntries = wire::SwitchPortStateTable::kEntries;
  for (uint32_t block = 0; block <= node.info.num_ports / kEntries; ++block)
    Submit(ground_.devices.Get(index, wire::AttributeId::kSwitchPortStateTable, block),
           Ask::kPortStates, {index, PortNum(0)}, kFrontier);
}

// Ports that are down keep their last values if they were down before.
void Discovery::OnPortStates(NodeIndex index, const mad::Completion& completion) {
  const auto table = wire::SwitchPortStateTable::Decode(completion.response.data);
  const bool extended = PortConfig::KnowsExtendedSpeeds(*ground_.builder.node(index), PortNum(0));
  const size_t first = completion.modifier * table.state.size();
  const size_t end = ground_.builder.node(index)->ports.size();
  for (size_t num = std::max<size_t>(first, 1); num < std::min(first + table.state.size(), end);
       ++num) {
    const PortRef port{index, PortNum(static_cast<uint8_t>(num))};
    const fabric::Port& before = ground_.builder.node(index)->port(port.port);
    const auto state = static_cast<wire::PortState>(table.state[num - first]);
    if (!IsOk(completion) || state != wire::PortState::kDown)
      AskPortInfo(port, extended);
    else if (before.known && before.info.port_state != wire::PortState::kDown)
      ground_.builder.SetPortUnknown(port);
  }
}

bool Discovery::MayProbe(PortRef port) const {
  const fabric::Node& node = *ground_.builder.node(port.node);
  if (!node.port(port.port).IsUp()) return false;
  // A CA does not forward SMPs, but every route starts at the SM's own node.
  if (!node.IsSwitch()) return port == local_;
  return ground_.devices.PathTo(port.node).CanExtend();
}

void Discovery::OnTimer(Instant now) { ReleaseHops(now); }

// The engine ignores probes that are complete already.
void Discovery::OnLinkLost(PortRef port) {
  for (const Probe& probe : probes_)
    if (probe.from == port) ground_.engine.GiveUp(probe.device, probe.path);
}

void Discovery::OnMoved(NodeIndex node, const wire::DirectedPath& from,
                        const wire::DirectedPath& to) {
  if (!to.CanExtend()) return;
  for (Probe& probe : probes_) {
    if (probe.from.node != node || probe.path != from.Then(probe.from.port)) continue;
    const wire::DirectedPath now = to.Then(probe.from.port);
    ground_.engine.Redirect(probe.device, probe.path, now);
    probe.path = now;
  }
}

void Discovery::ReleaseHops(Instant now) {
  while (const auto due = hops_.Take(now)) {
    for (PortRef port : due->ports) {
      if (linked_.contains(port) || !ground_.devices.Has(port.node)) continue;
      Probe probe;
      probe.from = port;
      probe.path = ground_.devices.PathTo(port.node).Then(port.port);
      probe.hops = static_cast<uint16_t>(due->hops + 1);
      SendProbe(std::move(probe), Ask::kProbe);
    }
    hops_.SetDeadline(now + ground_.options.sweep.hop_patience);
  }
}

void Discovery::OnSmInfo(PortRef port, const mad::Completion& completion) {
  if (!IsOk(completion)) return;  // It may just have ended: there is no SM to yield to.
  const auto info = wire::SmInfo::Decode(completion.response.data);
  remote_sms_.push_back({port, info.guid, info.priority, info.state, info.activity_count});
}

ProblemSubject Discovery::SubjectOf(PortRef port) const {
  const fabric::Node* node = port.IsNone() ? nullptr : ground_.builder.node(port.node);
  return node == nullptr ? ProblemSubject::Named("the SM's own node")
                         : ProblemSubject::Of(*node, port.port);
}

}  // namespace fabricd::sweep
