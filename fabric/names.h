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
#include "fabric/port_name.h"
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

// Who has which name. Made of one snapshot and good for all with the same nodes (SameNodes).
class NodeNames {
 public:
  // `map` may be null, and must outlive it.
  explicit NodeNames(const FabricSnapshot& snapshot, const NodeNameMap* map = nullptr);

  // All nodes of this name (map's name, description, or switch name inside "MF0;name:model/U1"), by
  // GUID. Exact; case matters.
  std::vector<NodeIndex> Find(std::string_view name) const;
  const NodeNameMap* map() const { return map_; }

 private:
  absl::flat_hash_map<std::string, std::vector<NodeIndex>> by_name_;
  const NodeNameMap* map_;
};

// Finds nodes and ports by what an operator types. Costs nothing to make; what it is made of must
// outlive it.
class NameTable {
 public:
  // `names` is of the snapshot's nodes. `lids` may be null: then by the LIDs that ports report.
  NameTable(const FabricSnapshot& snapshot, const NodeNames& names, const LidTable* lids = nullptr)
      : snapshot_(snapshot), names_(names), lids_(lids) {}

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
  const NodeNames& names_;
  const LidTable* lids_;
};

}  // namespace fabricd::fabric
