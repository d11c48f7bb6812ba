// SPDX-License-Identifier: Apache-2.0
// What the partition and lane tables of ports were last read to hold. An immutable value beside the
// snapshot, for readers (Subnet Administration, RPC); what is written is decided elsewhere.
#pragma once

#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "mad/wire/tables.h"

namespace fabricd::fabric {

// Tables that devices were last read to hold, by end port: those of a switch's ports belong to its
// port 0. Ports as records show them: also a channel adapter's tables name their port, but for its
// SLtoVLMappingTable, where both are 0.
struct PortTables {
  struct PKeys {
    PortNum port;
    uint16_t block = 0;
    wire::PKeyTable table;
  };
  struct Lanes {
    PortNum in, out;
    wire::SlToVlMappingTable table;
  };
  struct Arbitration {
    PortNum port;
    uint8_t block = 0;  // 1-4
    wire::VlArbitrationTable table;
  };
  std::vector<PKeys> p_keys;
  std::vector<Lanes> lanes;
  std::vector<Arbitration> arbitration;
  // `lanes` and `arbitration` are all that the node has, and not only what a plan had a use for.
  bool has_all_lanes = false;
};
using TablesByPort = absl::flat_hash_map<PortRef, PortTables>;

}  // namespace fabricd::fabric
