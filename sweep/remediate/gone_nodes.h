// SPDX-License-Identifier: Apache-2.0
// GoneNodes: the names and peer ports of nodes that have left the fabric. Later events and
// responses (its links went down, one of them is released, a host lacks a NIC) use the same names
// as earlier ones. At most one entry for each node seen since the start. A node keeps its index,
// and when it comes back it has its current name again. Pure.
#pragma once

#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "fabric/snapshot.h"
#include "policy/policy_view.h"

namespace fabricd::sweep {

class GoneNodes {
 public:
  struct Change {
    enum class What : uint8_t { kAppeared, kVanished, kUnresponsive, kResponds };
    NodeIndex node;
    What what = What::kAppeared;
  };
  // Returns what has become of nodes, by index. The cost depends on the differences.
  std::vector<Change> Note(const fabric::FabricSnapshot& before,
                           const fabric::FabricSnapshot& after, Instant now);
  std::vector<policy::GoneNode> List() const;  // By GUID.

  // Of a node of `now`, or of one that has gone. 0: never seen.
  Guid GuidOf(NodeIndex node, const fabric::FabricSnapshot& now) const;
  policy::HeldPort HeldPortOf(PortRef port, const fabric::FabricSnapshot& now) const {
    return {GuidOf(port.node, now), port.port};
  }
  // "leaf1/17"; port 0: "leaf1".
  std::string NameOf(PortRef port, const fabric::FabricSnapshot& now) const;

 private:
  struct Gone {
    std::string name;
    policy::GoneNode node;
  };
  absl::flat_hash_map<NodeIndex, Gone> gone_;
};

}  // namespace fabricd::sweep
