// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/survey.h"

#include <algorithm>

#include "common/check.h"
#include "common/port_numbers.h"
#include "sweep/device/completion.h"
#include "sweep/device/port_config.h"
#include "sweep/interface/activity.h"
#include "sweep/observe/unresponsive.h"
#include "sweep/write/switch_info_writer.h"

namespace fabricd::sweep {
namespace {

constexpr uint8_t kFirst = 0;  // Highest priority: traffic may be waiting.

}  // namespace

Survey::Survey(const Ground& ground, Explorer& explorer, PortRef local, uint16_t place)
    : ground_(ground),
      explorer_(explorer),
      local_(local),
      place_(place),
      tables_(ground.devices),
      found_(ground) {}

// ---- requests

void Survey::Submit(mad::SmpRequest request, Ask ask, PortRef subject) {
  request.context = mad::RequestContext::Of(Activity::kSurvey, ask, subject);
  request.context.run = place_;
  // Not ahead of a pending Set of the same attribute, or the value before that Set would be read.
  const bool busy = ground_.devices.applied().IsBusy(subject, request.attribute);
  request.priority = busy ? mad::SmpRequest().priority : kFirst;
  ++outstanding_;
  confirms_out_ += ask == Ask::kConfirm;
  if (ask != Ask::kConfirm) ++reads_of_[subject.node];
  ground_.engine.Submit(std::move(request));
}

void Survey::Start(SurveyTask task, Instant now) {
  task_ = std::move(task);
  for (NodeIndex node : task_.switches) LoseKnown(node);
  Repath();
  for (NodeIndex node : task_.switches)
    if (ground_.builder.node(node) != nullptr && ground_.devices.Has(node))
      levels_[static_cast<uint16_t>(ground_.devices.PathTo(node).hops())].push_back(node);
  for (PortRef port : task_.ports)
    if (ground_.builder.node(port.node) != nullptr && ground_.devices.Has(port.node))
      Explore(port, now);
  if (!task_.links.empty()) level_deadline_ = now + ground_.options.sweep.survey_patience;
  for (NodeIndex node : task_.described)
    if (ground_.builder.node(node) != nullptr && ground_.devices.Has(node))
      Submit(ground_.devices.Get(node, wire::AttributeId::kNodeDescription, 0), Ask::kDescription,
             {node, PortNum(0)});
  for (PortRef port : task_.links)
    if (ground_.builder.node(port.node) != nullptr && ground_.devices.Has(port.node))
      ReadPort(port, Ask::kLink);
  Advance(now);
}

// Unlinks ports that are known to be down already, for example after a Set that disables a port.
void Survey::LoseKnown(NodeIndex index) {
  const fabric::Node* node = ground_.builder.node(index);
  if (node == nullptr) return;
  for (const PortNum number : PortNumbers(PortNum(1), PortNum(node->info.num_ports))) {
    const fabric::Port& port = node->port(number);
    if (port.known && !port.IsUp() && !port.peer.IsNone()) Lose({index, number}, port.peer);
  }
}

void Survey::ReleaseLevels(Instant now) {
  while (!levels_.empty()) {
    if (reads_out() > 0 && now < level_deadline_) return;
    const std::vector<NodeIndex> nodes = std::move(levels_.begin()->second);
    levels_.erase(levels_.begin());
    for (NodeIndex node : nodes)
      if (ground_.builder.node(node) != nullptr && ground_.devices.Has(node)) ReadSwitch(node);
    level_deadline_ = now + ground_.options.sweep.survey_patience;
  }
}

void Survey::ReadSwitch(NodeIndex node) {
  if (!ground_.builder.node(node)->switch_info) return;  // The explorer is reading all of it.
  Submit(ground_.devices.Get(node, wire::AttributeId::kSwitchInfo, 0), Ask::kSwitchInfo,
         {node, PortNum(0)});
}

// PortStateChange is cleared before the ports are read. A later change sets it again.
void Survey::OnSwitchInfo(NodeIndex node, const mad::Completion& completion, Instant now) {
  if (ground_.builder.node(node) == nullptr) return;
  if (!IsOk(completion)) {
    CrossExamine(node);
    silent_.push_back(node);
    return;
  }
  if (MarkResponsive(ground_, node)) Touch(node);
  auto info = wire::SwitchInfo::Decode(completion.response.data);
  const bool had_tables = ground_.builder.node(node)->switch_info->linear_fdb_top != 0;
  if (had_tables && info.linear_fdb_top == 0) {  // It has restarted.
    ExploreAgain(node, now);
    return;
  }
  const bool dirty = info.port_state_change;
  if (dirty) tables_.OnDirty(node);
  wire::SwitchInfo seen = info;
  seen.port_state_change = false;
  if (IsSetOtherwise(seen, *ground_.builder.node(node)->switch_info)) Touch(node);
  ground_.builder.SetSwitchInfo(node, seen);
  // Nothing to clear, or another Set is about to clear it.
  if (!dirty || !SwitchInfoWriter::MayClearStateChange(ground_.devices, node))
    return ReadPorts(node);
  Submit(SwitchInfoWriter::ClearStateChange(ground_.devices, node, info), Ask::kCleared,
         {node, PortNum(0)});
}

// Reads all of a known switch again, by a discovery through a neighbour that leads to it.
void Survey::ExploreAgain(NodeIndex index, Instant now) {
  for (const fabric::Port& port : ground_.builder.node(index)->ports) {
    const fabric::Node* neighbour =
        port.peer.IsNone() ? nullptr : ground_.builder.node(port.peer.node);
    if (neighbour == nullptr || (!neighbour->IsSwitch() && port.peer != local_)) continue;
    Explore(port.peer, now);
    return;
  }
  found_.changes.needs_sweep =
      fmt::format("switch {} has started anew", ground_.builder.node(index)->guid());
}

void Survey::ReadPorts(NodeIndex index) {
  const fabric::Node& node = *ground_.builder.node(index);
  if (task_.thorough) {
    Touch(index);
    for (const fabric::Port& port : node.ports)
      if (!port.peer.IsNone()) Touch(port.peer.node);
    ReadPort({index, PortNum(0)}, Ask::kPort);
  } else if (PortConfig::HasStateTable(node) && tables_.MayRead(index)) {
    constexpr size_t kEntries = wire::SwitchPortStateTable::kEntries;
    for (uint32_t block = 0; block <= node.info.num_ports / kEntries; ++block)
      Submit(ground_.devices.Get(index, wire::AttributeId::kSwitchPortStateTable, block),
             Ask::kStates, {index, PortNum(0)});
    return;
  }
  ReadAllPorts(index);
}

void Survey::ReadAllPorts(NodeIndex node) {
  const uint8_t last = ground_.builder.node(node)->info.num_ports;
  for (const PortNum port : PortNumbers(PortNum(1), PortNum(last)))
    ReadPort({node, port}, Ask::kPort);
}

void Survey::ReadPort(PortRef port, Ask ask) {
  const uint32_t modifier = PortConfig::ModifierOf(*ground_.builder.node(port.node), port.port);
  Submit(ground_.devices.Get(port, wire::AttributeId::kPortInfo, modifier), ask, port);
}

// ---- responses

void Survey::OnCompletion(const mad::Completion& completion, Instant now) {
  FABRICD_CHECK(outstanding_ > 0);
  --outstanding_;
  const auto ask = completion.context.kind_as<Ask>();
  const PortRef subject = completion.context.subject();
  confirms_out_ -= ask == Ask::kConfirm;
  if (ask != Ask::kConfirm && --reads_of_[subject.node] == 0) reads_of_.erase(subject.node);
  if (ask == Ask::kCleared)
    SwitchInfoWriter::OnStateChangeCleared(completion, ground_.builder, ground_.devices);
  if (IsOk(completion)) level_deadline_ = now + ground_.options.sweep.survey_patience;
  if (ground_.builder.node(subject.node) == nullptr) return;  // Removed since.
  switch (ask) {
    case Ask::kSwitchInfo: OnSwitchInfo(subject.node, completion, now); break;
    case Ask::kCleared: ReadPorts(subject.node); break;
    case Ask::kStates: OnStates(subject.node, completion); break;
    case Ask::kPort: OnPort(subject, completion, now); break;
    case Ask::kLink: OnLink(subject, completion, now); break;
    case Ask::kDescription: OnDescription(subject.node, completion); break;
    case Ask::kConfirm: OnConfirm(subject, completion, now); break;
  }
}

void Survey::OnStates(NodeIndex index, const mad::Completion& completion) {
  const fabric::Node& node = *ground_.builder.node(index);
  if (!IsOk(completion)) {  // Its capability mask says that it has the table.
    found_.changes.needs_sweep = fmt::format("port states of a switch ({}) cannot be read: {}",
                                             node.guid(), WhyNot(completion));
    return;
  }
  const auto table = wire::SwitchPortStateTable::Decode(completion.response.data);
  const size_t first = completion.modifier * table.state.size();
  bool shows_changes = false;
  const auto change = ground_.devices.TakeSeenChange(index);
  for (size_t i = 0; i < table.state.size() && first + i < node.ports.size(); ++i) {
    const fabric::Port& port = node.ports[first + i];
    if (first + i == 0) continue;
    // True: nothing remains to be done for the port.
    const bool is_final = !port.IsUp() || port.info.port_state == wire::PortState::kActive;
    const bool as_known = static_cast<uint8_t>(port.info.port_state) == table.state[i];
    const bool same = port.known && as_known && port.IsUp() != port.peer.IsNone() && is_final;
    const PortRef ref{index, PortNum(static_cast<uint8_t>(first + i))};
    tables_.Note(ref, table.state[i], port.known && !as_known);
    shows_changes |=
        tables_.HasShown(ref, static_cast<uint8_t>(port.info.port_state), table.state[i], change);
    if (!same) ReadPort(ref, Ask::kPort);
    shows_changes = shows_changes || !same;
  }
  if (tables_.NeedsPorts(index, shows_changes)) ReadAllPorts(index);
}

void Survey::OnPort(PortRef port, const mad::Completion& completion, Instant now) {
  if (!IsOk(completion)) {
    if (unread_.size() < kMaxUnread)
      unread_.push_back({port, completion.attribute, completion.modifier});
    return;
  }
  const fabric::Port before = ground_.builder.node(port.node)->port(port.port);
  const auto info = wire::PortInfo::Decode(completion.response.data);
  if (auto fault = FindPortInfoFault(info, *ground_.builder.node(port.node), port.port)) {
    ground_.problems.Add(ProblemKind::kIllegalPortInfo,
                         ProblemSubject::Of(*ground_.builder.node(port.node), port.port), *fault);
    return;
  }
  if (port.port == PortNum(0) && HasLostLid(before.info, info)) return ExploreAgain(port.node, now);
  tables_.OnPortInfo(port, static_cast<uint8_t>(before.info.port_state),
                     static_cast<uint8_t>(info.port_state));
  ground_.builder.SetPortInfo(port, info);
  if (port.port == PortNum(0)) return;
  const bool up = ground_.builder.node(port.node)->port(port.port).IsUp();
  // The port has trained again, or was not brought up yet. In both cases its neighbour may have
  // restarted.
  const bool fresh = info.port_state != wire::PortState::kActive;
  if (!up && (before.IsUp() || !before.peer.IsNone())) {
    Lose(port, before.peer);
  } else if (up && (!before.IsUp() || before.peer.IsNone() || fresh)) {
    // A port that leads to silence is read in each survey: that it is up is no change.
    if (!before.IsUp()) changed_.insert(port.node);
    Explore(port, now);
    // If the switch has restarted, all its ports are in this state; its port 0 shows whether it
    // has.
    if (fresh && asked_managements_.insert(port.node).second)
      ReadPort({port.node, PortNum(0)}, Ask::kPort);
  }
}

// A timeout caused this read, so a second timeout is no new information. Nor is a link that is
// still being brought up: a device that responds too late would otherwise delay its own programming
// for ever.
void Survey::OnLink(PortRef port, const mad::Completion& completion, Instant now) {
  if (!IsOk(completion)) return;
  const auto info = wire::PortInfo::Decode(completion.response.data);
  if (info.port_state < ground_.builder.node(port.node)->port(port.port).info.port_state)
    OnPort(port, completion, now);
}

void Survey::OnDescription(NodeIndex node, const mad::Completion& completion) {
  if (!IsOk(completion)) return;
  const std::string before = ground_.builder.node(node)->description;
  ground_.builder.SetDescription(node, DescriptionIn(completion));
  if (ground_.builder.node(node)->description != before) Touch(node);
}

void Survey::Lose(PortRef port, PortRef peer) {
  changed_.insert(port.node);
  explorer_.OnLinkLost(port);
  if (!peer.IsNone() && ground_.builder.node(peer.node) != nullptr) changed_.insert(peer.node);
  if (found_.Lose(port, peer)) peers_.unread.push_back(peer);
}

void Survey::Touch(NodeIndex node) {
  changed_.insert(node);
  found_.Touch(node);
}

void Survey::Explore(PortRef port, Instant now) {
  explorer_.Add(port, task_.cause, task_.since, now);
}

// ---- peers

void Survey::OnConfirm(PortRef port, const mad::Completion& completion, Instant now) {
  peers_.asked.erase(port);
  if (IsOk(completion))
    OnPort(port, completion, now);
  else
    CrossExamine(port.node);
}

// Reads the ports of its neighbours that are linked to it.
void Survey::CrossExamine(NodeIndex silent) {
  if (!examined_.insert(silent).second) return;
  const fabric::Node* node = ground_.builder.node(silent);
  if (node == nullptr) return;
  for (const fabric::Port& port : node->ports) {
    const fabric::Node* neighbour =
        port.peer.IsNone() ? nullptr : ground_.builder.node(port.peer.node);
    if (neighbour != nullptr && neighbour->IsSwitch() && ground_.devices.Has(port.peer.node))
      ReadPort(port.peer, Ask::kPort);
  }
}

void Survey::AskPeers(Instant now) {
  for (PortRef peer : std::exchange(peers_.unread, {})) {
    const fabric::Node* node = ground_.builder.node(peer.node);
    // The peer is known to be down too, or was read already.
    if (node == nullptr || !ground_.devices.Has(peer.node) || !node->port(peer.port).IsUp() ||
        !peers_.asked.insert(peer).second)
      continue;
    ReadPort(peer, Ask::kConfirm);
    peers_.deadline = now + ground_.options.sweep.survey_patience;
  }
  if (now < peers_.deadline) return;
  peers_.deadline = kNever;
  std::vector<PortRef> late(peers_.asked.begin(), peers_.asked.end());
  std::sort(late.begin(), late.end());
  for (PortRef peer : late) CrossExamine(peer.node);
}

void Survey::Repath() {
  found_.Repath(
      local_, [this](NodeIndex node, const wire::DirectedPath& from, const wire::DirectedPath& to) {
        explorer_.OnMoved(node, from, to);
      });
}

// ---- progress

void Survey::Advance(Instant now) {
  advanced_ = now;
  Repath();
  AskPeers(now);
  ReleaseLevels(now);
}

Instant Survey::NextDeadline() const {
  const bool waiting = !levels_.empty() || (found_.lost_something && reads_out() > 0);
  return waiting ? std::min(peers_.deadline, level_deadline_) : peers_.deadline;
}

bool Survey::HasChanges(Instant now) const {
  if (done()) return !found_.changes.empty() || !silent_.empty();
  return found_.lost_something && levels_.empty() && (reads_out() == 0 || now >= level_deadline_);
}

SurveyChanges Survey::TakeChanges() {
  if (done())
    for (NodeIndex node : std::exchange(silent_, {}))
      if (ground_.builder.node(node) != nullptr) OnUnresponsive(node);
  return found_.Take();
}

// Its neighbours' ports have been read, and links lead to it.
void Survey::OnUnresponsive(NodeIndex node) {
  if (!MayStayUnresponsive(ground_, node, advanced_)) {
    found_.changes.needs_sweep =
        fmt::format("switch {} does not answer", ground_.builder.node(node)->guid());
  } else if (MarkUnresponsive(ground_, node, advanced_)) {
    Touch(node);
    found_.paths_dirty = true;  // Routes through it may not work.
    Repath();
  }
}

bool Survey::IsAt(NodeIndex node) const {
  if (reads_of_.contains(node)) return true;
  return std::any_of(levels_.begin(), levels_.end(), [&](const auto& level) {
    return std::find(level.second.begin(), level.second.end(), node) != level.second.end();
  });
}

bool Survey::done() const {
  return outstanding_ == 0 && levels_.empty() && peers_.unread.empty() && !found_.paths_dirty;
}

}  // namespace fabricd::sweep
