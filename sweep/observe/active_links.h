// SPDX-License-Identifier: Apache-2.0
// ActiveLinks: the links that are up but not ACTIVE yet. Updated from snapshot to snapshot, so that
// the cost depends on the changes and not on the size of the fabric.
#pragma once

#include <memory>
#include <set>

#include "fabric/snapshot.h"

namespace fabricd::sweep {

class ActiveLinks {
 public:
  void Update(std::shared_ptr<const fabric::FabricSnapshot> snapshot);
  // Ports whose link is up at both ends but that are not ACTIVE.
  const std::set<PortRef>& inactive() const { return inactive_; }

 private:
  void LookAt(NodeIndex node);

  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  std::set<PortRef> inactive_;
};

}  // namespace fabricd::sweep
