// SPDX-License-Identifier: Apache-2.0
#include "routing/multicast/multicast_shape.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace fabricd::routing {
namespace {

using Place = MulticastShape::Place;

// The switches of a tree and the links between them.
class Branches {
 public:
  Branches(const MulticastTree& tree, const fabric::FabricSnapshot& snapshot)
      : snapshot_(snapshot) {
    for (PortRef port : tree.ports) {
      const fabric::Node* node = snapshot.node(port.node);
      if (node != nullptr && port.port.value() < node->ports.size())
        ports_[port.node].push_back(port.port);
    }
  }

  const std::map<NodeIndex, std::vector<PortNum>>& ports() const { return ports_; }
  // The port of another switch of the tree that this one leads to; None: it leads to none.
  PortRef Across(PortRef port) const {
    if (port.port == PortNum(0)) return {};
    const PortRef peer = snapshot_.port(port)->peer;
    const auto found = peer.IsNone() ? ports_.end() : ports_.find(peer.node);
    if (found == ports_.end()) return {};
    return std::binary_search(found->second.begin(), found->second.end(), peer.port) ? peer
                                                                                     : PortRef{};
  }

  bool IsToMember(PortRef port) const {
    if (port.port == PortNum(0)) return true;
    const PortRef peer = snapshot_.port(port)->peer;
    const fabric::Node* node = peer.IsNone() ? nullptr : snapshot_.node(peer.node);
    return node != nullptr && !node->IsSwitch();
  }

  struct Walk {
    std::map<NodeIndex, NodeIndex> from;  // Each that was reached, from which.
    NodeIndex last;                       // Of the farthest, that with the lowest GUID.
    uint32_t hops = 0;                    // As far as that.
  };
  Walk WalkFrom(NodeIndex start) const {
    Walk walk;
    walk.from[start] = NodeIndex::None();
    std::vector<NodeIndex> ring{start};
    for (uint32_t hops = 0; !ring.empty(); ++hops) {
      walk.last = *std::min_element(ring.begin(), ring.end(), [this](NodeIndex a, NodeIndex b) {
        return GuidOf(a) < GuidOf(b);
      });
      walk.hops = hops;
      std::vector<NodeIndex> next;
      for (NodeIndex node : ring)
        for (PortNum port : ports_.at(node)) {
          const PortRef across = Across({node, port});
          if (!across.IsNone() && walk.from.emplace(across.node, node).second)
            next.push_back(across.node);
        }
      ring = std::move(next);
    }
    return walk;
  }
  // Of the part that `start` belongs to.
  NodeIndex Middle(NodeIndex start) const {
    const Walk longest = WalkFrom(WalkFrom(start).last);
    NodeIndex middle = longest.last;
    for (uint32_t left = longest.hops / 2; left > 0; --left) middle = longest.from.at(middle);
    if (longest.hops % 2 == 0) return middle;
    const NodeIndex other = longest.from.at(middle);
    return GuidOf(other) < GuidOf(middle) ? other : middle;
  }

 private:
  Guid GuidOf(NodeIndex node) const { return snapshot_.node(node)->guid(); }

  const fabric::FabricSnapshot& snapshot_;
  std::map<NodeIndex, std::vector<PortNum>> ports_;
};

// Appends what is reached from a middle.
void AddPart(const Branches& branches, NodeIndex middle, std::set<NodeIndex>& seen,
             std::vector<Place>& places) {
  std::vector<Place> open{{middle, 0, PortNum(0), {}, {}}};
  seen.insert(middle);
  while (!open.empty()) {
    Place place = std::move(open.back());
    open.pop_back();
    std::vector<Place> next;
    for (PortNum port : branches.ports().at(place.node)) {
      const PortRef across = branches.Across({place.node, port});
      if (across.IsNone()) {
        (branches.IsToMember({place.node, port}) ? place.ends : place.down).push_back(port);
      } else if (seen.insert(across.node).second) {
        place.down.push_back(port);
        next.push_back({across.node, place.depth + 1, across.port, {}, {}});
      }
    }
    open.insert(open.end(), next.rbegin(), next.rend());
    places.push_back(std::move(place));
  }
}

}  // namespace

MulticastShape ShapeOf(const MulticastTree& tree, const fabric::FabricSnapshot& snapshot) {
  const Branches branches(tree, snapshot);
  MulticastShape shape;
  std::set<NodeIndex> seen;
  for (const auto& [node, ports] : branches.ports())
    if (!seen.contains(node)) AddPart(branches, branches.Middle(node), seen, shape.places);
  return shape;
}

}  // namespace fabricd::routing
