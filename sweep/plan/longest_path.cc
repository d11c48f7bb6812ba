// SPDX-License-Identifier: Apache-2.0
#include "sweep/plan/longest_path.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace fabricd::sweep {
namespace {

// The LID of an end port attached to the switch, or else the switch's own.
Lid DestinationAt(const fabric::Node& node, const fabric::FabricSnapshot& snapshot,
                  const fabric::LidTable& lids) {
  for (const auto& [ref, port] : node.LinkPorts()) {
    const PortRef peer = port.peer;
    const fabric::Node* other = peer.IsNone() ? nullptr : snapshot.node(peer.node);
    if (other != nullptr && !other->IsSwitch() && lids.Of(peer).base) return lids.Of(peer).base;
  }
  return lids.Of({node.index, PortNum(0)}).base;
}

class Walker {
 public:
  Walker(const routing::RoutingPlan& plan, const fabric::FabricSnapshot& snapshot)
      : plan_(plan), snapshot_(snapshot), links_(snapshot.node_index_end()) {}

  // The largest number of links from one of the switches to the destination.
  uint32_t Walk(Lid lid, const std::vector<NodeIndex>& switches) {
    std::fill(links_.begin(), links_.end(), kUnknown);
    uint32_t longest = 0;
    for (NodeIndex start : switches)
      if (const uint32_t links = LinksFrom(start, lid); links != kNoPath)
        longest = std::max(longest, links);
    return longest;
  }

 private:
  static constexpr uint32_t kUnknown = ~0u, kNoPath = ~0u - 1;

  // The port of the LFT entry. nullopt: there is no row or entry.
  std::optional<PortNum> EntryOf(NodeIndex at, Lid lid) const {
    if (!plan_.HasRow(at) || lid.value() >= plan_.rows[at.value()]->size()) return std::nullopt;
    return PortNum((*plan_.rows[at.value()])[lid.value()]);
  }

  uint32_t LinksFrom(NodeIndex start, Lid lid) {
    trail_.clear();
    uint32_t beyond = kNoPath;
    for (NodeIndex at = start;;) {
      if (links_[at.value()] != kUnknown) {
        beyond = links_[at.value()];
        break;
      }
      const auto entry = EntryOf(at, lid);
      if (entry == PortNum(0)) {  // This switch is the destination.
        beyond = links_[at.value()] = 0;
        break;
      }
      links_[at.value()] = kNoPath;  // Until it is known. A cycle ends here.
      trail_.push_back(at);
      const fabric::Port* port = entry ? snapshot_.port({at, *entry}) : nullptr;
      const fabric::Node* next =
          port == nullptr || port->peer.IsNone() ? nullptr : snapshot_.node(port->peer.node);
      if (next == nullptr) break;
      if (!next->IsSwitch()) {
        beyond = 0;
        break;
      }
      at = next->index;
    }
    for (size_t i = trail_.size(); i-- > 0;) {
      if (beyond != kNoPath) ++beyond;
      links_[trail_[i].value()] = beyond;
    }
    return links_[start.value()];
  }

  const routing::RoutingPlan& plan_;
  const fabric::FabricSnapshot& snapshot_;
  std::vector<uint32_t> links_;  // [NodeIndex] For this destination.
  std::vector<NodeIndex> trail_;
};

}  // namespace

uint32_t LongestPath(const routing::RoutingPlan& plan, const fabric::FabricSnapshot& snapshot,
                     const fabric::LidTable& lids) {
  std::vector<NodeIndex> switches;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    if (node.IsSwitch()) switches.push_back(node.index);
  });
  Walker walker(plan, snapshot);
  uint32_t longest = 0;
  for (NodeIndex index : switches)
    if (const Lid lid = DestinationAt(*snapshot.node(index), snapshot, lids))
      longest = std::max(longest, walker.Walk(lid, switches));
  return longest == 0 ? 0 : longest + 1;  // And the link from the source to its switch.
}

}  // namespace fabricd::sweep
