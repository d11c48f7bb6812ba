// SPDX-License-Identifier: Apache-2.0
// Multicast: the desired multicast trees. It keeps the groups from Subnet Administration, requests
// the trees for a unicast plan (computed outside the core) and keeps the result. Only verified
// trees arrive here.
//
// The first trees of a master start from what the switches hold. So a restart, or the takeover of
// working tables, changes no tree.
#pragma once

#include <memory>
#include <string>

#include "sweep/device/device_table.h"
#include "sweep/interface/events.h"
#include "sweep/interface/problems.h"
#include "sweep/interface/questions.h"
#include "sweep/plan/tree_order.h"

namespace fabricd::sweep {

class Multicast {
 public:
  using SharedGroups = std::shared_ptr<const fabric::MulticastGroups>;
  using SharedTrees = std::shared_ptr<const routing::MulticastPlan>;

  // `questions` must outlive this.
  Multicast(SharedGroups groups, OpenQuestions& questions);

  void SetGroups(SharedGroups groups);
  const SharedGroups& groups() const { return groups_; }  // Never null.
  const SharedTrees& plan() const { return plan_; }       // Never null.
  // One more than the highest block of MLIDs that groups use.
  uint16_t blocks() const;
  // The groups have changed since trees were last requested.
  bool HasChanges() const { return has_changes_; }

  // Records the inputs of the unicast plan that is being computed. Discards a pending request for
  // trees.
  void NoteQuestion(const ComputePlan& question);
  // Whether there are trees to compute or to remove.
  bool HasWork(const DeviceTable& devices) const;
  void Ask(std::shared_ptr<const routing::RoutingPlan> plan, const DeviceTable& devices);
  void Cancel() { questions_.Drop<ComputeTrees>(); }
  bool IsAwaited() const { return questions_.IsOpen<ComputeTrees>(); }
  // Returns the trees to program.
  SharedTrees OnTrees(TreesReady ready, const fabric::FabricSnapshot& snapshot,
                      ProblemList& problems);

  TreeOrder& order() { return order_; }
  // The tables hold the desired trees.
  void OnTreesDone() {
    order_.OnTreesDone();
    is_held_ = true;
  }
  // The trees that the switches hold. Null: unknown, or not the desired ones.
  SharedTrees held() const { return is_held_ ? plan_ : nullptr; }
  // Another SM may have written: the next trees start from what will be read.
  void Forget();

 private:
  void ListProblems(const fabric::FabricSnapshot& snapshot, ProblemList& problems) const;

  OpenQuestions& questions_;
  SharedGroups groups_;
  SharedTrees plan_;
  bool has_plan_ = false;     // plan() was computed for this master.
  bool has_changes_ = false;  // Groups have changed since trees were last requested.
  bool is_held_ = false;      // The tables hold `plan_`.
  TreeOrder order_;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  std::shared_ptr<const fabric::LidTable> lids_;
  fabric::Intent intent_;
};

}  // namespace fabricd::sweep
