// SPDX-License-Identifier: Apache-2.0
#include "routing/multicast/multicast_channels.h"

#include <utility>
#include <vector>

#include "routing/graph/channel_forest.h"
#include "routing/graph/channel_order.h"
#include "routing/plan/no_index.h"

namespace fabricd::routing {
namespace {

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

// Each part hangs on its lowest switch.
Orientation OrientationOf(const MulticastGraph& graph, const ChannelForest& forest) {
  Orientation kinds(graph.arcs.size(), ArcKind::kClosed);
  std::vector<uint8_t> seen(graph.size(), 0);
  for (uint32_t root = 0; root < graph.size(); ++root) {
    if (seen[root]) continue;
    seen[root] = 1;
    std::vector<uint32_t> open{root};
    while (!open.empty()) {
      const uint32_t s = open.back();
      open.pop_back();
      for (uint32_t arc : forest.LinksOf(s)) {
        const MulticastArc& link = graph.arcs[arc];
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

}  // namespace

MulticastForest FindForest(const MulticastGraph& graph, const fabric::LidTable& lids,
                           const RoutingPlan& plan, uint8_t lane,
                           std::span<const MulticastTree* const> before) {
  const UnicastWaits unicast(graph, plan, lids.top().value() + 1u, lane);
  std::vector<uint32_t> places = unicast.Places();
  if (places.empty()) return {Orientation(graph.arcs.size(), ArcKind::kClosed), false};
  const ChannelGraph channels = ChannelsOf(graph);
  ChannelOrder waits(channels, std::move(places));
  for (uint32_t arc = 0; arc < graph.arcs.size(); ++arc)
    unicast.ForEach(arc, [&](uint8_t out) { waits.Add(arc, out); });
  std::vector<uint32_t> kept;
  for (const MulticastTree* tree : before)
    for (PortRef port : tree->ports)
      if (const uint32_t arc = graph.FindArc(port); arc != kNone) kept.push_back(arc);
  const FoundForest found = FindForest({channels, waits, kept, {}, lane, plan.lanes});
  return {OrientationOf(graph, found.forest), found.joins_all};
}

}  // namespace fabricd::routing
