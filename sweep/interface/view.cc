// SPDX-License-Identifier: Apache-2.0
#include "sweep/interface/view.h"

#include "fabric/snapshot_builder.h"

namespace fabricd::sweep {

std::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kIdle: return "IDLE";
    case Phase::kDiscovering: return "DISCOVERING";
    case Phase::kElecting: return "ELECTING";
    case Phase::kAssigningLids: return "ASSIGNING_LIDS";
    case Phase::kRouting: return "ROUTING";
    case Phase::kProgramming: return "PROGRAMMING";
    case Phase::kBringingUp: return "BRINGING_UP";
    case Phase::kStandby: return "STANDBY";
    case Phase::kSurveying: return "SURVEYING";
  }
  return "UNKNOWN";
}

std::shared_ptr<const FabricView> EmptyView() {
  auto view = std::make_shared<FabricView>();
  view->snapshot = fabric::SnapshotBuilder().Build();
  view->lids = std::make_shared<fabric::LidTable>();
  view->groups = std::make_shared<const fabric::MulticastGroups>();
  view->multicast = std::make_shared<const routing::MulticastPlan>();
  view->partitions = std::make_shared<const policy::PartitionState>();
  view->policy = std::make_shared<policy::PolicyView>();
  return view;
}

}  // namespace fabricd::sweep
