// SPDX-License-Identifier: Apache-2.0
// Neighbors: which end port is behind a port, as in OpenSM's file `neighbors`. A node whose
// M_Key hides it answers nothing without that key, and the key goes by its GUID: so a manager that
// starts has to know who is behind a cable before it can ask. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "fabric/snapshot.h"

namespace fabricd::fabric {

// By the GUID of the port's end port (the port itself, or port 0 of its switch) and its number.
using Neighbors = absl::flat_hash_map<std::pair<Guid, PortNum>, Guid>;

Neighbors NeighborsOf(const FabricSnapshot& snapshot);

// Lines "0x<GUID>:<port> 0x<GUID>:<port>" with an empty line after each, sorted.
std::string NeighborsText(const FabricSnapshot& snapshot);

// Lenient: lines of another form are left out and counted in `skipped`, where given.
Neighbors ParseNeighbors(std::string_view text, size_t* skipped = nullptr);

}  // namespace fabricd::fabric
