// SPDX-License-Identifier: Apache-2.0
#include "routing/multicast_channels.h"

#include <algorithm>
#include <utility>

#include "routing/channel_order.h"

namespace fabricd::routing {
namespace {

constexpr uint32_t kNone = MulticastGraph::kNone;
constexpr uint32_t kMostRoots = 8;  // Tried where the first forest does not reach all.

// The waits of all unicast ways that take one lane: [arc * 256 + out], where `out` is the place of
// the arc that is waited for among those of its switch.
class UnicastWaits {
 public:
  UnicastWaits(const MulticastGraph& graph, const RoutingPlan& plan, uint32_t lid_end, uint8_t lane)
      : graph_(graph), waits_(graph.arcs.size() * 256, 0) {
    std::vector<uint32_t> passed(graph.size(), 0), arc(graph.size());
    for (uint32_t l = 1; l < lid_end; ++l) {
      const Lid lid(static_cast<uint16_t>(l));
      for (uint32_t s = 0; s < graph.size(); ++s) arc[s] = ArcOf(plan, s, lid);
      for (uint32_t source = 0; source < graph.size(); ++source) {
        if (plan.ServiceLevel(graph.node[source], lid) % plan.lanes != lane) continue;
        for (uint32_t s = source; passed[s] != l && arc[s] != kNone;) {
          passed[s] = l;
          const uint32_t head = graph.arcs[arc[s]].head;
          if (arc[head] != kNone) waits_[size_t{arc[s]} * 256 + arc[head] - graph.begin[head]] = 1;
          s = head;
        }
      }
    }
  }

  // Calls visit(arc, out).
  template <typename Visit>
  void ForEach(uint32_t arc, Visit&& visit) const {
    const uint32_t head = graph_.arcs[arc].head;
    for (uint32_t out = 0; out < graph_.begin[head + 1] - graph_.begin[head]; ++out)
      if (waits_[size_t{arc} * 256 + out]) visit(static_cast<uint8_t>(out));
  }

  // Places ([arc]) in which every wait rises; empty: there is a cycle.
  std::vector<uint32_t> Places() const {
    std::vector<uint32_t> waiting(graph_.arcs.size(), 0), open, places(graph_.arcs.size());
    const auto next_of = [&](uint32_t arc, uint8_t out) {
      return graph_.begin[graph_.arcs[arc].head] + out;
    };
    for (uint32_t a = 0; a < graph_.arcs.size(); ++a)
      ForEach(a, [&](uint8_t out) { ++waiting[next_of(a, out)]; });
    for (uint32_t a = 0; a < graph_.arcs.size(); ++a)
      if (waiting[a] == 0) open.push_back(a);
    uint32_t placed = 0;
    while (!open.empty()) {
      const uint32_t a = open.back();
      open.pop_back();
      places[a] = placed++;
      ForEach(a, [&](uint8_t out) {
        if (--waiting[next_of(a, out)] == 0) open.push_back(next_of(a, out));
      });
    }
    if (placed != places.size()) places.clear();
    return places;
  }

 private:
  uint32_t ArcOf(const RoutingPlan& plan, uint32_t s, Lid lid) const {
    if (!plan.HasRow(graph_.node[s])) return kNone;
    const uint8_t out = plan.EgressPort(graph_.node[s], lid);
    return out == kNoRoute ? kNone : graph_.FindArc({graph_.node[s], PortNum(out)});
  }

  const MulticastGraph& graph_;
  std::vector<uint8_t> waits_;
};

ChannelGraph ChannelsOf(const MulticastGraph& graph) {
  ChannelGraph channels;
  channels.begin = graph.begin;
  for (const MulticastArc& arc : graph.arcs) {
    channels.tail.push_back(arc.tail);
    channels.head.push_back(arc.head);
    channels.reverse.push_back(arc.reverse);
  }
  return channels;
}

class Forest {
 public:
  Forest(const MulticastGraph& graph, ChannelOrder waits)
      : graph_(&graph), waits_(std::move(waits)), links_(graph.size()), part_(graph.size()) {
    for (uint32_t s = 0; s < graph.size(); ++s) part_[s] = s;
  }

  // Adds the link of this arc if it joins two parts and all its turns fit.
  bool Try(uint32_t arc) {
    const MulticastArc& link = graph_->arcs[arc];
    if (PartOf(link.tail) == PartOf(link.head)) return false;
    Turns added;
    if (!TurnsFit(arc, added) || !TurnsFit(link.reverse, added)) {
      for (const auto& [from, out] : added) waits_.Remove(from, out);
      return false;
    }
    links_[link.tail].push_back(arc);
    links_[link.head].push_back(link.reverse);
    ++count_;
    part_[PartOf(link.tail)] = PartOf(link.head);
    return true;
  }

  // From this switch outwards, as far as it goes.
  void Grow(uint32_t root) {
    std::vector<uint8_t> reached(graph_->size(), 0);
    std::vector<uint32_t> queue{root};
    reached[root] = 1;
    for (size_t i = 0; i < queue.size(); ++i)
      for (uint32_t arc = graph_->begin[queue[i]]; arc < graph_->begin[queue[i] + 1]; ++arc) {
        const uint32_t head = graph_->arcs[arc].head;
        if (reached[head] || (PartOf(head) != PartOf(root) && !Try(arc))) continue;
        reached[head] = 1;
        queue.push_back(head);
      }
  }
  // By whatever links still fit.
  void JoinParts() {
    for (bool more = true; more;) {
      more = false;
      for (uint32_t arc = 0; arc < graph_->arcs.size(); ++arc) more |= Try(arc);
    }
  }
  size_t links() const { return count_; }

  // Each part hangs on its lowest switch.
  Orientation Orient() const {
    Orientation kinds(graph_->arcs.size(), ArcKind::kClosed);
    std::vector<uint8_t> seen(graph_->size(), 0);
    for (uint32_t root = 0; root < graph_->size(); ++root) {
      if (seen[root]) continue;
      seen[root] = 1;
      std::vector<uint32_t> open{root};
      while (!open.empty()) {
        const uint32_t s = open.back();
        open.pop_back();
        for (uint32_t arc : links_[s]) {
          const MulticastArc& link = graph_->arcs[arc];
          if (seen[link.head]) continue;
          seen[link.head] = 1;
          kinds[arc] = ArcKind::kDown;
          kinds[link.reverse] = ArcKind::kUp;
          open.push_back(link.head);
        }
      }
    }
    return kinds;
  }

 private:
  using Turns = std::vector<std::pair<uint32_t, uint8_t>>;

  uint32_t PartOf(uint32_t s) {
    while (part_[s] != s) s = part_[s] = part_[part_[s]];
    return s;
  }
  // At the tail of `arc`: from all links there to it, and from it to all of them.
  bool TurnsFit(uint32_t arc, Turns& added) {
    const auto fits = [&](uint32_t from, uint32_t to) {
      const auto out = static_cast<uint8_t>(to - graph_->begin[graph_->arcs[to].tail]);
      if (waits_.Has(from, out)) return true;
      if (!waits_.AddForNow(from, out)) return false;
      added.emplace_back(from, out);
      return true;
    };
    const MulticastArc& link = graph_->arcs[arc];
    return std::all_of(links_[link.tail].begin(), links_[link.tail].end(), [&](uint32_t other) {
      return fits(graph_->arcs[other].reverse, arc) && fits(link.reverse, other);
    });
  }

  const MulticastGraph* graph_;
  ChannelOrder waits_;
  std::vector<std::vector<uint32_t>> links_;  // [switch] Arcs of the forest that leave it.
  std::vector<uint32_t> part_;                // [switch]
  size_t count_ = 0;
};

// The switches that are connected with each other, ascending.
std::vector<std::vector<uint32_t>> PiecesOf(const MulticastGraph& graph) {
  std::vector<std::vector<uint32_t>> pieces;
  std::vector<uint8_t> seen(graph.size(), 0);
  for (uint32_t first = 0; first < graph.size(); ++first) {
    if (seen[first]) continue;
    seen[first] = 1;
    std::vector<uint32_t> piece{first};
    for (size_t i = 0; i < piece.size(); ++i)
      for (const MulticastArc& arc : graph.ArcsOf(piece[i]))
        if (!std::exchange(seen[arc.head], uint8_t{1})) piece.push_back(arc.head);
    std::sort(piece.begin(), piece.end());
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

}  // namespace

Orientation FindForest(const MulticastGraph& graph, const fabric::LidTable& lids,
                       const RoutingPlan& plan, uint8_t lane,
                       std::span<const MulticastTree* const> before) {
  const UnicastWaits unicast(graph, plan, lids.top().value() + 1u, lane);
  std::vector<uint32_t> places = unicast.Places();
  if (places.empty()) return Orientation(graph.arcs.size(), ArcKind::kClosed);
  const ChannelGraph channels = ChannelsOf(graph);
  ChannelOrder waits(channels, std::move(places));
  for (uint32_t arc = 0; arc < graph.arcs.size(); ++arc)
    unicast.ForEach(arc, [&](uint8_t out) { waits.Add(arc, out); });
  const std::vector<std::vector<uint32_t>> pieces = PiecesOf(graph);

  Forest best(graph, waits);
  for (const MulticastTree* tree : before)
    for (PortRef port : tree->ports)
      if (const uint32_t arc = graph.FindArc(port); arc != kNone) best.Try(arc);
  for (const auto& piece : pieces) best.Grow(piece.front());
  best.JoinParts();
  // What is kept may stand in the way of a forest that reaches all. The first root is that by which
  // ways grown within the lanes have a tree whose waits all fit (escape_paths.h).
  for (uint32_t turn = 0; turn <= kMostRoots; ++turn) {
    if (best.links() + pieces.size() == graph.size()) break;
    Forest other(graph, waits);
    for (const auto& piece : pieces)
      other.Grow(piece[turn == 0 ? lane * piece.size() / plan.lanes
                                 : (turn - 1) * piece.size() / kMostRoots]);
    other.JoinParts();
    if (other.links() > best.links()) best = std::move(other);
  }
  return best.Orient();
}

}  // namespace fabricd::routing
