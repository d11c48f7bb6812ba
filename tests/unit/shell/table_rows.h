// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "routing/plan/plan.h"

namespace fabricd::shell {

// Of `size` LIDs the lower half leads to `port`.
inline routing::Row RowTo(uint8_t port, size_t size) {
  routing::Row row(size, routing::kNoRoute);
  for (size_t lid = 1; lid < size / 2; ++lid) row.Set(lid, port);
  return row;
}

}  // namespace fabricd::shell
