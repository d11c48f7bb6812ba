// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/work.h"

namespace fabricd::sweep {

using wire::AttributeId;

std::string_view StageName(ProgramStage stage) {
  switch (stage) {
    case ProgramStage::kReadTables: return "reading tables";
    case ProgramStage::kSwitches: return "switches";
    case ProgramStage::kGuids: return "alias GUIDs";
    case ProgramStage::kKeys: return "P_Keys";
    case ProgramStage::kPorts: return "ports";
    case ProgramStage::kTables: return "forwarding tables";
    case ProgramStage::kTrees: return "multicast tables";
    case ProgramStage::kReadLanes: return "reading lanes";
    case ProgramStage::kLanes: return "lanes";
    case ProgramStage::kHeld: return "held ports";
    case ProgramStage::kArm: return "arming";
    case ProgramStage::kActivate: return "activating";
    case ProgramStage::kDone: return "done";
  }
  return "unknown";
}

AttributeId AttributeOf(Work work) {
  switch (work) {
    case Work::kReadLft:
    case Work::kSetLft: return AttributeId::kLinearForwardingTable;
    case Work::kSetSwitchInfo:
    case Work::kSetMftTop: return AttributeId::kSwitchInfo;
    case Work::kReadPKeys:
    case Work::kSetPKeys: return AttributeId::kPKeyTable;
    case Work::kReadGuids:
    case Work::kSetGuids: return AttributeId::kGuidInfo;
    case Work::kConfigurePort:
    case Work::kArm:
    case Work::kActivate:
    case Work::kDisable:
    case Work::kEnable:
    case Work::kReadPort: return AttributeId::kPortInfo;
    case Work::kReadMap:
    case Work::kSetMap:
    case Work::kSetWholeMap: return AttributeId::kSlToVlMappingTable;
    case Work::kReadArbitration:
    case Work::kSetArbitration: return AttributeId::kVlArbitrationTable;
    case Work::kReadMft:
    case Work::kSetMft: return AttributeId::kMulticastForwardingTable;
    case Work::kCount: break;
  }
  return AttributeId::kNone;
}

bool IsOfSwitch(Work work) {
  switch (AttributeOf(work)) {
    case AttributeId::kLinearForwardingTable:
    case AttributeId::kMulticastForwardingTable:
    case AttributeId::kSwitchInfo: return true;
    default: return false;
  }
}

}  // namespace fabricd::sweep
