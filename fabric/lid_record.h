// SPDX-License-Identifier: Apache-2.0
// LidRecord: which LIDs a port has been assigned, as it is made durable before they are used.
#pragma once

#include <cstdint>

#include "common/ids.h"

namespace fabricd::fabric {

// The LIDs base_lid .. base_lid + 2^lmc - 1 belong to a port (IBA vol 1 §3.5.10, §7.11.1).
struct LidRecord {
  Guid port_guid;
  Lid base_lid;
  uint8_t lmc = 0;  // 0-7
  // Seconds since 1970 when the port was last part of the fabric. The store's: a core sets none.
  int64_t last_seen = 0;
  friend bool operator==(const LidRecord&, const LidRecord&) = default;
};

}  // namespace fabricd::fabric
