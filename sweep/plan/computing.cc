// SPDX-License-Identifier: Apache-2.0
#include "sweep/plan/computing.h"

#include <utility>

#include "routing/multicast/multicast_trees.h"
#include "routing/plan/usable.h"
#include "routing/proof/multicast_proof.h"
#include "routing/transition/common_order.h"
#include "routing/transition/trees_fit.h"
#include "sweep/observe/cable_check.h"

namespace fabricd::sweep {

namespace {

// A plan that routes around links does not have them in its link map: rebuild that from the
// snapshot.
routing::LinkMap LinksAsObserved(const routing::RouteState& routes,
                                 const fabric::FabricSnapshot& snapshot,
                                 const fabric::LidTable& lids) {
  const bool all = routes.links.snapshot().generation() == snapshot.generation();
  return all ? routes.links : routing::LinkMap(snapshot, lids);
}

// Whether the programmed trees may stay although the two plans have no common switch order.
bool MayKeepTrees(const ComputePlan& task, const routing::RouteState& after) {
  if (!task.trees || !task.applied) return false;
  const routing::LinkMap links = LinksAsObserved(after, *task.snapshot, *task.lids);
  return routing::TreesFit(
      {links, *task.applied, task.before->plan.get(), *after.plan, task.options.threads},
      *task.trees);
}

}  // namespace

PlanReady CarryOut(const ComputePlan& task) {
  const routing::MulticastPlan unknown;
  const routing::MulticastPlan* trees = task.trees ? task.trees.get() : &unknown;
  PlanReady ready{routing::Replan({*task.snapshot, *task.lids, task.intent, task.options,
                                   task.before, task.goal, task.applied.get(), false,
                                   task.needs_room ? trees : nullptr, task.ideal})};
  if (!task.has_trees || !task.before || !ready.result.after) return ready;
  ready.mixes_trees = routing::HaveCommonOrder(*task.before, *ready.result.after);
  ready.keeps_trees = ready.mixes_trees || MayKeepTrees(task, *ready.result.after);
  return ready;
}

CablesChecked CarryOut(const CheckCables& task) {
  return {FindMisplacedCables(*task.snapshot, task.host_patterns)};
}

TreesReady CarryOut(const ComputeTrees& task) {
  const routing::UsableFabric usable = routing::MakeUsable(*task.snapshot, *task.lids, task.intent);
  auto trees = std::make_shared<const routing::MulticastPlan>(routing::MakeTrees(
      {*usable.snapshot, *usable.lids, *task.plan, *task.groups, task.before.get()}));
  const routing::VerifyReport report =
      routing::VerifyMulticast(*usable.snapshot, *usable.lids, *task.plan, *task.groups, *trees);
  if (report.ok) return {std::move(trees), {}};
  return {nullptr, report.faults.empty() ? "credit loop" : report.faults.front()};
}

TablesOrdered CarryOut(const OrderTables& task) {
  const routing::LinkMap links = LinksAsObserved(*task.routes, *task.snapshot, *task.lids);
  return {routing::OrderPush(
      {links, *task.applied, task.before.get(), *task.routes->plan, task.threads})};
}

IntentEvaluated CarryOut(const EvaluateIntent& task) {
  return {routing::Judge(
      {*task.snapshot, *task.lids, task.options, task.now, task.intent, task.sm_port})};
}

}  // namespace fabricd::sweep
