// SPDX-License-Identifier: Apache-2.0
// Link widths and speeds as the bit masks and codes of PortInfo (IBA vol 1 §14.2.5.6). Pure.
#pragma once

#include <cstdint>

#include "mad/wire/port_info.h"

namespace fabricd::sim {

// Supported and enabled: everything up to `speed` on up to `lanes` (1, 2, 4, 8, 12).
void SetSupportedRate(wire::PortInfo& info, wire::LinkSpeed speed, int lanes);
// Active. FDR10 is QDR here: its own code is in a vendor's attribute.
void SetActiveRate(wire::PortInfo& info, wire::LinkSpeed speed, int lanes);
// The active rate of both ends: the best that both have enabled, else 1x SDR.
void NegotiateRate(wire::PortInfo& a, wire::PortInfo& b);
// Of data, one direction, of a link that is up: 400 for 4x NDR. 0 where unknown.
double ActiveGigabits(const wire::PortInfo& info);

}  // namespace fabricd::sim
