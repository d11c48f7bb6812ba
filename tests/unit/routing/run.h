// SPDX-License-Identifier: Apache-2.0
// Short ways for tests to run engines on a TestFabric.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "routing/plan/engine.h"
#include "routing/proof/verifier.h"
#include "tests/support/fabrics.h"

namespace fabricd::testing {

// The plan of one engine; an empty one, and a failed test, when it declines.
inline routing::RoutingPlan Route(const TestFabric& fabric, const std::string& engine,
                                  const routing::RoutingOptions& options = {},
                                  const routing::RoutingPlan* previous = nullptr) {
  const auto plan =
      routing::MakeEngine(engine)->Compute({*fabric.snapshot, fabric.lids, options, previous});
  if (plan.ok()) return *plan;
  ADD_FAILURE() << engine << " declined: " << plan.status();
  return {};
}

inline routing::VerifyReport Judge(const TestFabric& fabric, const routing::RoutingPlan& plan) {
  return routing::Verify(*fabric.snapshot, fabric.lids, plan);
}

// Ports by (node GUID, LID): what must not depend on node indices.
using PortsByGuid = std::map<std::pair<Guid, uint32_t>, uint8_t>;
inline PortsByGuid ByGuid(const TestFabric& fabric, const routing::RoutingPlan& plan) {
  PortsByGuid ports;
  fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (!plan.HasRow(node.index)) return;
    const routing::Row& row = *plan.rows[node.index.value()];
    for (uint32_t lid = 0; lid < row.size(); ++lid) ports[{node.guid(), lid}] = row[lid];
  });
  return ports;
}

}  // namespace fabricd::testing
