// SPDX-License-Identifier: Apache-2.0
// Answer: one request to Subnet Administration (IBA vol 1 §15.4) → one response, from one view.
// Pure and reentrant: any thread may answer any request from any view it holds.
//
// Requests that change what clients leave behind (ServiceRecord, MCMemberRecord, InformInfo) are
// not answered from a view: that state does not exist yet, and they get "method and attribute not
// supported", as ClassPortInfo says. docs/SA.md has what is answered, and how.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.h"
#include "sa/view.h"

namespace fabricd::sa {

enum class Outcome : uint8_t {
  kAnswered,
  kNotARequest,  // A response, or nothing that has one; too short.
  kWrongKey,     // An SM_Key that is not the subnet's: no answer, so that nobody may try keys.
};

// `request`: the whole payload as the transport has it, from the MAD header on; `from` the LID it
// came from. `reply` is replaced (and may be kept for the next call, to save allocations): a MAD of
// 256 bytes, or for SubnAdmGetTable, -GetMulti and -GetTraceTable a payload for RMPP of any length
// from 56 bytes on, with the header of its first segment, which the kernel cuts into segments.
Outcome Answer(const SaView& view, std::span<const uint8_t> request, Lid from,
               std::vector<uint8_t>& reply);

// The answer to a request that is not looked at: its header with this status (BUSY, say). Only
// kAnswered and kNotARequest.
Outcome Refuse(std::span<const uint8_t> request, uint16_t status, std::vector<uint8_t>& reply);

}  // namespace fabricd::sa
