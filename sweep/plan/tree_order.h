// SPDX-License-Identifier: Apache-2.0
// TreeOrder: whether multicast trees and unicast tables may change beside each other. Packets that
// follow one switch order cannot create a dependency cycle; packets of two orders can. So trees of
// another order than the plan's stay for that one plan at most, and are withdrawn before the next
// one is written.
#pragma once

#include "routing/plan/plan.h"

namespace fabricd::sweep {

class TreeOrder {
 public:
  // A plan is about to be written. `keeps_trees`: the programmed trees may stay; `mixes_trees`:
  // they and the plan follow one switch order.
  void OnPlan(bool keeps_trees, bool mixes_trees, bool has_order) {
    must_withdraw_ = must_withdraw_ || !keeps_trees || is_other_;
    is_other_ = has_order && !mixes_trees;
  }
  // All entries must be withdrawn before the plan is written. Until OnTreesDone().
  bool MustWithdraw() const { return must_withdraw_; }
  // New trees may be written beside the programmed ones.
  bool MayMix(const routing::RoutingPlan& plan) const { return !plan.order.empty() && !is_other_; }
  // The tables hold the trees of the plan, and no others.
  void OnTreesDone() { must_withdraw_ = is_other_ = false; }

 private:
  bool must_withdraw_ = false;
  bool is_other_ = false;  // The trees in the tables follow another order than the plan.
};

}  // namespace fabricd::sweep
