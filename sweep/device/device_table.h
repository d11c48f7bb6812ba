// SPDX-License-Identifier: Apache-2.0
// sweep/device: what is known and wanted of each device beside the snapshot.
//
// DeviceTable: how to reach each node (directed route, M_Key) and what its tables were last
// confirmed to hold, beside what the snapshot says. Owned by the core.
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
#include "mad/transaction_engine.h"
#include "mad/wire/tables.h"
#include "routing/transition/push_plan.h"
#include "sweep/device/applied_blocks.h"
#include "sweep/device/applied_mft.h"
#include "sweep/device/lane_tables.h"
#include "sweep/device/port_config.h"
#include "sweep/interface/options.h"

namespace fabricd::sweep {

// The engine's numbers for devices that have no node index: behind a cable that is being probed,
// and whoever asked this SM. They only spread the engine's limits; a node index that large would
// share one, which is harmless.
inline constexpr mad::DeviceId kAskerDevice = 59'999;
inline constexpr mad::DeviceId kProbeDevices = 60'000, kProbeDeviceCount = 4'096;

// One switch's LinearForwardingTable as confirmed: a block is known only between the GetResp that
// showed it and the next Set of it, so a Set whose answer was lost leaves it unknown.
class AppliedLft {
 public:
  static constexpr size_t kBlock = wire::LinearForwardingTable::kEntries;

  // The device has lost its tables, or another SM wrote them. What is in flight stays so.
  void Forget();
  // Nothing known yet: take the row to come as the memory that Confirm() compares with.
  void ExpectRow(const routing::Row& row);
  bool Holds(size_t block, const routing::Row& row) const;
  // Of the first `blocks`, those that it does not hold, ascending.
  std::vector<uint16_t> Differences(size_t blocks, const routing::Row& row) const;
  void Confirm(size_t block, const std::array<uint8_t, kBlock>& bytes);
  // A Set of this block leaves: it is not known until Confirm(), and may not be written again until
  // Landed(): two Sets of one block under way could arrive in either order.
  void Sent(size_t block, const std::array<uint8_t, kBlock>& bytes);
  // Answered or given up.
  void Landed(size_t block);
  void LandAll() {
    for (auto& [block, flight] : flights_) flight.landed = true;
  }
  // It did not leave after all.
  void Unsent(size_t block);
  bool IsInFlight(size_t block) const {
    const auto it = flights_.find(block);
    return it != flights_.end() && !it->second.landed;
  }
  // What else the block may hold than row() says; null: what a Set did to it is known.
  const std::array<uint8_t, kBlock>* Maybe(size_t block) const {
    const auto it = flights_.find(block);
    return it == flights_.end() ? nullptr : &it->second.bytes;
  }
  // The answer to the last Set of this block. False: it shows something else, which is no proof, so
  // the block is written until the device agrees. Until Confirm().
  bool Answer(size_t block, const std::array<uint8_t, kBlock>& shown);
  bool IsDistrusted(size_t block) const { return distrusted_.contains(block); }
  // Takes the memory of `row` where it is equal.
  void ShareMemory(const routing::Row& row) { row_.ShareEqualPages(row); }
  const routing::Row& row() const { return row_; }
  bool Knows(size_t block) const { return block < known_.size() && known_[block]; }
  bool KnowsAll() const { return known_count_ == row_.blocks(); }
  // False: nothing was ever confirmed since the device came or lost its tables.
  bool WasRead() const { return was_read_; }
  // Nor was anything written.
  bool IsUntouched() const { return !was_read_ && distrusted_.empty() && flights_.empty(); }

 private:
  routing::Row row_;
  std::vector<bool> known_;
  size_t known_count_ = 0;
  bool was_read_ = false;
  std::set<size_t> distrusted_;
  struct Flight {
    bool was_known = false;
    bool landed = false;  // Without an answer: it may have been written.
    std::array<uint8_t, kBlock> bytes{};
  };
  std::map<size_t, Flight> flights_;  // Until Confirm(), Unsent() or Forget().
};

class DeviceTable {
 public:
  // `own`: the port of this SM. Its Gets of SMInfo name it: such a requester needs no SM_Key
  // (KeyProof).
  explicit DeviceTable(const SmOptions& options, Guid own = {}) : options_(&options), own_(own) {}

  bool Has(NodeIndex node) const;
  const wire::DirectedPath& PathTo(NodeIndex node) const;
  void SetPath(NodeIndex node, const wire::DirectedPath& path);
  void SetAlternative(NodeIndex node, const wire::DirectedPath& path);
  // A device answered by this way: if that was its alternative, it becomes the first choice.
  void NoteAnswer(mad::DeviceId device, const wire::DirectedPath& way);
  // A CA's port. A CA's ports are end ports of their own: each has its M_Key, P_KeyTable
  // Gets and Sets name no port (IBA vol 1 §14.2.5.7), and devices refuse PortInfo Sets through the
  // neighbour.
  void SetPortPath(PortRef port, const wire::DirectedPath& path);
  // Null: the port is reached by PathTo(port.node).
  const wire::DirectedPath* FurtherPathTo(PortRef port) const;
  // The key that the device was read to have; before that requests carry the configured one.
  void SetMKey(PortRef port, MKey key);
  MKey ConfiguredMKey(Guid port_guid) const;
  MKey MKeyOf(NodeIndex node) const;
  void Remove(NodeIndex node);
  // Another SM may have written: nothing of the switches' tables is known any more.
  void ForgetTables();

  mad::SmpRequest Get(NodeIndex node, wire::AttributeId attribute, uint32_t modifier) const;
  template <typename Attribute>
  mad::SmpRequest Set(NodeIndex node, uint32_t modifier, const Attribute& value) const {
    mad::SmpRequest request = Get(node, Attribute::kAttribute, modifier);
    request.method = wire::Method::kSet;
    value.Encode(request.data);
    return request;
  }
  // The same for what belongs to one port: through that port where the node is a CA.
  mad::SmpRequest Get(PortRef port, wire::AttributeId attribute, uint32_t modifier) const;
  // SMInfo of whoever is at the end of `path`: it may be no SM, so the request has no M_Key.
  mad::SmpRequest GetSmInfo(const wire::DirectedPath& path, mad::DeviceId device) const;
  template <typename Attribute>
  mad::SmpRequest Set(PortRef port, uint32_t modifier, const Attribute& value) const {
    mad::SmpRequest request = Get(port, Attribute::kAttribute, modifier);
    request.method = wire::Method::kSet;
    value.Encode(request.data);
    return request;
  }

  AppliedLft& Lft(NodeIndex node);
  AppliedMft& Mft(NodeIndex node);
  const AppliedMft* FindMft(NodeIndex node) const;
  // What the switches hold for multicast, as far as it is known.
  routing::MulticastPlan AppliedTrees() const;
  bool HasTrees() const;
  // A switch that forwards has come, or come back, and its table was neither read nor written.
  bool HasUnreadTables(const fabric::FabricSnapshot& snapshot) const;
  // All tables are known to be those of the plan, and no switch without a row in it was read.
  bool Hold(const routing::RoutingPlan& plan) const;
  // Of all switches, for OrderPush().
  routing::AppliedTables Applied() const;
  AppliedLanes& lanes() { return lanes_; }
  // Partition and lane tables of all ports as they were last read or confirmed. Made anew only
  // where they have changed.
  std::shared_ptr<const fabric::TablesByPort> PortTables(const fabric::FabricSnapshot& snapshot);
  // A port's P_Key table. To write beside an unread block could remove a key in use.
  using PKeyBlocks = AppliedBlocks<wire::PKeyTable>;
  PKeyBlocks& PKeys(PortRef port) {
    port_tables_ = nullptr;
    return pkeys_[port];
  }
  const PKeyBlocks* FindPKeys(PortRef port) const;
  // The same of a switch's external port, by which it enforces partitions; what is not known may be
  // anything.
  PKeyBlocks& SwitchKeys(PortRef port) {
    port_tables_ = nullptr;
    return switch_keys_[port];
  }
  const PKeyBlocks* FindSwitchKeys(PortRef port) const;
  // What the last Set of PortInfo that a switch's external port has taken, or that is under way,
  // says of its enforcement. What the port shows may be older. nullopt: go by what it shows.
  void TellEnforcement(PortRef port, Enforcement told) { told_[port] = told; }
  void ForgetEnforcement(PortRef port) { told_.erase(port); }
  std::optional<Enforcement> ToldEnforcement(PortRef port) const;
  // The GUIDs of an end port, its own and those of virtual functions, up to this block at least.
  using GuidBlocks = AppliedBlocks<wire::GuidInfo>;
  GuidBlocks& GuidsTo(PortRef port, uint8_t block) {
    GuidBlocks& blocks = guids_[port];
    blocks.GrowTo(block + size_t{1});
    return blocks;
  }
  // Null: none was asked for.
  const GuidBlocks* FindGuids(PortRef port) const;
  // All are to be read again, except those that are distrusted.
  void ForgetGuids();
  void ForgetGuids(PortRef port) { guids_.erase(port); }

  // A Set of this attribute is under way: another one would not know what it changes.
  using Busy = std::tuple<PortRef, wire::AttributeId>;
  void SetBusy(PortRef port, wire::AttributeId attribute) { busy_.insert({port, attribute}); }
  void ClearBusy(PortRef port, wire::AttributeId attribute) { busy_.erase({port, attribute}); }
  bool IsBusy(PortRef port, wire::AttributeId attribute) const {
    return busy_.contains({port, attribute});
  }

  // No answers will come any more to what is under way.
  void LoseTrack();

  // A PortInfo Set that the device answered without taking every value: not repeated while the wish
  // and what the device shows stay the same.
  bool IsSettled(PortRef port, uint64_t fingerprint) const;
  void Settle(PortRef port, uint64_t fingerprint) { settled_[port] = fingerprint; }
  void Unsettle(PortRef port) { settled_.erase(port); }
  // The device has started anew: nothing that was written to it is left.
  void ForgetWritten(NodeIndex node);
  // The P_Key tables of a switch's external ports, and what they were told to enforce.
  void ForgetSwitchKeys(NodeIndex node);

 private:
  struct FurtherPort {
    PortNum port;
    wire::DirectedPath path;
    std::optional<MKey> m_key;
  };
  struct Device {
    bool present = false;
    wire::DirectedPath path;
    std::optional<wire::DirectedPath> alternative;
    std::optional<MKey> m_key;
    std::vector<FurtherPort> further_ports;  // Of a CA: those that `path` does not lead through.
  };
  Device& At(NodeIndex node);
  FurtherPort* FindFurther(PortRef port);

  const SmOptions* options_;
  Guid own_;
  std::vector<Device> devices_;   // [NodeIndex]
  std::vector<AppliedLft> lfts_;  // [NodeIndex]
  std::vector<AppliedMft> mfts_;  // [NodeIndex]
  AppliedLanes lanes_;
  absl::flat_hash_map<PortRef, PKeyBlocks> pkeys_, switch_keys_;
  absl::flat_hash_map<PortRef, Enforcement> told_;
  absl::flat_hash_map<PortRef, GuidBlocks> guids_;
  std::shared_ptr<const fabric::TablesByPort> port_tables_;  // Null: to be made anew.
  uint64_t lanes_version_ = 0;                               // Of lanes_, that it was made of.
  absl::flat_hash_map<PortRef, uint64_t> settled_;
  std::set<Busy> busy_;
};

}  // namespace fabricd::sweep
