// SPDX-License-Identifier: Apache-2.0
// MulticastTreeMaker: the trees of one computation, one after the other; see multicast_trees.h for
// the rule. A tree is kept as each switch's arc up; links that no arc up stands for do not exist.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "routing/multicast/multicast_graph.h"
#include "routing/plan/multicast_plan.h"

namespace fabricd::routing {

// Trees on each link and switch.
struct MulticastLoad {
  std::vector<uint32_t> link;  // [arc]; both directions of a link are counted at the lower arc.
  std::vector<uint32_t> node;  // [switch]
};

class MulticastTreeMaker {
 public:
  // All must outlive this.
  MulticastTreeMaker(const MulticastGraph& graph, const fabric::FabricSnapshot& usable,
                     const fabric::LidTable& lids);

  // Counts the links of a tree that was made elsewhere in (+1) or out (-1).
  void Count(const MulticastTree& tree, int by);
  // `before` may be null. `orientation` must outlive this; trees of one lane share one.
  MulticastTree Make(const fabric::MulticastGroup& group, const MulticastTree* before,
                     const Orientation& orientation);

 private:
  static constexpr uint32_t kNone = MulticastGraph::kNone;
  static constexpr uint8_t kFar = 255;
  struct Node {
    uint32_t up = kNone;    // Arc to the switch above.
    uint32_t part = kNone;  // The connected part of the tree that it is in, by its top.
    bool in = false;
    bool has_member = false;
  };
  struct Placed {
    Guid guid;
    uint32_t at;
    PortNum port;
    bool receives;
  };

  bool MayUse(uint32_t arc) const {
    const MulticastArc& a = graph_.arcs[arc];
    return a.Carries(demand_) && graph_.Holds(a.head, demand_) && graph_.Holds(a.tail, demand_);
  }
  bool MayRise(uint32_t arc) const { return (*orientation_)[arc] == ArcKind::kUp && MayUse(arc); }
  uint32_t LoadOf(uint32_t arc) const {
    return load_.link[std::min(arc, graph_.arcs[arc].reverse)];
  }
  // The same switch is another one's first choice for another MLID.
  uint32_t Turned(uint32_t s) const { return (s + demand_.entry) % graph_.size(); }

  MulticastTree MakeOnce(const fabric::MulticastGroup& group, const MulticastTree* before);
  void Reset();
  bool HasTraffic() const;
  void Enter(uint32_t s);
  void PlaceMembers(const fabric::MulticastGroup& group);
  void KeepLinks(const MulticastTree& before);
  void Prune();
  void FindParts();
  std::vector<uint32_t> Tops() const;
  uint32_t MainPart() const;
  void AttachParts(uint32_t main);
  bool Attach(uint32_t top, uint32_t main);
  void JoinByTop();
  uint32_t ChooseTop(const std::vector<uint32_t>& tops);
  void RiseTo(uint32_t top, std::vector<uint32_t> tops);
  uint32_t ChooseUp(uint32_t s, const std::vector<uint8_t>& to_top) const;
  std::vector<uint8_t> DistancesTo(uint32_t top) const;
  const std::vector<uint8_t>& DistancesFrom(uint32_t s);
  void KeepMainOnly(uint32_t main);
  std::vector<uint8_t> JoinedTo(uint32_t s) const;
  void ListPorts();

  const MulticastGraph& graph_;
  const fabric::FabricSnapshot& usable_;
  const fabric::LidTable& lids_;
  MulticastLoad load_;
  // Rising hops from a switch to each other, for what was asked so far.
  using DistanceKey = std::tuple<const Orientation*, uint8_t, fabric::RateRank, uint32_t, uint32_t>;
  std::map<DistanceKey, std::vector<uint8_t>> distances_;
  uint32_t least_cap_ = kNone;

  // Of the tree that is being made.
  MulticastDemand demand_;
  const Orientation* orientation_ = nullptr;
  std::vector<Node> nodes_;     // [switch]
  std::vector<uint32_t> used_;  // Switches that are or were in it.
  std::vector<Placed> placed_;
  MulticastTree tree_;
};

}  // namespace fabricd::routing
