// SPDX-License-Identifier: Apache-2.0
// SwitchTables: LinearForwardingTables of switches as a reader has read them. A manager that takes
// over with the state of the predecessor starts with those that the predecessor has confirmed, and
// need not read them again.
//
// TableWrites: which blocks of them a run of the master writes.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "routing/plan/row.h"

namespace fabricd::sweep {

struct SwitchTables {
  absl::flat_hash_map<Guid, routing::Row> rows;  // By NodeGUID: each block that the switch uses.
  // Of switches in `rows`: blocks that may hold something else. Sorted.
  absl::flat_hash_map<Guid, std::vector<uint16_t>> unread;

  size_t bytes() const {
    size_t sum = 0;
    for (const auto& [guid, row] : rows) sum += row.size();
    return sum;
  }
};

struct TableBlock {
  NodeIndex node;
  uint16_t block = 0;
  friend auto operator<=>(const TableBlock&, const TableBlock&) = default;
};
using TableWrites = std::vector<TableBlock>;  // Sorted.

}  // namespace fabricd::sweep
