// SPDX-License-Identifier: Apache-2.0
// What a plan of several lanes wants of the devices' SLtoVLMappingTables (IBA vol 1 §14.2.5.8) and
// VLArbitrationTables (§14.2.5.9), and what they were last confirmed to hold. A plan of one lane
// wants nothing: packets of service level 0 take VL 0 under every mapping that was ever written
// here, and tables whose dependencies make no circle at all make none on any lane, so the mappings
// of an earlier plan may stay.
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

// Service level n on lane n % lanes; on a link with fewer VLs (towards an end port, where no
// dependency goes on) modulo those.
wire::SlToVlMappingTable VlMap(uint8_t lanes, const wire::PortInfo& out);

// The low-priority table with the lanes added that no entry serves; nullopt: all are served, or
// `cap` (VLArbLowCap) leaves no entry for them.
std::optional<wire::VlArbitrationTable> ServeVls(const wire::VlArbitrationTable& low, uint8_t cap,
                                                 int lanes);

// The block of a VLArbitrationTable that plans read and write: entries 0-31 of the low priority.
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
// All that `lanes` concern at a node whose links are up.
std::vector<VlTable> VlTablesOf(const fabric::FabricSnapshot& snapshot, const fabric::Node& node);
// All that the node has, whether anything hangs on its ports or not.
std::vector<VlTable> AllVlTablesOf(const fabric::Node& node);

// Confirmed contents: known between the GetResp that showed them and the next Set.
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
  // All that the node answers was read; until Forget(). Beyond kMostTables in all, what no plan has
  // a use for is dropped before more is read.
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
