// SPDX-License-Identifier: Apache-2.0
// Names of nodes and ports as operators write and read them. Immutable values once built.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include "common/ids.h"
#include "fabric/lid_table.h"
#include "fabric/snapshot.h"

namespace fabricd::fabric {

// A node-name-map file as OpenSM and infiniband-diags read it: `<node GUID> "<name>"` a line, '#'
// comments. Wins over what the device calls itself.
class NodeNameMap {
 public:
  struct SkippedLine {
    size_t line = 0;  // From 1.
    std::string reason;
  };
  // Reads what it can; of two lines for one GUID the first holds.
  static NodeNameMap Parse(std::string_view text);

  // Empty: none.
  std::string_view Find(Guid node_guid) const;
  size_t size() const { return by_guid_.size(); }

  std::vector<SkippedLine> skipped;  // What Parse() left out.

 private:
  absl::flat_hash_map<Guid, std::string> by_guid_;
};

// The map's name, else the description, else the GUID. `map` may be null.
std::string DisplayName(const Node& node, const NodeNameMap* map = nullptr);
// "leaf1/17".
std::string PortName(const Node& node, PortNum port, const NodeNameMap* map = nullptr);

// "0x0002c90100000000", "0002:c901:0000:0000", "2c90100000000" (14-16 digits): a GUID, else 0.
Guid ParseGuid(std::string_view text);

// Finds nodes and ports by what an operator types. Built for one snapshot; it keeps a reference to
// it and to `lids`, which must outlive it.
class NameTable {
 public:
  NameTable(const FabricSnapshot& snapshot, const NodeNameMap* map, const LidTable* lids);

  // All nodes of this name (map's name, description, or switch name inside "MF0;name:model/U1"), by
  // GUID. Exact; case matters.
  std::vector<NodeIndex> FindByName(std::string_view name) const;

  struct Address {
    NodeIndex node = NodeIndex::None();
    bool has_port = false;  // A port was named, by its number, its GUID or a LID of its own.
    PortNum port;
  };
  // A GUID of a node or port, a LID (decimal, or hex with 0x and up to 4 digits), a name, "host
  // device", any of the node forms with "/port" or ":port". kNotFound, or kInvalidArgument with the
  // candidates when several nodes have the name.
  absl::StatusOr<Address> Resolve(std::string_view text) const;

 private:
  absl::StatusOr<Address> ResolveNode(std::string_view text) const;
  Address AddressOf(Guid guid) const;
  Address AddressOf(Lid lid) const;

  const FabricSnapshot& snapshot_;
  const LidTable* lids_;  // May be null: then by the LIDs that the ports report.
  absl::flat_hash_map<std::string, std::vector<NodeIndex>> by_name_;
  absl::flat_hash_map<Lid, PortRef> by_reported_lid_;
  const NodeNameMap* map_;
};

}  // namespace fabricd::fabric
