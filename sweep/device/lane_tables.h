// SPDX-License-Identifier: Apache-2.0
// The SLtoVLMappingTables (IBA vol 1 §14.2.5.8) and VLArbitrationTables (§14.2.5.9) that a plan
// with several VLs needs, and their last confirmed contents. A plan with one VL needs none. SL 0
// maps to VL 0 in every mapping that fabricd writes. And LFTs without a dependency cycle have none
// on any VL, so the mappings of an earlier plan may stay.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "common/ids.h"
#include "fabric/snapshot.h"
#include "mad/wire/tables.h"

namespace fabricd::sweep {

// SL n takes VL n % lanes. A link with fewer VLs takes that modulo its VLs. Such a link leads to an
// end port, where no dependency continues.
wire::SlToVlMappingTable VlMap(uint8_t lanes, const wire::PortInfo& out);

// The low-priority table with an entry added for each VL that has none. nullopt: all have one, or
// `cap` (VLArbLowCap) leaves no room.
std::optional<wire::VlArbitrationTable> ServeVls(const wire::VlArbitrationTable& low, uint8_t cap,
                                                 int lanes);

// The block of a VLArbitrationTable that plans read and write: low-priority entries 0-31.
inline constexpr uint8_t kLowArbitrationBlock = 1, kLastArbitrationBlock = 4;

// One table of one device.
struct VlTable {
  PortRef port;  // Of a switch: port 0 for mappings, the port itself for arbitration.
  enum class Kind : uint8_t { kMap, kWholeMap, kArbitration } kind;
  uint16_t in_out = 0;  // kMap of a switch: in << 8 | out. kArbitration: the block.

  wire::AttributeId attribute() const {
    return kind == Kind::kArbitration ? wire::AttributeId::kVlArbitrationTable
                                      : wire::AttributeId::kSlToVlMappingTable;
  }
  uint32_t Modifier(bool is_switch) const;
  friend bool operator<(const VlTable& a, const VlTable& b) {
    return std::tie(a.port, a.kind, a.in_out) < std::tie(b.port, b.kind, b.in_out);
  }
};
// The tables that a plan with several VLs needs at a node, for links that are up.
std::vector<VlTable> VlTablesOf(const fabric::FabricSnapshot& snapshot, const fabric::Node& node);
// All tables of the node, for ports with and without a link.
std::vector<VlTable> AllVlTablesOf(const fabric::Node& node);

// Confirmed contents. A table is known from the GetResp that showed it until the next Set.
class AppliedVls {
 public:
  const wire::SmpData* Find(const VlTable& table) const {
    const auto found = tables_.find(table);
    return found == tables_.end() ? nullptr : &found->second;
  }
  void Confirm(const VlTable& table, const wire::SmpData& bytes) {
    ++version_;
    tables_[table] = bytes;
  }
  void MarkUnknown(const VlTable& table) {
    ++version_;
    tables_.erase(table);
  }
  void Forget(NodeIndex node);
  void Clear() {
    ++version_;
    tables_.clear();
    read_.clear();
  }
  // All tables of the node were read, as far as it returns them. Valid until Forget(). Beyond
  // kMostTables in total, tables that the plan does not use are dropped before more are read.
  static constexpr size_t kMostTables = 262'144;
  void MarkRead(NodeIndex node) {
    ++version_;
    read_.insert(node);
  }
  bool WasRead(NodeIndex node) const { return read_.contains(node); }
  const std::set<NodeIndex>& read() const { return read_; }
  const std::map<VlTable, wire::SmpData>& tables() const { return tables_; }
  uint64_t version() const { return version_; }  // Grows with each change.

 private:
  std::map<VlTable, wire::SmpData> tables_;
  std::set<NodeIndex> read_;
  uint64_t version_ = 0;
};

}  // namespace fabricd::sweep
