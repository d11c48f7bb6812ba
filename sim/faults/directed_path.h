// SPDX-License-Identifier: Apache-2.0
// The directed route by which a program on a host port reaches a node over cables that lose
// nothing: for those that know the simulated fabric and need not discover it.
#pragma once

#include <optional>

#include "mad/wire/smp.h"
#include "sim/fabric/sim_fabric.h"

namespace fabricd::sim {

// A shortest one; nullopt: there is none.
std::optional<wire::DirectedPath> FindPath(const SimFabric& fabric, PortRef host, NodeIndex target);

}  // namespace fabricd::sim
