// SPDX-License-Identifier: Apache-2.0
// End ports of a simulated fabric and what connects them, for checkers: by the cables and the
// devices' registers, never by what a manager says.
#pragma once

#include <string>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "common/ids.h"
#include "sim/fabric/sim_fabric.h"

namespace fabricd::sim {

struct EndPort {
  PortRef ref;
  Guid guid;
  Lid base;
  int lids = 1;
};

// "description/port"
std::string NameOf(const SimFabric& fabric, PortRef port);
// Switch port 0s, and CA and router ports with a link.
std::vector<EndPort> EndPorts(const SimFabric& fabric);
// [NodeIndex] Number of each switch's part of the fabric: switches that links which are up connect,
// from 1 on; 0: no switch. A CA forwards nothing, so it joins no parts; each of its ports belongs
// to the part of its neighbour. Links of which an end is `unwanted` connect nothing.
std::vector<uint32_t> SwitchParts(const SimFabric& fabric,
                                  const absl::flat_hash_set<PortRef>& unwanted = {});
// All ports, switch port 0s too, of other parts than that of `from`: an SM there has no way to
// them.
absl::flat_hash_set<PortRef> PortsBeyond(const SimFabric& fabric, PortRef from);
// The switch itself, or the one that the port hangs on; none: it hangs on no switch.
NodeIndex SwitchOf(const SimFabric& fabric, PortRef port);

}  // namespace fabricd::sim
