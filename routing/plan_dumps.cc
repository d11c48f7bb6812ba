// SPDX-License-Identifier: Apache-2.0
#include "routing/plan_dumps.h"

#include <vector>

namespace fabricd::routing {

void WriteDumps(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
                const RoutingPlan& plan, NodeIndex sm_node, const OpenDump& open) {
  const fabric::EgressPortOf egress = [&plan](NodeIndex node, Lid lid) {
    return plan.HasRow(node) ? plan.EgressPort(node, lid) : kNoRoute;
  };
  const fabric::MulticastEntriesOf no_multicast = [](NodeIndex) {
    return std::vector<fabric::MulticastEntry>();  // Until the SA manages groups.
  };
  fabric::WriteSubnetLst(snapshot, lids, sm_node, open("opensm-subnet.lst"));
  fabric::WriteFdbs(snapshot, lids, egress, open("opensm.fdbs"));
  fabric::WriteLftsDump(snapshot, lids, egress, open("opensm-lfts.dump"));
  fabric::WriteMcfdbs(snapshot, no_multicast, open("opensm.mcfdbs"));
  if (plan.lanes == 1) return;
  const fabric::ServiceLevelOf level = [&plan](NodeIndex node, Lid lid) {
    return plan.ServiceLevel(node, lid);
  };
  fabric::WritePathSlDump(snapshot, lids, level, open("opensm-path-sl.dump"));
  fabric::WriteSl2vlDump(snapshot, plan.lanes, open("opensm-sl2vl.dump"));
}

}  // namespace fabricd::routing
