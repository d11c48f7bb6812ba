// SPDX-License-Identifier: Apache-2.0
// DrainTime: how long packets may still be in flight on paths that a drain has withdrawn: the
// length of the longest path of all plans since, times the lifetime of a packet in each queue.
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
  // Call with each plan that packets may have followed. Each is measured once. Null: none.
  void Measure(const std::shared_ptr<const routing::RoutingPlan>& plan,
               const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids);
  // Call while no drain is pending.
  void Reset() { *this = DrainTime(); }
  // HOQLife code n: 4.096 us * 2^n. 20 and above mean no limit; then a second per hop is assumed
  // (IBA vol 1 §18.2.5.4). The last link of a path leads to a host.
  Duration Of(const LinkOptions& link) const;

 private:
  std::shared_ptr<const routing::RoutingPlan> measured_;
  uint32_t hops_ = 0;
};

}  // namespace fabricd::sweep
