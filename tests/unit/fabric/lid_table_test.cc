// SPDX-License-Identifier: Apache-2.0
// LidTable: ranges by LMC (IBA vol 1 §4.1.3).
#include <gtest/gtest.h>

#include "fabric/lid_table.h"

namespace fabricd::fabric {
namespace {

PortRef At(uint32_t node, uint8_t port) { return {NodeIndex(node), PortNum(port)}; }

TEST(LidTableTest, OwnsWholeRange) {
  LidTable table;
  EXPECT_EQ(table.top(), Lid(0));
  table.Assign(At(3, 1), {Lid(8), 2});
  EXPECT_EQ(table.top(), Lid(11));
  EXPECT_TRUE(table.Owner(Lid(7)).IsNone());
  for (uint16_t lid = 8; lid < 12; ++lid) EXPECT_EQ(table.Owner(Lid(lid)), At(3, 1));
  EXPECT_TRUE(table.Owner(Lid(12)).IsNone());
  EXPECT_EQ(table.Of(At(3, 1)), (LidRange{Lid(8), 2}));
  EXPECT_EQ(table.Of(At(3, 2)), LidRange{});
}

TEST(LidTableTest, ReassignsAndWithdraws) {
  LidTable table;
  table.Assign(At(1, 1), {Lid(4), 2});
  table.Assign(At(2, 1), {Lid(1), 0});
  table.Assign(At(1, 1), {Lid(2), 0});
  EXPECT_EQ(table.top(), Lid(2));
  EXPECT_EQ(table.port_count(), 2u);
  table.Assign(At(1, 1), LidRange{});
  EXPECT_EQ(table.top(), Lid(1));
  EXPECT_EQ(table.port_count(), 1u);
  EXPECT_TRUE(table.Owner(Lid(2)).IsNone());
}

TEST(LidTableTest, TakesTheLastUnicastLid) {
  LidTable table;
  table.Assign(At(1, 1), {Lid(0xBF80), 7});
  EXPECT_EQ(table.top(), kMaxUnicastLid);
}

TEST(LidTableDeathTest, RefusesInvalidAssignments) {
  LidTable table;
  table.Assign(At(1, 1), {Lid(4), 1});
  EXPECT_DEATH(table.Assign(At(2, 1), {Lid(5), 0}), "owned by node 1");
  EXPECT_DEATH(table.Assign(At(2, 1), {Lid(7), 1}), "LID 7 with LMC 1");
  EXPECT_DEATH(table.Assign(At(2, 1), {Lid(0xC000), 0}), "LID 49152");
}

}  // namespace
}  // namespace fabricd::fabric
