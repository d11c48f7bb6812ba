// SPDX-License-Identifier: Apache-2.0
// GoneNodes: the names of nodes that have left the fabric, and the ports that they were linked to,
// so that later events and answers (their links went down, one of those is released, a host lacks a
// NIC) name them as earlier ones did. One entry for each node seen since the start, at most.
// A node keeps its index, so one that comes back is called by what it says of itself then.
// Pure.
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
    NodeIndex node;
    bool gone = false;  // Else it has come.
  };
  // Costs what differs, which it gives, by index.
  std::vector<Change> Note(const fabric::FabricSnapshot& before,
                           const fabric::FabricSnapshot& after, Instant now);
  std::vector<policy::GoneNode> List() const;  // By GUID.

  // Of a node of `now`, else of one that has gone. 0: never seen.
  Guid GuidOf(NodeIndex node, const fabric::FabricSnapshot& now) const;
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
