// SPDX-License-Identifier: Apache-2.0
// Rail-optimised SuperPODs. Pure.
#pragma once

#include <vector>

#include "mad/wire/port_info.h"
#include "sim/generate/fabric_builder.h"
#include "sim/generate/parameters.h"

namespace fabricd::sim {

// Each scalable unit (SU) has one leaf per rail, and HCA r of each of its hosts hangs on the leaf
// of rail r. Two tiers as long as the spines' ports suffice, else three: rail groups of up to
// radix/2 leaves with their own spines, spine i of every group to the same cores (plane i).
struct SuperPodSpec {
  int sus = 1;
  int hosts_per_su = 32;
  int rails = 8;    // HCAs per host: "node0001 mlx5_0" … "node0001 mlx5_7"
  int radix = 0;    // Switch ports. 0: 64, or twice hosts_per_su when that is more.
  int uplinks = 0;  // Per leaf. 0: hosts_per_su.
  wire::LinkSpeed speed = wire::LinkSpeed::kNdr;
};

// Bound to the fields of `spec`.
std::vector<Parameter> SuperPodParameters(SuperPodSpec& spec);
// kInvalidArgument names the parameter that does not fit and what would.
SnapshotOr GenerateSuperPod(const SuperPodSpec& spec);

}  // namespace fabricd::sim
