// SPDX-License-Identifier: Apache-2.0
// LinkMap: where each port of each switch leads and where each LID hangs, as a value that is
// carried from one snapshot to the next: a lost cable costs what it touches, not a new look at the
// whole fabric. What did not change is shared. Immutable; may be read by many threads.
//
// Switches are numbered by GUID when the map is made; one that comes later takes the next number,
// and one that comes back its old number.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"

namespace fabricd::routing {

// Where a port of a switch leads. Small: whoever follows tables waits for memory most of the time.
struct FarEnd {
  static constexpr uint32_t kDead = 0xFFFFFF, kEndPort = kDead - 1;
  uint32_t head : 24 = kDead;  // Switch number, or one of the above.
  uint32_t port : 8 = 0;       // Of that switch.

  bool IsSwitch() const { return head < kEndPort; }
  friend bool operator==(const FarEnd&, const FarEnd&) = default;
};

// The switch and its port at which a LID leaves the switches; port 0: the switch's own.
struct LidPlace {
  static constexpr uint32_t kNowhere = std::numeric_limits<uint32_t>::max();
  uint32_t at = kNowhere;
  uint8_t port = 0;

  bool IsNowhere() const { return at == kNowhere; }
  bool IsSwitch() const { return port == 0; }
  friend bool operator==(const LidPlace&, const LidPlace&) = default;
};

// How one map differs from the map it was made from.
struct LinkChanges {
  struct Port {
    uint32_t at;
    uint8_t port;
    FarEnd before, after;
  };
  std::vector<Port> ports;  // Each end of a link, by switch, then port.
  struct LidMove {
    Lid lid;
    LidPlace before, after;
  };
  std::vector<LidMove> lids;         // By LID.
  std::vector<uint32_t> gone, come;  // Switches, ascending.
  // A switch whose table holds another number of LIDs than before: not followed any further.
  bool table_sizes = false;

  bool empty() const {
    return ports.empty() && lids.empty() && gone.empty() && come.empty() && !table_sizes;
  }
};

class LinkMap {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  LinkMap() = default;
  LinkMap(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids);
  // The map of `snapshot`, a later generation of snapshot().
  LinkMap Next(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
               LinkChanges& changes) const;

  const fabric::FabricSnapshot& snapshot() const { return snapshot_; }
  // Numbers given so far; some may be of switches that are gone.
  uint32_t size() const { return static_cast<uint32_t>(node_->size()); }
  NodeIndex node(uint32_t s) const { return (*node_)[s]; }
  // kNone: never seen as a switch.
  uint32_t number(NodeIndex node) const {
    return node.value() < number_->size() ? (*number_)[node.value()] : kNone;
  }
  bool IsAlive(uint32_t s) const { return chunk(s).ports[s % kChunk] != 0; }
  // One more than its highest port.
  uint32_t ports(uint32_t s) const { return chunk(s).ports[s % kChunk]; }
  FarEnd far(uint32_t s, uint8_t port) const { return port < stride_ ? Ports(s)[port] : FarEnd{}; }
  // [port], up to ports(s).
  const FarEnd* Ports(uint32_t s) const { return &chunk(s).far[(s % kChunk) * stride_]; }
  // End ports that hang on it.
  uint32_t end_ports(uint32_t s) const { return chunk(s).end_ports[s % kChunk]; }
  LidPlace place(size_t lid) const { return lid < places_->size() ? (*places_)[lid] : LidPlace{}; }
  size_t lid_end() const { return places_->size(); }
  // LIDs, from 0 on, that the table of every switch seen so far can hold (LinearFDBCap).
  uint32_t least_table() const { return least_table_; }

  // [switch] The lowest switch that it is connected to; kNone: gone. Looks at every link.
  std::vector<uint32_t> Components() const;

 private:
  static constexpr uint32_t kChunk = 64;
  struct Chunk {
    std::array<uint16_t, kChunk> ports{};  // 0: gone.
    std::array<uint16_t, kChunk> end_ports{};
    std::vector<FarEnd> far;  // [switch * stride + port]
  };
  class Update;

  const Chunk& chunk(uint32_t s) const { return *chunks_[s / kChunk]; }
  FarEnd ReadPort(const fabric::Node& node, size_t port) const;
  LidPlace FindPlace(PortRef owner) const;
  void ReadSwitch(Chunk& chunk, uint32_t s, const fabric::Node& node) const;

  fabric::FabricSnapshot snapshot_;
  uint32_t stride_ = 0, least_table_ = 0x10000;
  std::shared_ptr<const std::vector<NodeIndex>> node_;   // [switch]
  std::shared_ptr<const std::vector<uint32_t>> number_;  // [NodeIndex]
  std::vector<std::shared_ptr<const Chunk>> chunks_;
  std::shared_ptr<const std::vector<PortRef>> owners_;   // [LID]
  std::shared_ptr<const std::vector<LidPlace>> places_;  // [LID]
};

}  // namespace fabricd::routing
