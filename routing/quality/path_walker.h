// SPDX-License-Identifier: Apache-2.0
// PathWalker: follows the tables of a finished plan, one packet at a time, over the links between
// switches. Immutable once built; it keeps references to the graph and the plan, which must outlive
// it.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/graph/graph.h"
#include "routing/plan/plan.h"

namespace fabricd::routing {

class PathWalker {
 public:
  // More links than any loop-free way has. Also bounds the walk through a plan that loops.
  static constexpr uint32_t kMostLinks = 256;

  PathWalker(const SwitchGraph& graph, const RoutingPlan& plan);

  // One direction of each cable between two switches is a link; its number is that of its sending
  // end in SwitchGraph::cables.
  uint32_t link_count() const { return static_cast<uint32_t>(graph_.cables.size()); }
  const SwitchGraph& graph() const { return graph_; }

  // Calls visit(link) for each link between switches from switch `at` to the end port. False when
  // the tables do not lead there; then the links visited are those until it went astray.
  template <typename Visit>
  bool Walk(uint32_t at, const EndPort& to, Visit&& visit) const {
    for (uint32_t links = 0; links <= kMostLinks; ++links) {
      const uint8_t* page = pages_[size_t{at} * kPages + to.base_lid / Row::kPage];
      const uint8_t port = page == nullptr ? kNoRoute : page[to.base_lid % Row::kPage];
      if (at == to.at && port == to.port) return true;
      if (port >= ports_) return false;
      const Exit exit = exits_[size_t{at} * ports_ + port];
      if (exit.head == kNowhere) return false;
      visit(exit.link);
      at = exit.head;
    }
    return false;
  }

 private:
  static constexpr uint32_t kNowhere = 0xFFFFFFFF;
  struct Exit {
    uint32_t head = kNowhere;  // The switch behind the port.
    uint32_t link = 0;
  };
  const SwitchGraph& graph_;
  static constexpr size_t kPages = (size_t{1} << 16) / Row::kPage;
  // [switch * kPages + page of its row] Null: no table, or one that does not hold all end ports.
  std::vector<const uint8_t*> pages_;
  uint32_t ports_ = 1;       // Above the highest port of any link.
  std::vector<Exit> exits_;  // [switch * ports_ + port]
};

}  // namespace fabricd::routing
