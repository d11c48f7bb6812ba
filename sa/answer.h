// SPDX-License-Identifier: Apache-2.0
// Answer: one request to Subnet Administration (IBA vol 1 §15.4) → one response, from one view and
// one state of what clients have left. Pure and reentrant: any thread may answer any request from
// what it holds. Requests that change that state are SaState's to answer. docs/SA.md has what is
// answered, and how.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.h"
#include "sa/state/client_state.h"
#include "sa/view/view.h"

namespace fabricd::sa {

enum class Outcome : uint8_t {
  kAnswered,
  kNotARequest,  // A response, or nothing that has one; too short.
  kWrongKey,     // An SM_Key that is not the subnet's: no answer, so that nobody may try keys.
  // From a LID that the view does not know: a newer view may, so the request is to wait.
  kUnknownRequester,
  kChange,  // A Set or Delete for SaState; nothing of it was looked at but its header.
};

struct Sources {
  const SaView& view;
  const ClientState& clients;
  WallMs now = 0;  // Of which leases depend.
  // Where not null: nodes are added whose lane tables belong into the answer, and which nobody has
  // read yet.
  std::vector<NodeIndex>* unread = nullptr;
};

// `request`: the whole payload as the transport has it, from the MAD header on; `from` the LID it
// came from. `reply` is replaced (and may be kept for the next call, to save allocations): a MAD of
// 256 bytes, or for SubnAdmGetTable, -GetMulti and -GetTraceTable a payload for RMPP of any length
// from 56 bytes on, with the header of its first segment, which the kernel cuts into segments.
Outcome Answer(const Sources& sources, std::span<const uint8_t> request, Lid from,
               std::vector<uint8_t>& reply);

// Whether Answer() takes microseconds, however large the subnet is: a Get of one path whose ends
// the request names (with 128 LIDs at both it may be a few milliseconds). Anything else may be a
// search through all.
bool IsShort(std::span<const uint8_t> request);

}  // namespace fabricd::sa
