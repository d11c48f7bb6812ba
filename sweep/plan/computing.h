// SPDX-License-Identifier: Apache-2.0
// The computations that the core requests in Effects. The daemon runs them on a thread, the
// simulator in place. Pure, may take long, any thread.
#pragma once

#include "sweep/interface/events.h"

namespace fabricd::sweep {

PlanReady CarryOut(const ComputePlan& task);
CablesChecked CarryOut(const CheckCables& task);
TablesOrdered CarryOut(const OrderTables& task);
TreesReady CarryOut(const ComputeTrees& task);
IntentEvaluated CarryOut(const EvaluateIntent& task);

}  // namespace fabricd::sweep
