// SPDX-License-Identifier: Apache-2.0
// Queries for what clients have left: ServiceRecords, MCMemberRecords and InformInfoRecords (IBA
// vol 1 §15.2.5, §15.4.1). Pure.
#pragma once

#include <cstdint>
#include <span>

#include "sa/state/client_state.h"
#include "sa/view/asker.h"

namespace fabricd::sa {

bool IsClientAttribute(wire::SaAttribute attribute);

// Appends the records that the query asks for. Who is not trusted sees no ServiceKey, no QPN, and
// of groups not who is in them (C15-0.1.23). `now`: what a lease has left.
uint16_t CollectClientRecords(const SaView& view, const ClientState& state, WallMs now,
                              const Asker& asker, const wire::SaHeader& header,
                              std::span<const uint8_t> query, RecordTable& table);

// The path of a multicast packet: what the group says (§15.2.5.16). The request names the group as
// DGID.
uint16_t CollectGroupPath(const SaView& view, const ClientState& state, const Asker& asker,
                          const wire::PathRecord& wanted, uint64_t mask, RecordTable& table);

// GIDs of the ports that offer a service, of those that the asker may see.
std::vector<Gid> ProvidersOf(const SaView& view, const ClientState& state, WallMs now,
                             const Asker& asker, uint64_t service_id);

}  // namespace fabricd::sa
