// SPDX-License-Identifier: Apache-2.0
// What a store that several managers share would have given one of them.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "sim/simulation/manager.h"

namespace fabricd::test {

inline void GiveState(sim::Manager& from, sim::Manager& to) {
  ASSERT_TRUE(to.store.PutLids(*from.store.LoadLids()).ok());
  RowChanges rows;
  const auto stored = from.store.LoadRows();
  for (const auto& [key, value] : *stored) rows[key] = value;
  ASSERT_TRUE(to.store.ChangeRows(rows).ok());
}

// The LFTs by the plan of `view`, as confirmed.
inline std::shared_ptr<sweep::SwitchTables> TablesOf(const sweep::FabricView& view) {
  auto tables = std::make_shared<sweep::SwitchTables>();
  view.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (node.IsSwitch()) tables->rows.emplace(node.guid(), *view.plan->rows[node.index.value()]);
  });
  return tables;
}

}  // namespace fabricd::test
