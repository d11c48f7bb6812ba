// SPDX-License-Identifier: Apache-2.0
#include "routing/multicast/multicast_graph.h"

#include <algorithm>
#include <tuple>

#include "routing/plan/link_carriage.h"
#include "routing/plan/usable.h"

namespace fabricd::routing {
namespace {

using fabric::FabricSnapshot;
using fabric::Node;
using fabric::Port;

// The port at the other end of a link that is up; null: there is none.
const Port* UpPeer(const FabricSnapshot& snapshot, PortRef ref) {
  const Port& port = *snapshot.port(ref);
  if (!port.IsUp() || port.peer.IsNone()) return nullptr;
  const Port* peer = snapshot.port(port.peer);
  return peer != nullptr && peer->IsUp() && peer->peer == ref ? peer : nullptr;
}

}  // namespace

MulticastDemand DemandOf(const fabric::MulticastGroup& group) {
  return {group.mtu, fabric::RankOfRate(group.rate),
          uint32_t{group.mlid.value()} - fabric::kFirstMulticastLid.value()};
}

MulticastGraph::MulticastGraph(const FabricSnapshot& usable) {
  number.assign(usable.node_index_end(), kNone);
  usable.ForEachNode([&](const Node& found) {
    if (found.IsSwitch()) node.push_back(found.index);
  });
  std::sort(node.begin(), node.end(), [&](NodeIndex a, NodeIndex b) {
    return usable.node(a)->guid() < usable.node(b)->guid();
  });
  for (uint32_t s = 0; s < size(); ++s) number[node[s].value()] = s;
  for (uint32_t s = 0; s < size(); ++s) {
    const Node& from = *usable.node(node[s]);
    begin.push_back(static_cast<uint32_t>(arcs.size()));
    cap.push_back(from.switch_info ? from.switch_info->multicast_fdb_cap : 0);
    for (const auto& [ref, port] : from.LinkPorts()) {
      const Port* peer = UpPeer(usable, ref);
      const uint32_t head = peer == nullptr ? kNone : Number(port.peer.node);
      if (head == kNone || head == s) continue;
      const LinkCarriage carriage = CarriageOf(port, *peer);
      arcs.push_back({s, head, 0, ref.port.value(), carriage.mtu, carriage.rate});
    }
    std::sort(arcs.begin() + begin[s], arcs.end(),
              [](const MulticastArc& a, const MulticastArc& b) {
                return std::tie(a.head, a.port) < std::tie(b.head, b.port);
              });
  }
  begin.push_back(static_cast<uint32_t>(arcs.size()));
  arc_at_.assign(size_t{size()} * 256, kNone);
  for (uint32_t arc = 0; arc < arcs.size(); ++arc)
    arc_at_[size_t{arcs[arc].tail} * 256 + arcs[arc].port] = arc;
  for (MulticastArc& arc : arcs)
    arc.reverse = FindArc(usable.port({node[arc.tail], PortNum(arc.port)})->peer);
}

uint32_t MulticastGraph::FindArc(PortRef port) const {
  const uint32_t s = Number(port.node);
  return s == kNone ? kNone : arc_at_[size_t{s} * 256 + port.port.value()];
}

Orientation OrientByOrder(const MulticastGraph& graph, const std::vector<uint32_t>& order) {
  Orientation kinds;
  kinds.reserve(graph.arcs.size());
  const auto position = [&](uint32_t s) { return order[graph.node[s].value()]; };
  for (const MulticastArc& arc : graph.arcs)
    kinds.push_back(position(arc.head) > position(arc.tail) ? ArcKind::kUp : ArcKind::kDown);
  return kinds;
}

MemberPlace PlaceOf(const MulticastGraph& graph, const FabricSnapshot& usable,
                    const fabric::LidTable& lids, Guid port_guid) {
  const PortRef end = usable.FindPort(port_guid);
  const Node* owner = end.IsNone() ? nullptr : usable.node(end.node);
  if (owner == nullptr || IsClosedSwitch(*owner) || !lids.Of(end).base) return {};
  const Port& port = owner->port(end.port);
  if (owner->IsSwitch()) return {graph.Number(end.node), PortNum(0), 0xFF, fabric::kTopRate};
  const Port* peer = UpPeer(usable, end);
  if (peer == nullptr) return {};
  const LinkCarriage carriage = CarriageOf(port, *peer);
  return {graph.Number(port.peer.node), port.peer.port, carriage.mtu, carriage.rate};
}

}  // namespace fabricd::routing
