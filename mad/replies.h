// SPDX-License-Identifier: Apache-2.0
// Replies: MADs that this SM sends in response to other SMs and nodes, and the separation of
// incoming MADs for the TransactionEngine from others.
#pragma once

#include "mad/transport.h"
#include "mad/wire/smp.h"

namespace fabricd::mad {

// True for the input of TransactionEngine::OnIncoming: responses to this SM's SMPs, and reports
// about its requests, except those of telemetry.
bool IsForEngine(const IncomingMad& mad);

// The response to another SM's Get or Set (SMInfo). Transaction id, route, hop count, hop pointer,
// attribute and modifier are those of the request. The method is GetResp, and D is set on directed
// routes. M_Key, status and data are taken from `response`. The hop pointer stays as received (hop
// count + 1 on hardware), which is where the kernel's send side expects a returning SMP to start
// (IBA vol 1 §14.2.2.4). REQUIRES: request.payload holds a whole SMP.
OutgoingMad MakeSmpResponse(const IncomingMad& request, const wire::Smp& response);

// TrapRepress of a trap: LID routed to its source, with the same transaction id and data (§13.4.9).
// `m_key`: of the source, which drops a TrapRepress with another one and counts it as a violation
// (§14.2.4). For a trap that came by directed route, which no node should send, it takes
// the return path of a response. REQUIRES: trap.payload holds a whole SMP.
OutgoingMad MakeTrapRepress(const IncomingMad& trap, MKey m_key);

}  // namespace fabricd::mad
