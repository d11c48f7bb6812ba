// SPDX-License-Identifier: Apache-2.0
// The stages of a programming run, and the work items that it lists.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "common/ids.h"
#include "mad/wire/mad_header.h"
#include "mad/wire/vendor_smp.h"

namespace fabricd::sweep {

// Each stage ends with the last response to its requests. StageSequencer defines their orders.
enum class ProgramStage : uint8_t {
  // Unknown LFT blocks up to LinearFDBTop: another SM's, or those of a lost Set. Unknown MFT
  // blocks. P_Keys of switch ports that must enforce partitions. Alias GUIDs. Adaptive routing.
  kReadTables,
  kSwitches,   // SwitchInfo: LinearFDBTop, LifeTimeValue, PortStateChange cleared.
  kGuids,      // GUIDInfo: alias GUIDs.
  kKeys,       // P_KeyTables.
  kPorts,      // PortInfo: LID, link parameters, enforcement of partitions.
  kTables,     // LFT blocks in the order of the PushPlan. Waits for the plan.
  kTrees,      // MFTs for the trees of the plan. Waits for the trees.
  kReadLanes,  // Plan with several VLs: unknown SLtoVL mappings and arbitration.
  kLanes,      // The same: writes SLtoVLMappingTables and VLArbitrationTables.
  kHeld,       // PortInfo: ports that holds disable or enable, after the tables.
  kArm,        // PortInfo: INIT → ARMED.
  kActivate,   // PortInfo: ARMED → ACTIVE.
  kDone,
};
// For messages.
constexpr std::string_view StageName(ProgramStage stage) {
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

// The purpose of a request. Of two requests for one block, the lower value goes first.
enum class Work : uint8_t {
  kReadLft,
  kSetSwitchInfo,
  kReadPKeys,
  kSetPKeys,
  kReadGuids,
  kSetGuids,
  kConfigurePort,
  kSetLft,
  kArm,
  kActivate,
  kDisable,
  kEnable,
  kReadPort,  // Again, because it may have changed.
  kReadMap,
  kSetMap,
  kSetWholeMap,  // All SLtoVL mappings of a switch at once.
  kReadArbitration,
  kSetArbitration,
  kReadMft,
  kSetMft,
  kSetMftTop,
  // Attributes of vendors.
  kReadCapabilities,     // GeneralInfo
  kReadAdaptiveRouting,  // ARInfo
  kCount,
};

// The attribute of the request.
constexpr wire::AttributeId AttributeOf(Work work) {
  switch (work) {
    case Work::kReadLft:
    case Work::kSetLft: return wire::AttributeId::kLinearForwardingTable;
    case Work::kSetSwitchInfo:
    case Work::kSetMftTop: return wire::AttributeId::kSwitchInfo;
    case Work::kReadPKeys:
    case Work::kSetPKeys: return wire::AttributeId::kPKeyTable;
    case Work::kReadGuids:
    case Work::kSetGuids: return wire::AttributeId::kGuidInfo;
    case Work::kConfigurePort:
    case Work::kArm:
    case Work::kActivate:
    case Work::kDisable:
    case Work::kEnable:
    case Work::kReadPort: return wire::AttributeId::kPortInfo;
    case Work::kReadMap:
    case Work::kSetMap:
    case Work::kSetWholeMap: return wire::AttributeId::kSlToVlMappingTable;
    case Work::kReadArbitration:
    case Work::kSetArbitration: return wire::AttributeId::kVlArbitrationTable;
    case Work::kReadMft:
    case Work::kSetMft: return wire::AttributeId::kMulticastForwardingTable;
    case Work::kReadCapabilities: return wire::GeneralInfo::kAttribute;
    case Work::kReadAdaptiveRouting: return wire::ArInfo::kAttribute;
    case Work::kCount: break;
  }
  return wire::AttributeId::kNone;
}
// Whether it is about the switch as a whole, so that `port` is no port number.
constexpr bool IsOfSwitch(Work work) {
  if (work == Work::kReadCapabilities || work == Work::kReadAdaptiveRouting) return true;
  switch (AttributeOf(work)) {
    case wire::AttributeId::kLinearForwardingTable:
    case wire::AttributeId::kMulticastForwardingTable:
    case wire::AttributeId::kSwitchInfo: return true;
    default: return false;
  }
}

// Whether it is listed only where a value differs, and is not done until that is written: operators
// rely on it.
constexpr bool IsPromised(Work work) {
  return work == Work::kSetPKeys || work == Work::kSetGuids || work == Work::kDisable ||
         work == Work::kEnable;
}

// One request to be made. What `block` and `port` mean depends on the work:
//   LFT, P_Keys, GUIDs   the block, and the port whose table it is (LFT: port 0)
//   MFT                  the block of MLIDs, and the position of the 16 ports as `port`
//   SLtoVL of a switch   in << 8 | out, and port 0
//   arbitration          the block, and the port
//   PortInfo             0, and the port
struct WorkItem {
  NodeIndex node;
  uint16_t block = 0;
  PortNum port;
  Work work = Work::kReadLft;

  PortRef ref() const { return {node, port}; }
  friend bool operator==(const WorkItem&, const WorkItem&) = default;
};

}  // namespace fabricd::sweep
