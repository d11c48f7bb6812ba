// SPDX-License-Identifier: Apache-2.0
// sa/wire: records and headers as bytes.
//
// Responses of Subnet Administration (IBA vol 1 §15.2.1): headers in front of records. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mad/wire/sa_header.h"

namespace fabricd::sa {

// Methods whose response is a table under RMPP.
bool IsTable(wire::Method method);
// False: a response, or a method that has none.
bool HasResponse(const wire::MadHeader& mad);

// Whether the requester understands BUSY. The kernel's ib_sa takes any status for the final answer
// and asks again when there is none, and it sends no requests for tables: those come from programs
// that show or understand the status.
bool UnderstandsBusy(std::span<const uint8_t> request);
// A response whose segments the kernel sends and repeats.
bool IsUnderRmpp(std::span<const uint8_t> reply);

// Turns the request's header into that of the response, in front of the records that `reply` holds
// from byte 56 on: those of a table, else at most one. With another status than OK they are left
// out.
void FinishReply(wire::SaHeader request, uint16_t status, std::vector<uint8_t>& reply);

// The response to a request that is not looked at: its header with this status (BUSY, say). False:
// it is no request.
bool Refuse(std::span<const uint8_t> request, uint16_t status, std::vector<uint8_t>& reply);

}  // namespace fabricd::sa
