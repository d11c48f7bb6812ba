// SPDX-License-Identifier: Apache-2.0
// MulticastGraph: the switches and links of a usable fabric (usable.h) as multicast trees see them:
// what each link carries, how large each multicast table is, and which way along a link is up.
// Switches are numbered by GUID, links of a switch sorted by neighbour and port, so the order of
// discovery cannot show. Immutable once built.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "fabric/lid_table.h"
#include "fabric/multicast_groups.h"
#include "fabric/rate.h"
#include "fabric/snapshot.h"

namespace fabricd::routing {

// What the links of a tree have to carry, and which entry of its switches' tables it takes.
struct MulticastDemand {
  uint8_t mtu = 0;  // As in MulticastGroup.
  fabric::RateRank rate = 0;
  uint32_t entry = 0;  // MLID - 0xC000
};
MulticastDemand DemandOf(const fabric::MulticastGroup& group);

// One link between two switches, in one direction.
struct MulticastArc {
  uint32_t tail, head;  // Switch numbers.
  uint32_t reverse;     // Into arcs.
  uint8_t port;         // At the tail.
  uint8_t mtu;          // The least of both ends.
  fabric::RateRank rate;

  bool Carries(const MulticastDemand& demand) const {
    return mtu >= demand.mtu && rate >= demand.rate;
  }
};

struct MulticastGraph {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  explicit MulticastGraph(const fabric::FabricSnapshot& usable);

  uint32_t size() const { return static_cast<uint32_t>(node.size()); }
  std::span<const MulticastArc> ArcsOf(uint32_t s) const {
    return {arcs.data() + begin[s], begin[s + 1] - begin[s]};
  }
  // kNone: no switch here.
  uint32_t Number(NodeIndex index) const {
    return index.value() < number.size() ? number[index.value()] : kNone;
  }
  // The arc that leaves by this port of a switch; kNone: it leads to no other switch.
  uint32_t FindArc(PortRef port) const;
  bool Holds(uint32_t s, const MulticastDemand& demand) const { return cap[s] > demand.entry; }

  std::vector<NodeIndex> node;     // [switch]
  std::vector<uint32_t> number;    // [NodeIndex]
  std::vector<uint32_t> begin;     // [switch], one more at the end
  std::vector<MulticastArc> arcs;  // By tail, then head, then port.
  std::vector<uint32_t> cap;       // [switch] MulticastFDBCap

 private:
  std::vector<uint32_t> arc_at_;  // [switch * 256 + port]
};

// Which way along a link is up. A tree in which no switch has two links up, and none that is
// closed, makes packets rise before they fall.
enum class ArcKind : uint8_t { kUp, kDown, kClosed };
using Orientation = std::vector<ArcKind>;  // [arc]; an arc and its reverse fit.

// By position of the switches (RoutingPlan::order).
Orientation OrientByOrder(const MulticastGraph& graph, const std::vector<uint32_t>& order);

// Where a member hangs.
struct MemberPlace {
  uint32_t at = MulticastGraph::kNone;  // kNone: nowhere that routes lead to.
  PortNum port;                         // Of that switch; 0: the switch itself.
  uint8_t mtu = 0;
  fabric::RateRank rate = 0;
};
MemberPlace PlaceOf(const MulticastGraph& graph, const fabric::FabricSnapshot& usable,
                    const fabric::LidTable& lids, Guid port_guid);

}  // namespace fabricd::routing
