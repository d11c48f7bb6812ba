// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/observed_fabric.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "fabric/names.h"
#include "fabric/port_name.h"

namespace fabricd::sweep {

void ObservedFabric::OnDiscovered(PortRef local, std::vector<Unread> unread) {
  local_ = local;
  unread_ = std::move(unread);
  Rebuild();
}

void ObservedFabric::AddUnread(const std::vector<Unread>& unread) {
  const size_t room = kMaxUnread - std::min(kMaxUnread, unread_.size());
  const auto count = static_cast<std::ptrdiff_t>(std::min(room, unread.size()));
  unread_.insert(unread_.end(), unread.begin(), unread.begin() + count);
}

std::string ObservedFabric::OwnLinkFault(std::string_view may_be_held) const {
  const fabric::Port* local = snapshot_->port(local_);
  if (local == nullptr) return "the SM's own port cannot be read";
  if (snapshot_->node(local_.node)->IsSwitch()) return "";
  if (!local->IsUp()) return fmt::format("the SM's own port has no link{}", may_be_held);
  const fabric::Node* peer = local->peer.IsNone() ? nullptr : snapshot_->node(local->peer.node);
  if (peer == nullptr || peer->unresponsive)
    return "what the SM's own port is linked to does not answer";
  return "";
}

const std::set<PortRef>& ObservedFabric::InactivePorts() {
  active_links_.Update(snapshot_);
  return active_links_.inactive();
}

std::vector<NodeIndex> ObservedFabric::SwitchesPassedOver() const {
  std::vector<NodeIndex> switches;
  snapshot_->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch()) return;
    for (const auto& [ref, port] : node.AllPorts()) {
      if (port.known || std::any_of(unread_.begin(), unread_.end(),
                                    [&at = ref](const Unread& each) { return each.port == at; }))
        continue;
      switches.push_back(node.index);
      return;
    }
  });
  return switches;
}

std::vector<NodeIndex> ObservedFabric::SwitchesOf(const std::vector<NodeIndex>& nodes) const {
  std::vector<NodeIndex> switches;
  for (const NodeIndex index : nodes) {
    const fabric::Node* node = snapshot_->node(index);
    if (node == nullptr) continue;
    if (node->IsSwitch()) switches.push_back(index);
    for (const fabric::Port& port : node->ports)
      if (!node->IsSwitch() && !port.peer.IsNone()) switches.push_back(port.peer.node);
  }
  std::sort(switches.begin(), switches.end());
  return switches;
}

PortRef ObservedFabric::SwitchPortOf(PortRef end_port) const {
  const fabric::Node* node = end_port.IsNone() ? nullptr : snapshot_->node(end_port.node);
  if (node == nullptr) return {};
  return node->IsSwitch() ? end_port : node->port(end_port.port).peer;
}

std::string ObservedFabric::NameOf(PortRef port) const {
  const fabric::Node* node = builder_.node(port.node);
  if (node == nullptr) node = snapshot_->node(port.node);
  if (node == nullptr) return fmt::format("node index {}", port.node);
  return fabric::EndName(fabric::DisplayName(*node), port.port);
}

std::string ObservedFabric::NameOf(PortRef port, PortRef peer) const {
  return peer.IsNone() ? NameOf(port) : fabric::LinkName(NameOf(port), NameOf(peer));
}

}  // namespace fabricd::sweep
