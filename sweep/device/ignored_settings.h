// SPDX-License-Identifier: Apache-2.0
// What a port keeps in its PortInfo although it answered a Set of something else with status 0, as
// some firmware does. It is not asked again (DeviceTable::IsSettled), so operators have to know.
// Pure; any thread.
#pragma once

#include <vector>

#include "fabric/snapshot.h"
#include "mad/wire/port_info.h"
#include "sweep/interface/problem.h"

namespace fabricd::sweep {

// NotEnforced is of this port: packets of other partitions pass, or those of its own may not.
// SettingsIgnored names fields, and this port as an example: whatever number of ports ignores the
// same fields, it is one problem.
std::vector<Problem> IgnoredSettings(const wire::PortInfo& wanted, const wire::PortInfo& kept,
                                     const fabric::Node& node, PortNum port);

}  // namespace fabricd::sweep
