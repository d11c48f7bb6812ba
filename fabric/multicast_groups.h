// SPDX-License-Identifier: Apache-2.0
// MulticastGroups: who is a member of which multicast group (IBA vol 1 §10.5, §15.2.5.17). Made by
// sa/, which owns membership and keeps it durable; routing/ makes a tree of each group. Groups that
// share an MLID are one here: their members together, the highest MTU and rate of them. Immutable
// once shared, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ids.h"

namespace fabricd::fabric {

inline constexpr Lid kFirstMulticastLid{0xC000}, kLastMulticastLid{0xFFFE};

struct MulticastMember {
  Guid port_guid;        // An end port's; it need not be there at the moment.
  bool receives = true;  // False: send-only.
  friend auto operator<=>(const MulticastMember&, const MulticastMember&) = default;
};

struct MulticastGroup {
  Lid mlid;         // kFirstMulticastLid … kLastMulticastLid
  uint8_t mtu = 4;  // As MCMemberRecord has it: 1 = 256 … 5 = 4096 bytes. Links below are not used.
  uint8_t rate = 2;  // The code of MCMemberRecord (fabric/rate.h). Links below are not used.
  ServiceLevel sl;   // By it packets take their lane.
  PKey p_key;
  std::vector<MulticastMember> members;  // Sorted, each port once.
  friend bool operator==(const MulticastGroup&, const MulticastGroup&) = default;
};

struct MulticastGroups {
  std::vector<MulticastGroup> groups;  // Sorted by MLID, each once.
  friend bool operator==(const MulticastGroups&, const MulticastGroups&) = default;
};

}  // namespace fabricd::fabric
