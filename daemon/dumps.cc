// SPDX-License-Identifier: Apache-2.0
#include "daemon/dumps.h"

#include "common/status.h"
#include "fabric/opensm_dumps.h"

namespace fabricd::daemon {

absl::StatusOr<std::map<std::string, std::string>> DumpView(const sweep::FabricView& view) {
  if (view.plan == nullptr) return Unavailable("no routing plan has been made yet");
  const routing::RoutingPlan& plan = *view.plan;
  const fabric::EgressPortOf egress = [&plan](NodeIndex node, Lid lid) {
    return plan.HasRow(node) ? plan.EgressPort(node, lid) : routing::kNoRoute;
  };
  const fabric::MulticastEntriesOf no_multicast = [](NodeIndex) {
    return std::vector<fabric::MulticastEntry>();  // Until the SA manages groups.
  };
  std::map<std::string, std::string> files;
  auto file = [&files](const char* name) { return fabric::AppendTo(files[name]); };
  fabric::WriteSubnetLst(*view.snapshot, *view.lids, view.sm.port.node, file("opensm-subnet.lst"));
  fabric::WriteFdbs(*view.snapshot, *view.lids, egress, file("opensm.fdbs"));
  fabric::WriteLftsDump(*view.snapshot, *view.lids, egress, file("opensm-lfts.dump"));
  fabric::WriteMcfdbs(*view.snapshot, no_multicast, file("opensm.mcfdbs"));
  return files;
}

}  // namespace fabricd::daemon
