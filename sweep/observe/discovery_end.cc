// SPDX-License-Identifier: Apache-2.0
// Discovery: nodes that do not respond, and what is removed at its end.
#include <algorithm>

#include <fmt/format.h>

#include "common/port_numbers.h"
#include "sweep/device/completion.h"
#include "sweep/device/port_config.h"
#include "sweep/observe/discovery.h"

namespace fabricd::sweep {
namespace {
constexpr uint8_t kFirst = 0;
}  // namespace

// ---- nodes that do not respond

// The state of the link is read again: the node may have gone down in the seconds until the probe
// was given up.
void Discovery::OnNoAnswer(const Probe& probe, const mad::Completion& completion, Instant now) {
  if (completion.outcome == mad::Completion::Outcome::kTimedOut &&
      unanswered_.NeedsCheck(probe.from, /*with_switches=*/!beyond_, now)) {
    const fabric::Node& node = *ground_.builder.node(probe.from.node);
    Submit(ground_.devices.Get(probe.from, wire::AttributeId::kPortInfo,
                               PortConfig::ModifierOf(node, probe.from.port)),
           Ask::kLink, probe.from, kFirst);
    return;
  }
  ground_.problems.Add(ProblemKind::kUnresponsive, SubjectOf(probe.from),
                       fmt::format("the node behind does not answer (NodeInfo by route {}: {})",
                                   probe.path.ToString(), WhyNot(completion)));
}

void Discovery::OnLink(PortRef from, const mad::Completion& completion) {
  // The switch does not respond either: nothing is known of the link, so it counts as it was.
  if (completion.outcome == mad::Completion::Outcome::kTimedOut) return unanswered_.Add(from);
  if (!IsOk(completion)) return;
  const auto info = wire::PortInfo::Decode(completion.response.data);
  if (FindPortInfoFault(info, *ground_.builder.node(from.node), from.port)) return;
  ground_.builder.SetPortInfo(from, info);
  if (info.port_state == wire::PortState::kActive) unanswered_.Add(from);
}

// A known node has stopped responding since its probe was answered. True: what is known of the port
// stays.
bool Discovery::StaysAsKnown(PortRef port, const mad::Completion& completion, Instant now) {
  const fabric::Node& node = *ground_.builder.node(port.node);
  const bool was_read = node.port(port.port).known && (!node.IsSwitch() || node.switch_info);
  if (completion.outcome != mad::Completion::Outcome::kTimedOut || !was_read ||
      new_.contains(port.node))
    return false;
  const auto seen = seen_.find(port.node);
  if (seen == seen_.end()) return true;  // Another of its attributes had no response either.
  const uint16_t hops = seen->second;
  bool stays = false;
  for (const auto& [ref, each] : node.LinkPorts()) {
    const auto link = linked_.find(ref);
    if (link == linked_.end() || !unanswered_.NeedsCheck(link->second, !beyond_, now)) continue;
    // Not by what is behind it.
    const auto above = seen_.find(link->second.node);
    if (above != seen_.end() && above->second >= hops) continue;
    Probe probe;
    probe.from = link->second;
    OnNoAnswer(probe, completion, now);
    stays = true;
  }
  if (stays) Forget(port.node);
  return stays;
}

bool Discovery::IsUnresponsive(PortRef port) const {
  const PortRef peer = ground_.builder.node(port.node)->port(port.port).peer;
  return unanswered_.Has(port) && !peer.IsNone() && ground_.builder.node(peer.node)->unresponsive;
}

// ---- the end

void Discovery::RemoveUnconfirmedLinks(const fabric::Node& node) {
  for (const PortNum number : PortNumbers(PortNum(1), PortNum(node.info.num_ports))) {
    const PortRef port{node.index, number};
    const PortRef peer = ground_.builder.node(node.index)->port(port.port).peer;
    const auto link = linked_.find(port);
    // A link from an earlier generation that no probe confirmed.
    const bool confirmed = link != linked_.end() && link->second == peer;
    if (!peer.IsNone() && !confirmed && !IsUnresponsive(port)) ground_.builder.Unlink(port);
    if (!node.IsSwitch() && !asked_.contains(port) &&
        ground_.builder.node(node.index)->port(port.port).known)
      ground_.builder.SetPortUnknown(port);
  }
}

// Removes switches that cannot be programmed, and CA ports that cannot be configured.
void Discovery::RemoveUnusable(NodeIndex index) {
  const fabric::Node* node = ground_.builder.node(index);
  if (node == nullptr) return;
  const bool blind = node->IsSwitch() && (failed_.contains(index) || !node->switch_info ||
                                          !node->port(PortNum(0)).known);
  if (!seen_.contains(index) || blind) {
    ground_.builder.RemoveNode(index);
    ground_.devices.Remove(index);
    return;
  }
  if (!beyond_) RemoveUnconfirmedLinks(*node);  // Else its other ports were not read.
}

void Discovery::Finish(Instant now) {
  const absl::flat_hash_set<NodeIndex> kept = unanswered_.MarkNodes(seen_, now);
  for (uint32_t number = 0; number < ground_.builder.node_index_end(); ++number) {
    const NodeIndex index(number);
    if (!kept.contains(index) && (!beyond_ || seen_.contains(index))) RemoveUnusable(index);
  }
  std::sort(remote_sms_.begin(), remote_sms_.end(),
            [](const RemoteSm& a, const RemoteSm& b) { return a.guid < b.guid; });
}

}  // namespace fabricd::sweep
