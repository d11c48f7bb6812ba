// SPDX-License-Identifier: Apache-2.0
// SlurmTree: the switches of Slurm's topology/tree as topology.conf and topology.yaml have them.
// Slurm knows no host that its topology leaves out, so that hosts which are away for an hour have
// to stay in it: they are kept where the file of before has them. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/render/topology_model.h"
#include "cli/terminal/exit_code.h"

namespace fabricd::cli {

// One of both is empty.
struct SlurmSwitch {
  std::string name;
  std::vector<std::string> nodes;     // Names of hosts.
  std::vector<std::string> switches;  // Below it.
};
using SlurmTree = std::vector<SlurmSwitch>;

// Units of hosts as leaf switches, and what joins them. Hosts whose name Slurm cannot take are left
// out.
SlurmTree SlurmTreeOf(const TopologyModel& model);
// Whether Slurm and Kubernetes can take the name of a host as it is.
bool IsHostName(const std::string& name);

// kFailure says what is wrong.
Result ReadSlurmConf(const std::string& text, SlurmTree* tree);
Result ReadSlurmYaml(const std::string& text, SlurmTree* tree);

// Puts the hosts that only `before` has where it has them, with what joins them to the rest. Gives
// their names.
std::vector<std::string> KeepAbsent(const SlurmTree& before, SlurmTree* now);

std::string WriteSlurmConf(const SlurmTree& tree);
std::string WriteSlurmYaml(const SlurmTree& tree);

}  // namespace fabricd::cli
