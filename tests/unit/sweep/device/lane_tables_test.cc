// SPDX-License-Identifier: Apache-2.0
// IBA vol 1 §14.2.5.8 and §14.2.5.9.
#include "sweep/device/lane_tables.h"

#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

wire::PortInfo WithVls(uint8_t code) {
  wire::PortInfo info;
  info.operational_vls = code;
  return info;
}

TEST(VlMap, MapsSlsModuloPlannedAndSupportedVls) {
  const auto switches = VlMap(3, WithVls(4));
  const auto to_end_port = VlMap(5, WithVls(2));
  for (int level = 0; level < 16; ++level) {
    EXPECT_EQ(switches.vl[static_cast<size_t>(level)], level % 3);
    EXPECT_EQ(to_end_port.vl[static_cast<size_t>(level)], level % 5 % 2);
  }
}

TEST(ServeVls, KeepsServedVlsAndAddsMissingOnes) {
  wire::VlArbitrationTable low;
  low.entries[0] = {0, 200};
  low.entries[1] = {1, 0};  // Weight 0: never served, a free entry.
  const auto wanted = ServeVls(low, 8, 3);
  ASSERT_TRUE(wanted.has_value());
  EXPECT_EQ(wanted->entries[0], low.entries[0]);
  EXPECT_EQ(wanted->entries[1].vl, 1);
  EXPECT_EQ(wanted->entries[2].vl, 2);
  EXPECT_GT(wanted->entries[1].weight, 0);
  EXPECT_GT(wanted->entries[2].weight, 0);
  EXPECT_FALSE(ServeVls(*wanted, 8, 3).has_value());
}

TEST(ServeVls, WritesNothingWhereNoEntryIsFree) {
  wire::VlArbitrationTable low;
  for (auto& entry : low.entries) entry = {0, 1};
  EXPECT_FALSE(ServeVls(low, 8, 4).has_value());
  EXPECT_FALSE(ServeVls({}, 0, 4).has_value());
}

TEST(VlTable, HasTheModifierOfItsAttribute) {
  using Kind = VlTable::Kind;
  const PortRef port{NodeIndex(3), PortNum(7)};
  EXPECT_EQ((VlTable{port, Kind::kMap, 0x0205}.Modifier(true)), 0x0205u);
  EXPECT_EQ((VlTable{port, Kind::kMap, 0}.Modifier(false)), 0u);
  EXPECT_EQ((VlTable{port, Kind::kWholeMap, 0}.Modifier(true)), 0x30000u);
  EXPECT_EQ((VlTable{port, Kind::kArbitration, kLowArbitrationBlock}.Modifier(true)), 0x10007u);
  EXPECT_EQ((VlTable{port, Kind::kArbitration, kLowArbitrationBlock}.Modifier(false)), 0x10000u);
}

}  // namespace
}  // namespace fabricd::sweep
