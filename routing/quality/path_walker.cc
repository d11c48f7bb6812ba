// SPDX-License-Identifier: Apache-2.0
#include "routing/quality/path_walker.h"

#include <algorithm>

namespace fabricd::routing {

PathWalker::PathWalker(const SwitchGraph& graph, const RoutingPlan& plan)
    : graph_(graph), pages_(size_t{graph.size()} * kPages) {
  for (const Cable& cable : graph.cables) ports_ = std::max(ports_, cable.port + 1u);
  exits_.resize(size_t{graph.size()} * ports_);
  uint16_t highest = 0;
  for (const EndPort& end : graph.ends) highest = std::max(highest, end.base_lid);
  for (uint32_t s = 0; s < graph.size(); ++s) {
    if (plan.HasRow(graph.node[s])) {
      const Row& row = *plan.rows[graph.node[s].value()];
      for (size_t page = 0; page < row.pages() && row.size() > highest; ++page)
        pages_[s * kPages + page] = row.page(page);
    }
    for (uint32_t i = 0; i < graph.degree(s); ++i) {
      const Neighbor& neighbor = graph.neighbor(s, i);
      for (uint32_t c = 0; c < neighbor.cable_count; ++c) {
        const uint32_t link = neighbor.first_cable + c;
        exits_[size_t{s} * ports_ + graph.cables[link].port] = {neighbor.head, link};
      }
    }
  }
}

}  // namespace fabricd::routing
