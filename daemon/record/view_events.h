// SPDX-License-Identifier: Apache-2.0
// Events of the state of the subnet as a whole, from the difference between two published views.
// Pure.
#pragma once

#include <vector>

#include "fabric/event.h"
#include "sweep/interface/view.h"

namespace fabricd::daemon {

// "SubnetUp", "SubnetDown", "MasterChanged" (of ourselves), "EngineChanged". Without times: they
// have just happened.
std::vector<fabric::FabricEvent> EventsBetween(const sweep::FabricView& before,
                                               const sweep::FabricView& after);

}  // namespace fabricd::daemon
