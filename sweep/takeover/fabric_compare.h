// SPDX-License-Identifier: Apache-2.0
// Compares what the fabric runs with what this SM would write: pure functions of the observed, the
// desired and the applied state. The same functions as those of the writers say what differs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "fabric/multicast_groups.h"
#include "sweep/desired/desired_state.h"
#include "sweep/device/applied_state.h"
#include "sweep/interface/options.h"
#include "sweep/interface/takeover.h"
#include "sweep/takeover/takeover_record.h"

namespace fabricd::sweep {

struct CompareInput {
  const DesiredState& desired;
  const AppliedState& applied;  // After the tables were read; risks need only what discovery reads.
  const CoreOptions& options;
  const TakeoverRecord& record;
  // This SM knows the fabric: that a part of it does not respond is then a failure, which must not
  // wait for an operator.
  bool knows_fabric = false;
  // The LIDs of record.sm_ports: ports that name one of them as their master were last configured
  // by this SM.
  const std::vector<Lid>& own_lids;
};

// The risky changes, in the order of TakeoverRisk and then of their values. Empty: none. What the
// record vouches for is none: a value that this SM has written itself.
std::vector<TakeoverChange> FindRisks(const CompareInput& input);
// How many ports of switches are up, and of how many of these the neighbour does not respond.
struct NeighborCount {
  uint32_t up = 0, unresponsive = 0;
};
NeighborCount CountNeighbors(const fabric::FabricSnapshot& snapshot);
// Whether that is more than CoreOptions allow. `of` ports in all.
bool IsTooUnresponsive(const CoreOptions& options, uint32_t unresponsive, uint32_t of);

// A digest of the changes without counts and examples. Empty: there are none.
std::string DigestOf(std::span<const TakeoverChange> risks);

// All of the report but `no_plan`. Costs one comparison for each port and each block.
TakeoverReport MakeTakeoverReport(const CompareInput& input, const fabric::MulticastGroups& groups);

}  // namespace fabricd::sweep
