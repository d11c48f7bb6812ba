// SPDX-License-Identifier: Apache-2.0
// Multicast: which trees are wanted. It keeps the groups that Subnet Administration names, asks for
// the trees that go with a unicast plan (outside the core) and keeps what came.
// What is not proved never comes here.
//
// The first trees of a master start from what the switches hold, so that a restart, or a takeover
// of tables that serve, moves nothing.
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
  // One more than the highest block of MLIDs that groups take.
  uint16_t blocks() const;
  // The groups have changed since trees were last asked for.
  bool HasChanges() const { return has_changes_; }

  // What the unicast plan that is being made is made for. Trees that were asked for are void.
  void NoteQuestion(const ComputePlan& question);
  // Whether there is anything to make trees of, or to take away.
  bool HasWork(const DeviceTable& devices) const;
  void Ask(std::shared_ptr<const routing::RoutingPlan> plan, const DeviceTable& devices);
  void Cancel() { questions_.Drop<ComputeTrees>(); }
  bool IsAwaited() const { return questions_.IsOpen<ComputeTrees>(); }
  // The trees to be programmed.
  SharedTrees OnTrees(TreesReady ready, const fabric::FabricSnapshot& snapshot,
                      ProblemList& problems);

  TreeOrder& order() { return order_; }
  // The tables are as wanted.
  void OnTreesDone() {
    order_.OnTreesDone();
    is_held_ = true;
  }
  // What the switches hold; null: something else than was last wanted, or nobody knows.
  SharedTrees held() const { return is_held_ ? plan_ : nullptr; }
  // Another SM may have written: the next trees start from what is read.
  void Forget();

 private:
  void ListProblems(const fabric::FabricSnapshot& snapshot, ProblemList& problems) const;

  OpenQuestions& questions_;
  SharedGroups groups_;
  SharedTrees plan_;
  bool has_plan_ = false;     // Of this master.
  bool has_changes_ = false;  // Of the groups, since trees were last asked for.
  bool is_held_ = false;      // The tables are as `plan_` says.
  TreeOrder order_;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  std::shared_ptr<const fabric::LidTable> lids_;
  fabric::Intent intent_;
};

}  // namespace fabricd::sweep
