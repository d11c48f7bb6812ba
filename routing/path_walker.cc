// SPDX-License-Identifier: Apache-2.0
#include "routing/path_walker.h"

namespace fabricd::routing {

PathWalker::PathWalker(const SwitchGraph& graph, const RoutingPlan& plan)
    : graph_(graph), rows_(graph.size()), exits_(size_t{graph.size()} * kPorts) {
  for (uint32_t s = 0; s < graph.size(); ++s) {
    if (plan.HasRow(graph.node[s])) rows_[s] = plan.rows[graph.node[s].value()].get();
    for (uint32_t i = 0; i < graph.degree(s); ++i) {
      const Neighbor& neighbor = graph.neighbor(s, i);
      for (uint32_t c = 0; c < neighbor.cable_count; ++c) {
        const uint32_t link = neighbor.first_cable + c;
        exits_[s * kPorts + graph.cables[link].port] = {neighbor.head, link};
      }
    }
  }
}

}  // namespace fabricd::routing
