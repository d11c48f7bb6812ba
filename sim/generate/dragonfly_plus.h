// SPDX-License-Identifier: Apache-2.0
// Dragonfly+: groups of leaves and spines (Shpiner et al., "Dragonfly+: Low Cost Topology for
// Scaling Datacenters", 2017). Pure.
#pragma once

#include <vector>

#include "mad/wire/port_info.h"
#include "sim/generate/fabric_builder.h"
#include "sim/generate/parameters.h"

namespace fabricd::sim {

// In each group every leaf, "group1-leaf1", has one cable to every spine, "group1-spine1". Each
// pair of groups is joined by `global_links` cables between spines, dealt out evenly. Cables among
// the first groups stay as they are when groups are added. Ports of a leaf: hosts, then spines; of
// a spine: leaves, then other groups.
struct DragonflyPlusSpec {
  int groups = 4;
  int leaves = 4;        // Of each group.
  int spines = 4;        // Of each group.
  int hosts = 4;         // Of each leaf.
  int global_links = 0;  // Between each pair of groups. 0: one per spine.
  int radix = 0;         // Switch ports. 0: as many as are in use.
  wire::LinkSpeed speed = wire::LinkSpeed::kNdr;
};

// Bound to the fields of `spec`.
std::vector<Parameter> DragonflyPlusParameters(DragonflyPlusSpec& spec);
// kInvalidArgument names the parameter that does not fit and what would.
SnapshotOr GenerateDragonflyPlus(const DragonflyPlusSpec& spec);

}  // namespace fabricd::sim
