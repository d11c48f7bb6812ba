// SPDX-License-Identifier: Apache-2.0
// ActiveLinks: which links are up and not ACTIVE yet. Kept from snapshot to snapshot, so that a
// look costs what has changed, not a walk over all ports of the fabric after each lost cable.
#pragma once

#include <memory>
#include <set>

#include "fabric/snapshot.h"

namespace fabricd::sweep {

class ActiveLinks {
 public:
  void Update(std::shared_ptr<const fabric::FabricSnapshot> snapshot);
  // Ports whose link is up at both ends, but which are not ACTIVE.
  const std::set<PortRef>& inactive() const { return inactive_; }

 private:
  void LookAt(NodeIndex node);

  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  std::set<PortRef> inactive_;
};

}  // namespace fabricd::sweep
