// SPDX-License-Identifier: Apache-2.0
// sa/paths: answers to path queries.
//
// Answers about paths (IBA vol 1 §15.2.5.16-18, §15.2.5.20): from the tables of the verified plan,
// as packets take them. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "mad/wire/sa_path_records.h"
#include "sa/view/asker.h"

namespace fabricd::sa {

// All of these append records to the table and return a status of the SA, kStatusOk also where
// nothing was found.

// PathRecords by destination, then source, then preference. `single` (SubnAdmGet) asks for one path
// between two given ends; others may leave ends open.
uint16_t CollectPaths(const SaView& view, const Asker& asker, const wire::PathRecord& wanted,
                      uint64_t mask, bool single, RecordTable& table);

// PathRecords for a MultiPathRecord: NumbPath of them for all pairs of its GIDs together, where
// IndependenceSelector is set those first that share the fewest links. `gids` are the bytes behind
// the record.
uint16_t CollectMultiPaths(const SaView& view, const Asker& asker,
                           const wire::MultiPathRecord& wanted, uint64_t mask,
                           std::span<const uint8_t> gids, RecordTable& table);

// TraceRecords of the nodes on the first path that a PathRecord asks for, from its source on.
uint16_t CollectTrace(const SaView& view, const Asker& asker, const wire::PathRecord& wanted,
                      uint64_t mask, RecordTable& table);

}  // namespace fabricd::sa
