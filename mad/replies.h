// SPDX-License-Identifier: Apache-2.0
// Replies: what this SM sends to other SMs and to nodes without having asked anything, and which of
// what comes in belongs to the TransactionEngine.
#pragma once

#include "mad/transport.h"
#include "mad/wire/smp.h"

namespace fabricd::mad {

// True for what TransactionEngine::OnIncoming expects: responses to our SMPs, and reports on MADs
// we sent as requests, those of telemetry apart.
bool IsForEngine(const IncomingMad& mad);

// The response to another SM's Get or Set (SMInfo): id, route, hop count, hop pointer, attribute
// and modifier are the request's, method is GetResp, D is set on directed routes; M_Key, status and
// data are taken from `response`. The hop pointer stays as received (hop count + 1 on hardware),
// which is where the kernel's send side expects a returning SMP to start (IBA vol 1 §14.2.2.4).
// REQUIRES: request.payload holds a whole SMP.
OutgoingMad MakeSmpResponse(const IncomingMad& request, const wire::Smp& response);

// TrapRepress of a trap: LID routed to its source, same transaction id and data, M_Key 0 (§13.4.9,
// §14.2.4); of a trap that came by directed route, which no node should send, the return path that
// a response would take. REQUIRES: trap.payload holds a whole SMP.
OutgoingMad MakeTrapRepress(const IncomingMad& trap);

}  // namespace fabricd::mad
