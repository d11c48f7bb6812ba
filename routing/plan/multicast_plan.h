// SPDX-License-Identifier: Apache-2.0
// MulticastPlan: the multicast part of the FabricPlan. One tree for each group; the forwarding
// tables follow from the trees, one row a switch, shared between generations where equal.
// Immutable.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/ids.h"

namespace fabricd::routing {

// What one MulticastForwardingTable MAD carries: 32 MLIDs by 16 ports (IBA vol 1 §14.2.5.12).
using MulticastBlock = std::array<uint16_t, 32>;

// Which block: that of 32 MLIDs, counted from 0xC000, and of 16 ports, counted from port 0.
struct MulticastPlace {
  uint16_t block = 0;
  uint8_t position = 0;
  friend constexpr auto operator<=>(const MulticastPlace&, const MulticastPlace&) = default;
};

// Of one switch: the blocks that have an entry, sorted by place. What is not there is all zero.
struct MulticastRow {
  using Entry = std::pair<MulticastPlace, std::shared_ptr<const MulticastBlock>>;
  std::vector<Entry> blocks;

  const MulticastBlock& At(MulticastPlace place) const;
  // Ports to which a packet for this MLID goes, ascending.
  std::vector<PortNum> PortsOf(Lid mlid) const;
};

enum class Unserved : uint8_t {
  kAbsent,     // No such end port on this fabric, or nothing may lead to it.
  kTooSlow,    // Its link carries less than the group's MTU or rate.
  kCutOff,     // No links that carry MTU and rate, and that routes may use, join it to the others.
  kNoOrder,    // Every tree that reaches it could deadlock with the other routes.
  kTableFull,  // MulticastFDBCap of its switch does not hold the MLID.
};
const char* UnservedName(Unserved reason);  // "no such port", …

struct UnservedMember {
  Guid port_guid;
  Unserved reason = Unserved::kAbsent;
  friend bool operator==(const UnservedMember&, const UnservedMember&) = default;
};

// Entries of one MLID. Between two switches the ports of both ends are in, towards a member that
// receives the one port. Packets of any member reach all others that receive, and nobody else.
struct MulticastTree {
  Lid mlid;
  std::vector<PortRef> ports;            // Of switches, sorted. Port 0: the switch itself.
  std::vector<UnservedMember> unserved;  // Sorted.
  friend bool operator==(const MulticastTree&, const MulticastTree&) = default;
};

struct MulticastPlan {
  std::vector<std::shared_ptr<const MulticastTree>> trees;  // By MLID.
  // [NodeIndex] Null, and beyond the end: no entry.
  std::vector<std::shared_ptr<const MulticastRow>> rows;
  // What MulticastFDBTop is to be: the last MLID of the highest block with an entry, so that it
  // rarely changes; kNoMulticastTop: no entry at all.
  Lid top{0xBFFF};

  const MulticastRow* Row(NodeIndex node) const {
    return node.value() < rows.size() ? rows[node.value()].get() : nullptr;
  }
  bool empty() const { return trees.empty(); }
};
inline constexpr Lid kNoMulticastTop{0xBFFF};

}  // namespace fabricd::routing
