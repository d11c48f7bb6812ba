// SPDX-License-Identifier: Apache-2.0
// TreeOrder: whether multicast trees and unicast tables may change beside each other. Packets that
// follow one order of the switches cannot wait for each other in a cycle; those of two orders may.
// So trees of another order than the plan's stay for that one plan at most, and are withdrawn
// before the next is written.
#pragma once

#include "routing/plan/plan.h"

namespace fabricd::sweep {

class TreeOrder {
 public:
  // A plan comes, and is about to be written. `keeps_trees`: those that are there fit it;
  // `mixes_trees`: they and it follow one order of the switches.
  void OnPlan(bool keeps_trees, bool mixes_trees, bool has_order) {
    must_withdraw_ = must_withdraw_ || !keeps_trees || is_other_;
    is_other_ = has_order && !mixes_trees;
  }
  // All entries go before the plan is written, until OnTreesDone().
  bool MustWithdraw() const { return must_withdraw_; }
  // New trees may be written beside those that are there.
  bool MayMix(const routing::RoutingPlan& plan) const { return !plan.order.empty() && !is_other_; }
  // The trees that go with the plan are in the tables, and no others.
  void OnTreesDone() { must_withdraw_ = is_other_ = false; }

 private:
  bool must_withdraw_ = false;
  bool is_other_ = false;  // Trees in the tables follow another order than the plan does.
};

}  // namespace fabricd::sweep
