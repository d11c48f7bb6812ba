// SPDX-License-Identifier: Apache-2.0
// One line of topology text (ibnetdiscover_text.h) taken apart. Internal to fabric/. The views
// point into the line.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "common/ids.h"
#include "mad/wire/node_info.h"
#include "mad/wire/port_info.h"

namespace fabricd::fabric {

// vendid=0x2c9, switchguid=0x2c90100000000(2c90100000000)
struct AttributeLine {
  enum class Key { kVendor, kDevice, kSystemGuid, kNodeGuid };
  Key key = Key::kVendor;
  uint64_t value = 0;
  Guid port_guid;
};

// Switch  24 "S-0002c90100000000"  # "leaf1" base port 0 lid 3 lmc 0
struct NodeLine {
  wire::NodeType type = wire::NodeType::kUnknown;
  uint8_t ports = 0;
  std::string_view id;
  std::string_view description;  // data() is null: not told.
  Lid lid;                       // Switches.
  uint8_t lmc = 0;
  bool enhanced_port0 = false;
};

struct LinkRate {
  bool told = false;
  uint8_t lanes = 0;  // 0: told to be unknown.
  wire::LinkSpeed speed = wire::LinkSpeed::kUnknown;
};

// [1](100001)  "S-0002c90100000000"[5](…)  # lid 5 lmc 0 "leaf1" lid 3 4xHDR
struct PortLine {
  PortNum port;
  Guid guid;
  Lid lid;  // Of this port: CA and router lines.
  uint8_t lmc = 0;
  std::string_view peer_id;
  PortNum peer_port;
  Guid peer_guid;
  std::string_view peer_description;
  Lid peer_lid;
  LinkRate rate;
};

// Both ends of a link, as `ibnetdiscover -p` has them:
// SW  14  5 0x0002c90100000000 4x SDR - CA  1  1 0x0000000000300001 ( 'leaf1' - 'node1 mlx5_0' )
// or OpenSM's subnet list, which tells more of each end:
// { SW Ports:24 SystemGUID:… NodeGUID:… PortGUID:… VenID:… … {leaf1} LID:000E PN:05 } { … } PHY=4x
// …
struct LinkLine {
  struct End {
    wire::NodeType type = wire::NodeType::kUnknown;
    Lid lid;
    PortNum port;
    Guid node_guid;  // In a port list that of the port, for a node that is not a switch.
    Guid port_guid;
    std::string_view description;
    uint8_t ports = 0;  // 0: not told, and so are these:
    Guid system_guid;
    uint64_t vendor = 0, device = 0;
  };
  End near, far;  // far.node_guid is 0 when nothing is attached.
  LinkRate rate;
};

// Also a comment, and what says nothing about the fabric.
struct BlankLine {};

struct TopologyLine {
  std::variant<BlankLine, AttributeLine, NodeLine, PortLine, LinkLine> content;
  const char* error = nullptr;  // Why it could not be read. Null: it could.
  // False: readable, but it stops where more is expected, as the last line of a cut file does.
  bool whole = true;
  bool ends_record = false;       // No port line after this belongs to the node before.
  bool is_ibnetdiscover = false;  // With all that ibnetdiscover has on a line of its kind.
};

TopologyLine ParseTopologyLine(std::string_view line);

}  // namespace fabricd::fabric
