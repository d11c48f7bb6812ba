// SPDX-License-Identifier: Apache-2.0
// What a published view tells beside the core's own events: the state of the subnet as a whole.
// Pure.
#pragma once

#include <vector>

#include "fabric/event.h"
#include "sweep/interface/view.h"

namespace fabricd::daemon {

// "SubnetUp", "SubnetDown", "MasterChanged" (of ourselves), "EngineChanged". Without times: they
// have just happened.
std::vector<fabric::FabricEvent> NewsOf(const sweep::FabricView& before,
                                        const sweep::FabricView& after);

}  // namespace fabricd::daemon
