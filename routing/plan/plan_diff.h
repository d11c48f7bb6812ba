// SPDX-License-Identifier: Apache-2.0
// What has to be written to get from one plan to another, in LinearForwardingTable blocks (64 LIDs,
// IBA vol 1 §14.2.5.10). Pages that both plans share cost one comparison of pointers, so the
// difference of a plan and its successor costs what changed.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "routing/plan/plan.h"

namespace fabricd::routing {

struct ChangedBlock {
  NodeIndex node;
  uint16_t block;
  uint64_t lids;  // Bit i: LID 64 * block + i has another port.
};

struct PlanDiff {
  // By node, then block. A switch that only `after` has counts as one without any route before; one
  // that only `before` has needs no writes.
  std::vector<ChangedBlock> blocks;
  uint32_t switches = 0;      // With at least one of `blocks`.
  uint32_t destinations = 0;  // LIDs with another port somewhere.
  uint64_t entries = 0;
};

PlanDiff DiffPlans(const RoutingPlan& before, const RoutingPlan& after);

}  // namespace fabricd::routing
