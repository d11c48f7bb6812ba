// SPDX-License-Identifier: Apache-2.0
// DrainTime: how long packets may still be under way by paths that a drain has withdrawn: the
// longest path of all plans that were in force since, and the lifetime of a packet in each queue.
#pragma once

#include <cstdint>
#include <memory>

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "routing/plan/plan.h"
#include "sweep/interface/options.h"

namespace fabricd::sweep {

class DrainTime {
 public:
  // A plan that packets may have taken. Measured once; null: none.
  void Measure(const std::shared_ptr<const routing::RoutingPlan>& plan,
               const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids);
  // No drain is pending.
  void Reset() { *this = DrainTime(); }
  // HOQLife code n: 4.096 us * 2^n; 20 and above is no limit, and then a second per hop is taken
  // (IBA vol 1 §18.2.5.4). The last link of a path is one to a host.
  Duration Of(const LinkOptions& link) const;

 private:
  std::shared_ptr<const routing::RoutingPlan> measured_;
  uint32_t hops_ = 0;
};

}  // namespace fabricd::sweep
