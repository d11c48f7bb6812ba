// SPDX-License-Identifier: Apache-2.0
#include "routing/plan/plan_dumps.h"

#include <map>
#include <vector>

namespace fabricd::routing {
namespace {

void WriteTrees(const fabric::FabricSnapshot& snapshot, const MulticastPlan& multicast,
                const fabric::TextSink& sink) {
  std::map<NodeIndex, std::vector<fabric::MulticastEntry>> entries;
  for (const auto& tree : multicast.trees) {
    for (PortRef port : tree->ports) {
      auto& of_switch = entries[port.node];
      if (of_switch.empty() || of_switch.back().mlid != tree->mlid)
        of_switch.push_back({tree->mlid, {}});
      of_switch.back().ports.push_back(port.port);
    }
  }
  fabric::WriteMcfdbs(
      snapshot, [&entries](NodeIndex node) { return entries[node]; }, sink);
}

}  // namespace

void WriteDumps(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
                const RoutingPlan& plan, const MulticastPlan& multicast, NodeIndex sm_node,
                const OpenDump& open) {
  const fabric::EgressPortOf egress = [&plan](NodeIndex node, Lid lid) {
    return plan.HasRow(node) ? plan.EgressPort(node, lid) : kNoRoute;
  };
  fabric::WriteSubnetLst(snapshot, lids, sm_node, open("opensm-subnet.lst"));
  fabric::WriteFdbs(snapshot, lids, egress, open("opensm.fdbs"));
  fabric::WriteLftsDump(snapshot, lids, egress, open("opensm-lfts.dump"));
  WriteTrees(snapshot, multicast, open("opensm.mcfdbs"));
  if (plan.lanes == 1) return;
  const fabric::ServiceLevelOf level = [&plan](NodeIndex node, Lid lid) {
    return plan.ServiceLevel(node, lid);
  };
  fabric::WritePathSlDump(snapshot, lids, level, open("opensm-path-sl.dump"));
  fabric::WriteSl2vlDump(snapshot, plan.lanes, open("opensm-sl2vl.dump"));
}

}  // namespace fabricd::routing
