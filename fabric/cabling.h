// SPDX-License-Identifier: Apache-2.0
// Cabling: how the nodes and cables of a fabric compare with those expected of it, as a topology
// file of the plan says (ibnetdiscover_text.h). Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/names.h"
#include "fabric/snapshot.h"

namespace fabricd::fabric {

enum class CablingFault {
  kMissingNode,
  kExtraNode,
  kMissingLink,    // Nothing is in either port.
  kExtraLink,      // Nothing is expected in either port.
  kMisplacedLink,  // Another cable is in one of the ports.
};
std::string_view CablingFaultName(CablingFault fault);  // "MissingLink"

struct CablingFinding {
  CablingFault fault = CablingFault::kMissingLink;
  PortRef port;      // In the fabric found, port 0 of a node; none: the node is missing.
  std::string name;  // "leaf1/3 - node0001 mlx5_0/1"; of a node its name.
  std::string message;
};

struct Cabling {
  std::vector<CablingFinding> findings;  // Nodes, then links; by name in natural order.
  size_t links_right = 0;
};

// A node is known by its name where it is the only one of this name on both sides, else by its
// GUID. Links of missing and extra nodes are not counted besides. `names`, of the fabric found, may
// be null.
Cabling CompareCabling(const FabricSnapshot& expected, const FabricSnapshot& found,
                       const NodeNameMap* names = nullptr);

}  // namespace fabricd::fabric
