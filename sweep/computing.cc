// SPDX-License-Identifier: Apache-2.0
#include "sweep/computing.h"

#include <utility>

#include "routing/common_order.h"
#include "routing/multicast_proof.h"
#include "routing/multicast_trees.h"
#include "routing/usable.h"

namespace fabricd::sweep {

PlanReady CarryOut(const ComputePlan& task) {
  PlanReady ready{task.id, routing::Replan({*task.snapshot, *task.lids, task.intent, task.options,
                                            task.before, task.goal, task.applied.get(), false})};
  if (task.has_trees && task.before && ready.result.after)
    ready.keeps_order = routing::HaveCommonOrder(*task.before, *ready.result.after);
  return ready;
}

TreesReady CarryOut(const ComputeTrees& task) {
  const routing::UsableFabric usable = routing::MakeUsable(*task.snapshot, *task.lids, task.intent);
  auto trees = std::make_shared<const routing::MulticastPlan>(routing::MakeTrees(
      {*usable.snapshot, *usable.lids, *task.plan, *task.groups, task.before.get()}));
  const routing::VerifyReport report =
      routing::VerifyMulticast(*usable.snapshot, *usable.lids, *task.plan, *task.groups, *trees);
  if (report.ok) return {task.id, std::move(trees), {}};
  return {task.id, nullptr, report.faults.empty() ? "credit loop" : report.faults.front()};
}

TablesOrdered CarryOut(const OrderTables& task) {
  // Routes that lead round what is there know less links than there are.
  const bool all = task.routes->links.snapshot().generation() == task.snapshot->generation();
  const routing::LinkMap links =
      all ? task.routes->links : routing::LinkMap(*task.snapshot, *task.lids);
  return {task.id, routing::OrderPush({links, *task.applied, task.before.get(), *task.routes->plan,
                                       task.threads})};
}

IntentJudged CarryOut(const JudgeIntent& task) {
  return {task.id, routing::JudgeIntent({*task.snapshot, *task.lids, task.options, task.now,
                                         task.intent, task.sm_port})};
}

}  // namespace fabricd::sweep
