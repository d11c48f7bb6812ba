// SPDX-License-Identifier: Apache-2.0
// Wrong values that some deliberate breakages (common/breakage.h) put into plans. Normal builds
// never call this.
#pragma once

#include <memory>

#include "fabric/snapshot.h"
#include "mad/transaction_engine.h"
#include "routing/repair/repair.h"

namespace fabricd::sweep {

using SharedPlan = std::shared_ptr<const routing::RoutingPlan>;

// REQUIRES: the node has a row.
inline void CorruptEntry(SharedPlan& plan, NodeIndex node, Lid lid, PortNum egress) {
  auto corrupted = std::make_shared<routing::RoutingPlan>(*plan);
  auto row = std::make_shared<routing::Row>(*corrupted->rows[node.value()]);
  row->Set(lid.value(), egress.value());
  corrupted->rows[node.value()] = std::move(row);
  plan = std::move(corrupted);
}

// The first switch loses its path to LID 1. Null stays null.
inline void CorruptWithHole(SharedPlan& plan) {
  for (uint32_t i = 0; plan && i < plan->rows.size(); ++i)
    if (plan->HasRow(NodeIndex(i)))
      return CorruptEntry(plan, NodeIndex(i), Lid(1), PortNum(routing::kNoRoute));
}

// The first switch with a neighbour switch: the two send LID 1 to each other. Null stays null.
inline void CorruptWithCycle(SharedPlan& plan, const fabric::FabricSnapshot& snapshot) {
  for (uint32_t i = 0; plan && i < plan->rows.size(); ++i) {
    if (!plan->HasRow(NodeIndex(i))) continue;
    const fabric::Node& node = *snapshot.node(NodeIndex(i));
    for (size_t num = 1; num < node.ports.size(); ++num) {
      const PortRef peer = node.ports[num].peer;
      if (peer.IsNone() || !plan->HasRow(peer.node)) continue;
      CorruptEntry(plan, node.index, Lid(1), PortNum(static_cast<uint8_t>(num)));
      CorruptEntry(plan, peer.node, Lid(1), peer.port);
      return;
    }
  }
}

// Applies `corrupt` to a copy of the plan. Null routes stay null.
template <typename Corrupt>
void CorruptRoutes(std::shared_ptr<const routing::RouteState>& routes, Corrupt&& corrupt) {
  if (!routes) return;
  auto corrupted = std::make_shared<routing::RouteState>(*routes);
  corrupt(corrupted->plan);
  routes = std::move(corrupted);
}

inline mad::EngineOptions Widened(mad::EngineOptions options) {
  options.window_initial = options.window_floor = options.window_max *= 4;
  options.device_limit *= 4;
  return options;
}

}  // namespace fabricd::sweep
