// SPDX-License-Identifier: Apache-2.0
// Events about the state of the whole subnet, from the difference of two published views. Pure.
#pragma once

#include <vector>

#include "fabric/event.h"
#include "sweep/interface/view.h"

namespace fabricd::daemon {

// "SubnetUp", "SubnetDown", "MasterChanged" (this SM's state), "EngineChanged". Without times:
// EventLog adds the present.
std::vector<fabric::FabricEvent> EventsBetween(const sweep::FabricView& before,
                                               const sweep::FabricView& after);

}  // namespace fabricd::daemon
