// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/unresponsive.h"

#include "common/breakage.h"

namespace fabricd::sweep {

bool IsInGrace(const SweepOptions& options, Instant since, Instant now) {
  const Duration grace = options.unresponsive_grace;
  if (grace == Duration::zero() || IsBroken(Breakage::kUnresponsiveLost)) return false;
  return options.keep_unresponsive || now - since < grace;
}

bool MayStayUnresponsive(const Ground& ground, NodeIndex node, Instant now) {
  if (ground.builder.node(node) == nullptr || !ground.devices.Has(node)) return false;
  return IsInGrace(ground.options.sweep, ground.devices.UnresponsiveSince(node).value_or(now), now);
}

bool MarkUnresponsive(const Ground& ground, NodeIndex node, Instant now) {
  if (ground.devices.UnresponsiveSince(node)) return false;
  ground.devices.SetUnresponsiveSince(node, now);
  ground.builder.SetUnresponsive(node, true);
  return true;
}

bool MarkResponsive(const Ground& ground, NodeIndex node) {
  if (!ground.devices.UnresponsiveSince(node)) return false;
  ground.devices.SetUnresponsiveSince(node, std::nullopt);
  ground.builder.SetUnresponsive(node, false);
  return true;
}

void ReportUnresponsive(const Ground& ground) {
  ground.problems.Remove(ProblemKind::kUnresponsiveKept);
  for (uint32_t index = 0; index < ground.builder.node_index_end(); ++index) {
    const fabric::Node* node = ground.builder.node(NodeIndex(index));
    if (node != nullptr && node->unresponsive)
      ground.problems.Add(ProblemKind::kUnresponsiveKept, ProblemSubject::Of(*node),
                          "does not respond while its link is ACTIVE: its last known state and "
                          "its routes stay for now");
  }
}

bool UnansweredLinks::NeedsCheck(PortRef from, bool with_switches, Instant now) const {
  const fabric::Node* node = from.IsNone() ? nullptr : ground_.builder.node(from.node);
  if (node == nullptr || !ground_.devices.Has(from.node)) return false;
  const fabric::Port& port = node->port(from.port);
  const fabric::Node* peer = port.peer.IsNone() ? nullptr : ground_.builder.node(port.peer.node);
  return peer != nullptr && port.info.port_state == wire::PortState::kActive &&
         (with_switches || !peer->IsSwitch()) && MayStayUnresponsive(ground_, peer->index, now);
}

bool UnansweredLinks::Has(PortRef port) const {
  if (active_.contains(port)) return true;
  const fabric::Node* node = ground_.builder.node(port.node);
  return node != nullptr && active_.contains(node->port(port.port).peer);
}

absl::flat_hash_set<NodeIndex> UnansweredLinks::MarkNodes(
    const absl::flat_hash_map<NodeIndex, uint16_t>& seen, Instant now) {
  absl::flat_hash_set<NodeIndex> marked;
  std::vector<NodeIndex> open;
  const auto mark = [&](NodeIndex node) {
    if (node.IsNone() || ground_.builder.node(node) == nullptr || seen.contains(node) ||
        !MayStayUnresponsive(ground_, node, now) || !marked.insert(node).second)
      return;
    MarkUnresponsive(ground_, node, now);
    open.push_back(node);
  };
  for (PortRef from : active_)
    if (const fabric::Node* node = ground_.builder.node(from.node))
      mark(node->port(from.port).peer.node);
  for (size_t next = 0; next < open.size(); ++next) {
    const fabric::Node& node = *ground_.builder.node(open[next]);
    // No probe passes through it, so nothing is known of what only it leads to.
    for (const fabric::Port& port : node.ports)
      if (node.IsSwitch() && port.IsUp() && !port.peer.IsNone()) mark(port.peer.node);
  }
  return marked;
}

}  // namespace fabricd::sweep
