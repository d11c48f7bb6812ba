// SPDX-License-Identifier: Apache-2.0
// SwitchTables: LinearForwardingTables of switches that a manager need not read when it takes over
// with the state of its predecessor: the predecessor has confirmed that the switches hold them.
//
// ReaderTables: what a waiting manager knows, to be compared with what the predecessor recorded.
//
// TableWrites: which blocks of them a run of the master writes.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "routing/plan/row.h"

namespace fabricd::sweep {

struct SwitchTables {
  // By NodeGUID: each block that the switch uses; where it was computed, that the plan uses.
  absl::flat_hash_map<Guid, routing::Row> rows;
  // Of switches in `rows`: blocks that may hold something else. Sorted.
  absl::flat_hash_map<Guid, std::vector<uint16_t>> unread;
  // Of switches in `rows`, sorted: this manager has not read the row, but has computed the same
  // one. So it does not know whether the switch forwards by adaptive routing.
  std::vector<Guid> computed;

  size_t bytes() const {
    size_t sum = 0;
    for (const auto& [guid, row] : rows) sum += row.size();
    return sum;
  }
};

struct ReaderTables {
  using Rows = absl::flat_hash_map<Guid, routing::Row>;  // By NodeGUID.

  // Of switches all of whose blocks in use were read. Null: no such reading has ended.
  std::shared_ptr<const Rows> read;
  Guid master;  // The port of the SM that was master when that reading ended; 0: not known.
  // As this manager would write them, for the fabric that it has discovered last. Null: no plan.
  std::shared_ptr<const Rows> computed;

  bool empty() const { return read == nullptr && computed == nullptr; }
};

struct TableBlock {
  NodeIndex node;
  uint16_t block = 0;
  friend auto operator<=>(const TableBlock&, const TableBlock&) = default;
};
using TableWrites = std::vector<TableBlock>;  // Sorted.

}  // namespace fabricd::sweep
