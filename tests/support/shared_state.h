// SPDX-License-Identifier: Apache-2.0
// What a store that several managers share would have given one of them.
#pragma once

#include <gtest/gtest.h>

#include "sim/simulation/manager.h"

namespace fabricd::test {

inline void GiveState(sim::Manager& from, sim::Manager& to) {
  ASSERT_TRUE(to.store.PutLids(*from.store.LoadLids()).ok());
  RowChanges rows;
  const auto stored = from.store.LoadRows();
  for (const auto& [key, value] : *stored) rows[key] = value;
  ASSERT_TRUE(to.store.ChangeRows(rows).ok());
}

}  // namespace fabricd::test
