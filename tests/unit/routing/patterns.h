// SPDX-License-Identifier: Apache-2.0
// A dumb oracle of how many flows of a communication pattern meet on one cable: it walks every flow
// through the tables and counts.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "routing/plan/plan.h"

namespace fabricd::testing {

// As if fabricd had assigned them: ports in node order, hosts with 2^lmc.
inline fabric::LidTable LidsInNodeOrder(const fabric::FabricSnapshot& snapshot, uint8_t lmc = 0) {
  fabric::LidTable lids;
  uint32_t next = 1;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    for (unsigned port = node.first_end_port().value(); port <= node.last_end_port().value();
         ++port) {
      const uint8_t mask = node.IsSwitch() ? 0 : lmc;
      next = (next + (1u << mask) - 1) >> mask << mask;
      lids.Assign({node.index, PortNum(static_cast<uint8_t>(port))},
                  {Lid(static_cast<uint16_t>(next)), mask});
      next += 1u << mask;
    }
  });
  return lids;
}

class Patterns {
 public:
  using Flow = std::pair<PortRef, PortRef>;  // Source and destination end port; none: no flow.

  Patterns(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
           const routing::RoutingPlan& plan)
      : snapshot_(snapshot), lids_(lids), plan_(plan) {}

  // The ports between switches by which a packet leaves one, first one first. Offset: of the LID
  // within the destination's.
  std::vector<PortRef> Walk(PortRef from, PortRef to, uint16_t offset = 0) const {
    const auto lid = Lid(static_cast<uint16_t>(lids_.Of(to).base.value() + offset));
    std::vector<PortRef> path;
    PortRef at = snapshot_.port(from)->peer;
    for (size_t hops = 0; hops < 64; ++hops) {
      const uint8_t port = plan_.EgressPort(at.node, lid);
      if (port == routing::kNoRoute) break;
      const PortRef out{at.node, PortNum(port)};
      at = snapshot_.port(out)->peer;
      if (at == to) return path;
      if (at.IsNone() || !snapshot_.node(at.node)->IsSwitch()) break;
      path.push_back(out);
    }
    ADD_FAILURE() << "LID " << lid.value() << " is not reached";
    return path;
  }

  // Most flows over one direction of one cable between switches, when all run at once.
  int Contention(const std::vector<Flow>& flows) const {
    std::map<PortRef, int> count;
    int most = 0;
    for (const auto& [from, to] : flows) {
      if (from.IsNone() || to.IsNone() || from == to) continue;
      for (PortRef out : Walk(from, to)) most = std::max(most, ++count[out]);
    }
    return most;
  }

 private:
  const fabric::FabricSnapshot& snapshot_;
  const fabric::LidTable& lids_;
  const routing::RoutingPlan& plan_;
};

}  // namespace fabricd::testing
