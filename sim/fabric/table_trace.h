// SPDX-License-Identifier: Apache-2.0
// TraceData, TraceMulticast: where data packets would go by the forwarding tables, port states and
// partitions as they are, for checkers. Nothing is sent, and nothing changes.
#pragma once

#include <optional>
#include <vector>

#include "common/ids.h"
#include "sim/fabric/sim_nodes.h"

namespace fabricd::sim {

// Where the copies of one multicast packet arrive.
struct MulticastReach {
  std::vector<PortRef> ports;  // End ports, each once, in order; the sender when a copy comes back.
  std::vector<PortRef> twice;  // Those of them that get it more than once.
  bool loops = false;          // The tables lead a copy to where it has been.
};

// As SimFabric has them.
// `egress_ports`, where it is given, gets the ports by which the packet leaves nodes, in order,
// those up to where it is dropped too.
PortRef TraceData(const SimNodes& nodes, PortRef from, Lid dlid, std::optional<PKey> key,
                  std::vector<PortRef>* egress_ports = nullptr);
MulticastReach TraceMulticast(const SimNodes& nodes, PortRef from, Lid mlid,
                              std::optional<PKey> key);

}  // namespace fabricd::sim
