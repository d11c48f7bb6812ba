// SPDX-License-Identifier: Apache-2.0
// k-level fat-trees. Pure.
#pragma once

#include <vector>

#include "mad/wire/port_info.h"
#include "sim/generate/fabric_builder.h"
#include "sim/generate/parameters.h"

namespace fabricd::sim {

// A folded Clos of switches with `radix` ports in `levels` tiers. Hosts have one HCA.
struct FatTreeSpec {
  int radix = 36;  // Odd: one port of each switch stays free.
  int levels = 3;  // 2 or more
  int pods = 0;    // Subtrees below the top tier (leaves, with 2 levels). 0: as many as fit.
  double oversubscription = 1;  // Host ports per uplink of a leaf.
  int parallel = 1;             // Cables between each pair of adjacent switches.
  wire::LinkSpeed speed = wire::LinkSpeed::kNdr;
};

// Bound to the fields of `spec`.
std::vector<Parameter> FatTreeParameters(FatTreeSpec& spec);
// kInvalidArgument names the parameter that does not fit and what would.
SnapshotOr GenerateFatTree(const FatTreeSpec& spec);

}  // namespace fabricd::sim
