// SPDX-License-Identifier: Apache-2.0
// NodesToReread: nodes that must be read again after a run, because a port changed during the run,
// or because a port that should be read again was not read yet.
#pragma once

#include <vector>

#include <absl/container/flat_hash_set.h>

#include "common/ids.h"
#include "common/sort_unique.h"
#include "fabric/snapshot.h"

namespace fabricd::sweep {

class NodesToReread {
 public:
  void NoteChanged(NodeIndex node) { changed_.insert(node); }
  void Await(PortRef port) { awaited_.insert(port); }
  // The port was read, or the read was given up.
  void NoteEnd(PortRef port) { awaited_.erase(port); }
  // Sorted.
  std::vector<NodeIndex> Nodes() const {
    std::vector<NodeIndex> nodes(changed_.begin(), changed_.end());
    for (PortRef port : awaited_) nodes.push_back(port.node);
    SortUnique(nodes);
    return nodes;
  }

 private:
  absl::flat_hash_set<NodeIndex> changed_;
  absl::flat_hash_set<PortRef> awaited_;
};

}  // namespace fabricd::sweep
