// SPDX-License-Identifier: Apache-2.0
// Topology generators: k-level folded-Clos fat-trees and rail-optimised SuperPODs, as
// FabricSnapshots of devices that no subnet manager has touched (LID 0, links INIT). Pure and
// deterministic: GUIDs and names depend on the parameters' shape only, so the same node keeps its
// GUID when the fabric grows.
#pragma once

#include <memory>
#include <string>

#include <absl/status/statusor.h>

#include "fabric/snapshot.h"
#include "mad/wire/port_info.h"

namespace fabricd::sim {

// A folded Clos of switches with `radix` ports in `levels` tiers. Hosts have one HCA, "node0001
// mlx5_0".
struct FatTreeSpec {
  int radix = 36;
  int levels = 3;  // 2 or more
  int pods = 0;    // Subtrees below the top tier (leaves, with 2 levels). 0: as many as fit.
  double oversubscription = 1;  // Host ports per uplink of a leaf.
  int parallel = 1;             // Cables between each pair of adjacent switches.
  double fill = 1;  // Fraction of the leaves' host ports that have a host, spread evenly.
  wire::LinkSpeed speed = wire::LinkSpeed::kNdr;
};

// Rail-optimised: each scalable unit (SU) has one leaf per rail, and HCA r of each of its hosts
// hangs on the leaf of rail r. Two tiers as long as the spines' ports suffice, else three: rail
// groups of up to radix/2 leaves with their own spines, spine i of every group to the same cores
// (plane i).
struct SuperPodSpec {
  int sus = 1;
  int hosts_per_su = 32;
  int rails = 8;    // HCAs per host: "node0001 mlx5_0" … "node0001 mlx5_7"
  int radix = 0;    // Switch ports. 0: 64, or twice hosts_per_su when that is more.
  int uplinks = 0;  // Per leaf. 0: hosts_per_su.
  wire::LinkSpeed speed = wire::LinkSpeed::kNdr;
};

// "NDR"; kInvalidArgument lists the names.
absl::StatusOr<wire::LinkSpeed> ParseSpeed(const std::string& name);

// kInvalidArgument names the parameter that does not fit and what would.
absl::StatusOr<std::shared_ptr<const fabric::FabricSnapshot>> GenerateFatTree(
    const FatTreeSpec& spec);
absl::StatusOr<std::shared_ptr<const fabric::FabricSnapshot>> GenerateSuperPod(
    const SuperPodSpec& spec);

// "superpod:sus=1,hosts=8,rails=4", "fat-tree:radix=8,levels=3", or a KIND alone. Keys of fat-tree:
// radix, levels, pods, oversubscription, parallel, fill, speed; of superpod: sus, hosts, rails,
// radix, uplinks, speed.
absl::StatusOr<std::shared_ptr<const fabric::FabricSnapshot>> Generate(const std::string& spec);
// Whether the text before the first ':' is the KIND of a generator.
bool IsGeneratorSpec(const std::string& spec);

}  // namespace fabricd::sim
