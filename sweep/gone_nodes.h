// SPDX-License-Identifier: Apache-2.0
// GoneNodes: what nodes that have left the fabric were called, so that what is told of them later
// (their links went down, a link of theirs is released) names them as everything before did.
// A node keeps its index, so one that comes back is called by what it says of itself then.
// Pure.
#pragma once

#include <string>

#include <absl/container/flat_hash_map.h>

#include "fabric/snapshot.h"

namespace fabricd::sweep {

class GoneNodes {
 public:
  // Costs what differs.
  void Note(const fabric::FabricSnapshot& before, const fabric::FabricSnapshot& after);

  // Of a node of `now`, else of one that has gone. 0: never seen.
  Guid GuidOf(NodeIndex node, const fabric::FabricSnapshot& now) const;
  // "leaf1/17"; port 0: "leaf1".
  std::string NameOf(PortRef port, const fabric::FabricSnapshot& now) const;

 private:
  struct Called {
    Guid guid;
    std::string name;
  };
  absl::flat_hash_map<NodeIndex, Called> gone_;
};

}  // namespace fabricd::sweep
