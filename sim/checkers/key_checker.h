// SPDX-License-Identifier: Apache-2.0
// Which P_Keys the simulated devices hold, against what partitions say, worked out rule by rule and
// without the code that programs them.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "policy/options.h"
#include "policy/partitions.h"
#include "sim/fabric/sim_fabric.h"

namespace fabricd::sim {

struct KeyExpectations {
  policy::Partitions partitions = policy::Partitions::BuiltIn();
  policy::PartitionOptions options;
  Guid self;                               // The SM's port.
  absl::flat_hash_set<PortRef> isolated;   // Out of all partitions.
  absl::flat_hash_set<PortRef> undecided;  // Not looked at.
  // What the master says of ports of switches that do not enforce: "… (GUID) port N".
  std::vector<std::pair<Guid, PortNum>> not_enforced;
};

// End ports with a link whose P_Key table holds other keys than are wanted, as far as they fit, or
// one twice, or another one at index 0; switch ports that face hosts and neither enforce exactly
// what the host holds, nor let all pass where nothing is to be enforced or nothing can be. Of a
// device that ignores what it is told of enforcement, the master has to say so. At most `limit`
// findings.
std::vector<std::string> PKeyFaults(const SimFabric& fabric,
                                    const KeyExpectations& expected = KeyExpectations(),
                                    size_t limit = 10);

}  // namespace fabricd::sim
