// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/directed_path.h"

#include <vector>

#include "common/port_numbers.h"

namespace fabricd::sim {

std::optional<wire::DirectedPath> FindPath(const SimFabric& fabric, PortRef host,
                                           NodeIndex target) {
  struct Place {
    NodeIndex node;
    wire::DirectedPath path;
  };
  std::vector<Place> open{{host.node, {}}};
  std::vector<bool> seen(fabric.node_index_end(), false);
  seen[host.node.value()] = true;
  for (size_t next = 0; next < open.size(); ++next) {
    const Place place = open[next];
    if (place.node == target) return place.path;
    const bool first = next == 0;
    if (!first && !fabric.device(place.node)->IsSwitch()) continue;
    for (const PortNum port : PortNumbers(PortNum(1), fabric.device(place.node)->last_port())) {
      if (first && !fabric.device(place.node)->IsSwitch() && port != host.port) continue;
      const PortRef peer = fabric.LinkedPeer({place.node, port});
      if (peer.IsNone() || fabric.link_loss({place.node, port}) > 0 || seen[peer.node.value()] ||
          !place.path.CanExtend())
        continue;
      seen[peer.node.value()] = true;
      open.push_back({peer.node, place.path.Then(port)});
    }
  }
  return std::nullopt;
}

}  // namespace fabricd::sim
