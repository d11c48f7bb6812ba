// SPDX-License-Identifier: Apache-2.0
// The owner of a transaction. All MADs of the port arrive by one path. Only the low 32 bits of a
// transaction id are assigned here (DESIGN §3), and their highest bit names the requester: set for
// telemetry, clear for the core, the SA and traps. In requests of other programs the bit has no
// meaning.
//
// Pure.
#pragma once

#include "common/ids.h"
#include "mad/transport.h"

namespace fabricd::mad {

inline constexpr uint32_t kTelemetryTransactionBit = 0x80000000;

constexpr bool IsTelemetryTransaction(TransactionId id) {
  return (id.value() & kTelemetryTransactionBit) != 0;
}

// The id after `last` for requests other than telemetry's. Never 0, which means none, and without
// the telemetry bit.
constexpr uint32_t NextTransactionId(uint32_t last) {
  const uint32_t next = (last + 1) & ~kTelemetryTransactionBit;
  return next == 0 ? 1 : next;
}

// Whether an incoming MAD ends a request of this program: its response, or the returned request
// itself. Responses of this program also come back, if the kernel did RMPP and the requester did
// not acknowledge. So does a TrapRepress that could not be sent. Neither is a request.
bool EndsRequest(IncomingMad::Kind kind, uint8_t method);

// Whether an incoming MAD, from any agent, ends a request of telemetry.
bool IsForTelemetry(const IncomingMad& mad);

}  // namespace fabricd::mad
