// SPDX-License-Identifier: Apache-2.0
// How every message of this library names a node: "leaf-3 (0x0002c90200001234)".
#pragma once

#include <string>

#include "fabric/snapshot.h"

namespace fabricd::routing {

std::string NodeName(const fabric::Node& node);
// Also of a node that is gone.
std::string NodeName(const fabric::FabricSnapshot& snapshot, NodeIndex node);

}  // namespace fabricd::routing
