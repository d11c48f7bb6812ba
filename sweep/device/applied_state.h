// SPDX-License-Identifier: Apache-2.0
// AppliedState: what devices were confirmed to hold beyond the snapshot, what is in flight to them,
// and what is unknown. This is the only record of it. It contains no desired values: a write is the
// difference between the desired state and this.
//
// All tables follow the same rules. A block is known from the GetResp that showed it until the next
// Set of it. A Set in flight makes it unknown. A lost Set leaves it unknown until it is read or
// written again. If a device answers a Set with other values, the block is contradicted: the
// device's responses prove nothing, so the block is written until the device agrees.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "common/ids.h"
#include "fabric/port_tables.h"
#include "fabric/snapshot.h"
#include "mad/wire/tables.h"
#include "routing/transition/push_plan.h"
#include "sweep/device/adaptive_routing.h"
#include "sweep/device/applied_blocks.h"
#include "sweep/device/applied_lft.h"
#include "sweep/device/applied_mft.h"
#include "sweep/device/lane_tables.h"
#include "sweep/device/port_config.h"
#include "sweep/interface/switch_tables.h"

namespace fabricd::sweep {

class AppliedState {
 public:
  AppliedLft& Lft(NodeIndex node);
  // Null: nothing is known of it.
  const AppliedLft* FindLft(NodeIndex node) const {
    return node.value() < lfts_.size() ? &lfts_[node.value()] : nullptr;
  }
  AppliedMft& Mft(NodeIndex node);
  const AppliedMft* FindMft(NodeIndex node) const;
  // Its LFT was never read or written.
  bool IsUntouched(NodeIndex node) const {
    return node.value() >= lfts_.size() || lfts_[node.value()].IsUntouched();
  }
  // The multicast trees that the switches hold, as far as known.
  routing::MulticastPlan Trees() const;
  bool HasTrees() const;
  // True: all LFTs are known and equal to the plan, and no switch without a row in it was read.
  bool Holds(const routing::RoutingPlan& plan) const;
  // Of all switches, for OrderPush().
  routing::AppliedTables Tables() const;
  AdaptiveRouting& adaptive_routing() { return adaptive_routing_; }
  const AdaptiveRouting& adaptive_routing() const { return adaptive_routing_; }
  AppliedVls& vls() { return vls_; }
  // P_Key and VL tables of all ports as last read or confirmed. Rebuilt only when one has changed.
  std::shared_ptr<const fabric::TablesByPort> PortTables(const fabric::FabricSnapshot& snapshot);
  // The P_Key table of a port. All blocks must be known before a write, or a key in use could be
  // removed.
  using PKeyBlocks = AppliedBlocks<wire::PKeyTable>;
  PKeyBlocks& PKeys(PortRef port) {
    port_tables_ = nullptr;
    return pkeys_[port];
  }
  const PKeyBlocks* FindPKeys(PortRef port) const;
  // The P_Key table of a switch's external port, by which it enforces partitions. Unknown blocks
  // may hold anything.
  PKeyBlocks& SwitchKeys(PortRef port) {
    port_tables_ = nullptr;
    return switch_keys_[port];
  }
  const PKeyBlocks* FindSwitchKeys(PortRef port) const;
  // The enforcement in the last PortInfo Set of a switch's external port that was confirmed or is
  // in flight. The observed PortInfo may be older. nullopt: use the observed PortInfo.
  void NoteRequestedEnforcement(PortRef port, Enforcement enforcement) {
    requested_[port] = enforcement;
  }
  void ForgetEnforcement(PortRef port) { requested_.erase(port); }
  std::optional<Enforcement> RequestedEnforcement(PortRef port) const;
  // The GUIDs of an end port, its own and those of virtual functions. Has at least `blocks` blocks.
  using GuidBlocks = AppliedBlocks<wire::GuidInfo>;
  GuidBlocks& GuidsTo(PortRef port, uint8_t block) {
    GuidBlocks& blocks = guids_[port];
    blocks.GrowTo(block + size_t{1});
    return blocks;
  }
  // Null: none was requested.
  const GuidBlocks* FindGuids(PortRef port) const;
  // All GUIDs must be read again, except blocks contradicted by the last response.
  void ForgetGuids();
  void ForgetGuids(PortRef port) { guids_.erase(port); }

  // A Set of this attribute is in flight. No second one is sent, because it would not know the
  // values that it changes.
  using Busy = std::tuple<PortRef, wire::AttributeId>;
  void SetBusy(PortRef port, wire::AttributeId attribute) { busy_.insert({port, attribute}); }
  void ClearBusy(PortRef port, wire::AttributeId attribute) { busy_.erase({port, attribute}); }
  bool IsBusy(PortRef port, wire::AttributeId attribute) const {
    return busy_.contains({port, attribute});
  }

  // The MLIDs that have an entry in some switch, as far as they are known.
  std::set<Lid> HeldMlids() const;

  // Responses to Sets in flight will not arrive any more: what they change is unknown.
  void AbandonInFlight();

  // The device answered this PortInfo Set without adopting every value. The Set is not repeated
  // while the desired and the observed values stay the same.
  bool IsKnownRefusal(PortRef port, uint64_t fingerprint) const;
  void NoteRefusal(PortRef port, uint64_t fingerprint) { refusals_[port] = fingerprint; }
  void ForgetRefusal(PortRef port) { refusals_.erase(port); }
  // The device has restarted and lost everything that was written to it.
  void ForgetWritten(NodeIndex node);
  // Forgets the P_Key tables of a switch's external ports, and their last enforcement.
  void ForgetSwitchKeys(NodeIndex node);
  // Another SM may have written: all tables of switches are unknown.
  void ForgetTables();
  // The LFTs as this SM has read them, by NodeGUID, where all blocks that a switch uses are known.
  ReaderTables::Rows ReadLfts(const fabric::FabricSnapshot& snapshot) const;
  // Tables that a predecessor has confirmed; null: none. They are applied if this SM continues what
  // the predecessor did when it becomes master for the first time, and otherwise nothing.
  void SetVouched(std::shared_ptr<const SwitchTables> tables) { vouched_ = std::move(tables); }
  void TakeVouched(bool continues, const fabric::FabricSnapshot& snapshot);
  // The device has disappeared.
  void Remove(NodeIndex node);

 private:
  // By port, each to be written again where the device has restarted or may have been written to.
  auto WrittenByPort() { return std::tie(switch_keys_, requested_, guids_, refusals_); }

  std::vector<AppliedLft> lfts_;  // [NodeIndex]
  std::vector<AppliedMft> mfts_;  // [NodeIndex]
  AdaptiveRouting adaptive_routing_;
  AppliedVls vls_;
  absl::flat_hash_map<PortRef, PKeyBlocks> pkeys_, switch_keys_;
  absl::flat_hash_map<PortRef, Enforcement> requested_;
  absl::flat_hash_map<PortRef, GuidBlocks> guids_;
  std::shared_ptr<const fabric::TablesByPort> port_tables_;  // Null: must be rebuilt.
  uint64_t vls_version_ = 0;                                 // The version of vls_ in port_tables_.
  absl::flat_hash_map<PortRef, uint64_t> refusals_;
  absl::flat_hash_set<Busy> busy_;
  std::shared_ptr<const SwitchTables> vouched_;
};

}  // namespace fabricd::sweep
