// SPDX-License-Identifier: Apache-2.0
// sa/records: answers to queries for records.
//
// Answers about devices, their ports, tables and links (IBA vol 1 §15.2.5.2-13): records made from
// the snapshot and the plan, those that the ComponentMask selects. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mad/wire/sa_components.h"
#include "sa/view/asker.h"

namespace fabricd::sa {

// Whether CollectRecords() knows the attribute.
bool IsDeviceAttribute(wire::SaAttribute attribute);

// Appends the matching records in the order of their LIDs, then of their ports and blocks, and
// returns a status of the SA, kStatusOk also where there are none. A LID component is met by every
// LID of the port. `query` holds as many bytes as the attribute's layout.
// PortInfoRecord with bit 31 of the modifier: CapabilityMask and CapabilityMask2 are met by ports
// that have at least the bits asked for.
// Lane tables of which the view has none are left out; their nodes are added to `unread` (may be
// null) if they hold no more than kMostUnread tables together, else that is ERR_NO_RESOURCES.
// REQUIRES: IsDeviceAttribute(header.attribute()).
inline constexpr size_t kMostUnread = 262'144;
uint16_t CollectRecords(const SaView& view, const Asker& asker, const wire::SaHeader& header,
                        std::span<const uint8_t> query, RecordTable& table,
                        std::vector<NodeIndex>* unread = nullptr);

}  // namespace fabricd::sa
