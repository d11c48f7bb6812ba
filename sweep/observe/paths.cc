// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/paths.h"

#include <utility>

namespace fabricd::sweep {
namespace {

class Refresher {
 public:
  Refresher(const fabric::SnapshotBuilder& builder, PortRef local, DeviceTable& devices)
      : builder_(builder), local_(local), devices_(devices), seen_(builder.node_index_end()) {}

  PathChanges Run() {
    const fabric::Node* own = builder_.node(local_.node);
    if (own == nullptr) return {};
    Reach(local_.node, wire::DirectedPath());
    if (!own->IsSwitch()) Cross(*own, local_.port);
    Search(switches_);
    // SMPs may not pass through switches that do not respond, so their routes come last.
    lasts_ = true;
    switches_ = std::exchange(unresponsive_, {});
    Search(switches_);
    for (uint32_t index = 0; index < seen_.size(); ++index)
      if (!seen_[index] && builder_.node(NodeIndex(index)) != nullptr)
        changes_.unreached.push_back(NodeIndex(index));
    return std::move(changes_);
  }

 private:
  void Search(std::vector<NodeIndex>& open) {
    for (size_t next = 0; next < open.size(); ++next) {
      const fabric::Node& node = *builder_.node(open[next]);
      for (const auto& [ref, port] : node.LinkPorts()) Cross(node, ref.port);
    }
  }

  // The search is breadth first, so the first route found to a switch is a shortest one.
  void Reach(NodeIndex node, const wire::DirectedPath& path) {
    seen_[node.value()] = true;
    const bool known = devices_.Has(node);
    const bool same = known && devices_.PathTo(node) == path;  // The usual case: needs no check.
    if (!same && (!known || !Works(node))) {
      if (known) changes_.moved.push_back({node, devices_.PathTo(node), path});
      devices_.SetPath(node, path);
    }
    const fabric::Node& reached = *builder_.node(node);
    if (!reached.IsSwitch()) return;
    (reached.unresponsive && !lasts_ ? unresponsive_ : switches_).push_back(node);
  }

  void Cross(const fabric::Node& from, PortNum port) {
    const PortRef there = from.port(port).peer;
    if (there.IsNone() || !devices_.PathTo(from.index).CanExtend()) return;
    const fabric::Node* node = builder_.node(there.node);
    if (node == nullptr) return;
    if (node->IsSwitch() ? seen_[there.node.value()] : there.node == local_.node) return;
    const wire::DirectedPath path = devices_.PathTo(from.index).Then(port);
    if (!seen_[there.node.value()]) Reach(there.node, path);
    if (node->IsSwitch()) return;
    if (const wire::DirectedPath* old = devices_.FurtherPathTo(there); old && !(*old == path))
      changes_.moved.push_back({there.node, *old, path});
    devices_.SetPortPath(there, path);
  }

  // Whether the known route follows existing links, through no switch that does not respond, and
  // ends at the node.
  bool Works(NodeIndex node) const {
    const wire::DirectedPath& path = devices_.PathTo(node);
    NodeIndex at = local_.node;
    for (size_t hop = 0; hop < path.hops(); ++hop) {
      const fabric::Node* here = builder_.node(at);
      const PortNum port = PortNum(path[hop]);
      if (here == nullptr || here->unresponsive || port.value() >= here->ports.size()) return false;
      const PortRef there = here->port(port).peer;
      if (there.IsNone()) return false;
      at = there.node;
    }
    return at == node;
  }

  const fabric::SnapshotBuilder& builder_;
  const PortRef local_;
  DeviceTable& devices_;
  std::vector<bool> seen_;                          // [NodeIndex]
  std::vector<NodeIndex> switches_, unresponsive_;  // To be searched; those at the end.
  bool lasts_ = false;                              // The latter are being searched.
  PathChanges changes_;
};

}  // namespace

PathChanges RefreshPaths(const fabric::SnapshotBuilder& builder, PortRef local,
                         DeviceTable& devices) {
  return Refresher(builder, local, devices).Run();
}

std::vector<PortRef> LinksOnPath(const fabric::SnapshotBuilder& builder, PortRef local,
                                 const DeviceTable& devices, NodeIndex node) {
  std::vector<PortRef> links;
  const wire::DirectedPath& path = devices.PathTo(node);
  NodeIndex at = local.node;
  for (size_t hop = 0; hop < path.hops(); ++hop) {
    const fabric::Node* here = builder.node(at);
    const PortNum port(path[hop]);
    if (here == nullptr || port.value() >= here->ports.size()) break;
    const bool is_active = here->port(port).info.port_state == wire::PortState::kActive;
    if (here->IsSwitch() && is_active) links.push_back({at, port});
    const PortRef there = here->port(port).peer;
    if (there.IsNone()) break;
    at = there.node;
  }
  return links;
}

}  // namespace fabricd::sweep
