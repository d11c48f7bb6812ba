// SPDX-License-Identifier: Apache-2.0
#include "sweep/computing.h"

namespace fabricd::sweep {

PlanReady CarryOut(const ComputePlan& task) {
  return {task.id, routing::Replan({*task.snapshot, *task.lids, task.intent, task.options,
                                    task.before, task.goal, task.applied.get(), false})};
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
