// SPDX-License-Identifier: Apache-2.0
// Multicast: which trees are wanted. It keeps the groups that Subnet Administration names and the
// trees that were made of them (outside the core, by Effects::trees).
#pragma once

#include <memory>

#include "sweep/events.h"

namespace fabricd::sweep {

class Multicast {
 public:
  using SharedGroups = std::shared_ptr<const fabric::MulticastGroups>;
  using SharedTrees = std::shared_ptr<const routing::MulticastPlan>;

  explicit Multicast(SharedGroups groups);

  void SetGroups(SharedGroups groups);
  const SharedGroups& groups() const { return groups_; }  // Never null.
  const SharedTrees& plan() const { return plan_; }       // Never null.

 private:
  SharedGroups groups_;
  SharedTrees plan_;
};

}  // namespace fabricd::sweep
