// SPDX-License-Identifier: Apache-2.0
// AppliedState: the only record of what devices were confirmed to hold beside what the snapshot
// says, of what is in flight to them, and of what is unknown. Nothing here is a wish: what is to be
// written is the difference between what is wanted and this.
//
// The rules are the same for every table. A block is known between the GetResp that showed it and
// the next Set of it. A Set in flight makes it unknown. A lost Set leaves it unknown until it is
// read or written again. A device that answers a Set with other values contradicts it: what it
// shows proves nothing, so it is written until it agrees.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "fabric/port_tables.h"
#include "fabric/snapshot.h"
#include "mad/wire/tables.h"
#include "routing/transition/push_plan.h"
#include "sweep/device/applied_blocks.h"
#include "sweep/device/applied_lft.h"
#include "sweep/device/applied_mft.h"
#include "sweep/device/lane_tables.h"
#include "sweep/device/port_config.h"

namespace fabricd::sweep {

class AppliedState {
 public:
  AppliedLft& Lft(NodeIndex node);
  AppliedMft& Mft(NodeIndex node);
  const AppliedMft* FindMft(NodeIndex node) const;
  // Nothing of its forwarding table was ever read or written.
  bool IsUntouched(NodeIndex node) const {
    return node.value() >= lfts_.size() || lfts_[node.value()].IsUntouched();
  }
  // What the switches hold for multicast, as far as it is known.
  routing::MulticastPlan Trees() const;
  bool HasTrees() const;
  // All tables are known to be those of the plan, and no switch without a row in it was read.
  bool Holds(const routing::RoutingPlan& plan) const;
  // Of all switches, for OrderPush().
  routing::AppliedTables Tables() const;
  AppliedVls& vls() { return vls_; }
  // Partition and lane tables of all ports as they were last read or confirmed. Made again only
  // when one has changed.
  std::shared_ptr<const fabric::TablesByPort> PortTables(const fabric::FabricSnapshot& snapshot);
  // A port's P_Key table. To write beside an unread block could remove a key in use.
  using PKeyBlocks = AppliedBlocks<wire::PKeyTable>;
  PKeyBlocks& PKeys(PortRef port) {
    port_tables_ = nullptr;
    return pkeys_[port];
  }
  const PKeyBlocks* FindPKeys(PortRef port) const;
  // The same of a switch's external port, by which it enforces partitions. Unknown blocks may hold
  // anything.
  PKeyBlocks& SwitchKeys(PortRef port) {
    port_tables_ = nullptr;
    return switch_keys_[port];
  }
  const PKeyBlocks* FindSwitchKeys(PortRef port) const;
  // The enforcement in the last Set of PortInfo that was confirmed for a switch's external port or
  // is in flight. The observed PortInfo may be older. nullopt: the observed PortInfo is valid.
  void NoteRequestedEnforcement(PortRef port, Enforcement enforcement) {
    requested_[port] = enforcement;
  }
  void ForgetEnforcement(PortRef port) { requested_.erase(port); }
  std::optional<Enforcement> RequestedEnforcement(PortRef port) const;
  // The GUIDs of an end port, its own and those of virtual functions, up to this block at least.
  using GuidBlocks = AppliedBlocks<wire::GuidInfo>;
  GuidBlocks& GuidsTo(PortRef port, uint8_t block) {
    GuidBlocks& blocks = guids_[port];
    blocks.GrowTo(block + size_t{1});
    return blocks;
  }
  // Null: none was asked for.
  const GuidBlocks* FindGuids(PortRef port) const;
  // All are to be read again, except those with an answer that contradicts the last Set.
  void ForgetGuids();
  void ForgetGuids(PortRef port) { guids_.erase(port); }

  // A Set of this attribute is in flight: another one would not know what it changes.
  using Busy = std::tuple<PortRef, wire::AttributeId>;
  void SetBusy(PortRef port, wire::AttributeId attribute) { busy_.insert({port, attribute}); }
  void ClearBusy(PortRef port, wire::AttributeId attribute) { busy_.erase({port, attribute}); }
  bool IsBusy(PortRef port, wire::AttributeId attribute) const {
    return busy_.contains({port, attribute});
  }

  // No answers will come to what is in flight: what it was to change is unknown.
  void AbandonInFlight();

  // A PortInfo Set that the device answered without taking every value: not repeated while
  // what is wanted and what the device shows stay the same.
  bool IsKnownRefusal(PortRef port, uint64_t fingerprint) const;
  void NoteRefusal(PortRef port, uint64_t fingerprint) { refusals_[port] = fingerprint; }
  void ForgetRefusal(PortRef port) { refusals_.erase(port); }
  // The device has restarted: nothing that was written to it is left.
  void ForgetWritten(NodeIndex node);
  // The P_Key tables of a switch's external ports, and what they were last set to enforce.
  void ForgetSwitchKeys(NodeIndex node);
  // Another SM may have written: nothing of the switches' tables is known any more.
  void ForgetTables();
  // The device is gone.
  void Remove(NodeIndex node);

 private:
  // By port, each to be written again where the device has restarted or may have been written to.
  auto WrittenByPort() { return std::tie(switch_keys_, requested_, guids_, refusals_); }

  std::vector<AppliedLft> lfts_;  // [NodeIndex]
  std::vector<AppliedMft> mfts_;  // [NodeIndex]
  AppliedVls vls_;
  absl::flat_hash_map<PortRef, PKeyBlocks> pkeys_, switch_keys_;
  absl::flat_hash_map<PortRef, Enforcement> requested_;
  absl::flat_hash_map<PortRef, GuidBlocks> guids_;
  std::shared_ptr<const fabric::TablesByPort> port_tables_;  // Null: to be made again.
  uint64_t vls_version_ = 0;                                 // Of vls_, that it was made of.
  absl::flat_hash_map<PortRef, uint64_t> refusals_;
  std::set<Busy> busy_;
};

}  // namespace fabricd::sweep
