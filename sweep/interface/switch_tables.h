// SPDX-License-Identifier: Apache-2.0
// SwitchTables: LinearForwardingTables of switches as a reader has read them. A manager that takes
// over with the state of the predecessor starts with those that the predecessor has confirmed, and
// need not read them again.
#pragma once

#include <cstddef>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "routing/plan/row.h"

namespace fabricd::sweep {

struct SwitchTables {
  absl::flat_hash_map<Guid, routing::Row> rows;  // By NodeGUID: each block that the switch uses.

  size_t bytes() const {
    size_t sum = 0;
    for (const auto& [guid, row] : rows) sum += row.size();
    return sum;
  }
};

}  // namespace fabricd::sweep
