// SPDX-License-Identifier: Apache-2.0
// Whose a transaction is. All MADs of the port come in by one path; of a transaction id only the
// low 32 bits are ours (DESIGN §3), and their highest bit says who asked: set telemetry, clear the
// core, the SA and traps. Ids of other programs' requests mean nothing of the kind.
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

// The id behind `last` for requests that are not telemetry's: never 0, which means none, and
// without the telemetry bit.
constexpr uint32_t NextTransactionId(uint32_t last) {
  const uint32_t next = (last + 1) & ~kTelemetryTransactionBit;
  return next == 0 ? 1 : next;
}

// Whether what came ends a request that was sent: its answer, or the request itself, come back. An
// answer of ours comes back too, where the kernel did RMPP and the requester acknowledged nothing,
// and so does a TrapRepress that could not be sent: neither was a request.
bool EndsRequest(IncomingMad::Kind kind, uint8_t method);

// Whether what came, by any agent, ends a request of telemetry.
bool IsForTelemetry(const IncomingMad& mad);

}  // namespace fabricd::mad
