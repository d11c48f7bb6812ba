// SPDX-License-Identifier: Apache-2.0
// A fabric in the forms that schedulers and people read. Pure; equal fabrics give equal texts.
#pragma once

#include <string>

#include "cli/render/slurm_tree.h"
#include "cli/render/topology_model.h"

namespace fabricd::cli {

// What joins what, indented, for people.
std::string ToTree(const TopologyModel& model);
// Switches by tiers, hosts and the cables between, for Graphviz.
std::string ToDot(const TopologyModel& model);
// Slurm's topology.conf for topology/tree: units of hosts as leaf switches, and what joins them.
// Hosts that only `before` has stay where it has them; null: there is none.
std::string ToSlurmConf(const TopologyModel& model, const SlurmTree* before = nullptr);
// The same as topology.yaml, which Slurm reads since 25.05.
std::string ToSlurmYaml(const TopologyModel& model, const SlurmTree* before = nullptr);
// {"instances": [{"id", "network_layers"}]}, closest layer first, as topograph's graph engine
// writes it.
std::string ToTopograph(const TopologyModel& model);
// A kubectl command for each host: fabric.topograph.run/tier-N, 0 the closest.
std::string ToK8sLabels(const TopologyModel& model);

}  // namespace fabricd::cli
