// SPDX-License-Identifier: Apache-2.0
// TopologyModel: a fabric as schedulers and pictures want it: units of hosts that hang on the same
// leaves, and what joins units together, tier by tier. Pure; points into the fabric that it was
// made of.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fabric/v1/topology_service.pb.h"

namespace fabricd::cli {

namespace pb = ::fabric::v1;

// All cables between two switches, or between a host and a switch.
struct CableBundle {
  int from = 0, to = 0;  // Switches; a host and a switch.
  int cables = 0;
  int troubled =
      0;  // Of these, not ACTIVE, degraded, suppressed or held otherwise than by a cordon.
  std::string trouble;  // Of the first of them: "spine1/3: ACTIVE, degraded".
};

// Hosts whose ports hang on the same leaves: a scalable unit, or what hangs on one leaf.
struct HostUnit {
  std::string name;         // Unique, without blanks and brackets.
  std::vector<int> hosts;   // Into Topology.hosts.
  std::vector<int> leaves;  // Into switches, by rail, then name.
};

// Units that switches up to one tier join. Those of tier 1 are the units themselves.
struct Cluster {
  std::string name;  // Unique, as of units.
  uint32_t tier = 1;
  int unit = -1;              // Of tier 1.
  int parent = -1;            // Into clusters; -1: none.
  std::vector<int> children;  // Into clusters.
};

struct TopologyModel {
  explicit TopologyModel(const pb::Topology& fabric);

  // Units from the cluster upwards, closest first.
  std::vector<std::string> NamesAbove(int unit) const;

  const pb::Topology& topology;
  std::vector<const pb::Node*> switches;  // As the topology orders them.
  std::map<std::string, int> switch_of;   // By GUID.
  std::vector<CableBundle> switch_links;  // By from, to; from is of the lower tier.
  std::vector<CableBundle> host_links;    // By host, switch.
  std::vector<HostUnit> units;
  std::vector<Cluster> clusters;  // The units first, then tier by tier.
  std::vector<int> unlinked;      // Hosts that no unit has.
};

}  // namespace fabricd::cli
