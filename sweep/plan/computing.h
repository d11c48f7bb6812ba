// SPDX-License-Identifier: Apache-2.0
// What the shell does with the questions that the core hands out (Effects): the same on a thread of
// the daemon and in the simulator. Pure, may take long, any thread.
#pragma once

#include "sweep/interface/events.h"

namespace fabricd::sweep {

PlanReady CarryOut(const ComputePlan& task);
CablesChecked CarryOut(const CheckCables& task);
TablesOrdered CarryOut(const OrderTables& task);
TreesReady CarryOut(const ComputeTrees& task);
IntentEvaluated CarryOut(const EvaluateIntent& task);

}  // namespace fabricd::sweep
