// SPDX-License-Identifier: Apache-2.0
// Finds settings that a port ignores: it answers a PortInfo Set with status 0 but keeps other
// values, as some firmware does. The Set is not repeated (AppliedState::IsKnownRefusal), so
// operators must be notified. Pure; any thread.
#pragma once

#include <vector>

#include "fabric/snapshot.h"
#include "mad/wire/port_info.h"
#include "sweep/interface/problem.h"

namespace fabricd::sweep {

// NotEnforced is about this port: packets of other partitions pass, or those of its own may not.
// SettingsIgnored names the fields, with this port as an example. It is one problem, however many
// ports ignore the same fields.
std::vector<Problem> IgnoredSettings(const wire::PortInfo& wanted, const wire::PortInfo& kept,
                                     const fabric::Node& node, PortNum port);

}  // namespace fabricd::sweep
