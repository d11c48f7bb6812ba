// SPDX-License-Identifier: Apache-2.0
// What goes out for an Ask: always a Get, never with a bit that clears. Pure.
#pragma once

#include "fabric/snapshot.h"
#include "mad/transport.h"
#include "telemetry/ask.h"

namespace fabricd::telemetry {

// Where a device's GMPs go.
struct GmpTarget {
  Lid lid;
  uint32_t qpn = 1;
  uint32_t qkey = 0x8001'0000;
  ServiceLevel sl;
};

// A port is asked for what it counts while it is ACTIVE.
bool IsPolled(const fabric::Node& node, PortNum port);

// REQUIRES: port is one of the device where IsOfPort(ask); of a device's own asks it is any port.
mad::OutgoingMad MakeRequest(Ask ask, PortNum port, const GmpTarget& target, TransactionId id,
                             Duration timeout);

}  // namespace fabricd::telemetry
