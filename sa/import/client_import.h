// SPDX-License-Identifier: Apache-2.0
// What clients left with another SM, as durable state of this one. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "common/stored_row.h"
#include "sa/import/opensm_dump.h"

namespace fabricd::sa {

struct ClientImport {
  StoredRows rows;  // As SaState::Make() takes them.
  size_t groups = 0, members = 0, services = 0, subscriptions = 0, aliases = 0;
  // Records that are left out, by line: their clients register again, as all are asked to.
  std::vector<LineFault> skipped;
};

// REQUIRES: dump.ok().
ClientImport ImportClients(const OpensmDump& dump, WallMs now);

}  // namespace fabricd::sa
