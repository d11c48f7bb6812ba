// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <gtest/gtest.h>

#include "sweep/plan/lid_assignment.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

LidRecords Remember(const LidAssignment& assignment, LidRecords records = {}) {
  for (const LidRecord& record : assignment.changed) records[record.port_guid] = record;
  return records;
}

TEST(LidAssignment, GivesEveryEndPortALidAndHostsOfOneLeafAdjacentOnes) {
  SmallFabric small(6);
  const auto result = AssignLids(*small.builder.Build(), {}, 0, false);
  EXPECT_EQ(result.changed.size(), 8u);
  EXPECT_TRUE(result.without.empty());
  // Hosts 0, 2, 4 are on the first switch, 1, 3, 5 on the second; switches come last.
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(result.table.Of(small.Host(i)).base.value(), 1 + i / 2 + (i % 2) * 3) << i;
  EXPECT_EQ(result.table.Of({small.switches[0], PortNum(0)}).base, Lid(7));
}

TEST(LidAssignment, KeepsRecordsAndNeverReusesThatOfAnAbsentOwner) {
  SmallFabric before(4);
  const LidRecords records = Remember(AssignLids(*before.builder.Build(), {}, 0, false));
  SmallFabric after(6);
  after.builder.RemoveNode(after.hosts[0]);
  const auto result = AssignLids(*after.builder.Build(), records, 0, false);
  for (size_t i = 1; i < 4; ++i)
    EXPECT_EQ(result.table.Of(after.Host(i)).base, records.at(Guid(0x1000 + i)).base_lid);
  std::set<uint16_t> old;
  for (const auto& [guid, record] : records) old.insert(record.base_lid.value());
  for (size_t i : {4u, 5u})
    EXPECT_FALSE(old.contains(result.table.Of(after.Host(i)).base.value())) << i;
  EXPECT_EQ(result.changed.size(), 2u);
}

TEST(LidAssignment, AdoptsLidsOfDevicesUnlessTheyCollide) {
  SmallFabric small(3);
  auto hold = [&](size_t host, uint16_t lid) {
    wire::PortInfo info = SmallFabric::Up();
    info.lid = Lid(lid);
    small.builder.SetPortInfo(small.Host(host), info);
  };
  hold(0, 500);
  hold(1, 500);
  hold(2, 0xC001);  // No unicast LID.
  const auto result = AssignLids(*small.builder.Build(), {}, 0, false);
  EXPECT_EQ(result.table.Of(small.Host(0)).base, Lid(500));
  EXPECT_NE(result.table.Of(small.Host(1)).base, Lid(500));
  EXPECT_LE(result.table.Of(small.Host(2)).base.value(), 0xBFFF);
}

TEST(LidAssignment, AlignsToTheLmcAndMovesRecordsThatNoLongerFit) {
  SmallFabric small(5);
  const LidRecords single = Remember(AssignLids(*small.builder.Build(), {}, 0, false));
  const auto result = AssignLids(*small.builder.Build(), single, 2, false);
  std::set<int> used;
  for (size_t i = 0; i < 5; ++i) {
    const auto range = result.table.Of(small.Host(i));
    EXPECT_EQ(range.lmc, 2);
    EXPECT_EQ(range.base.value() % 4, 0);
    for (int k = 0; k < 4; ++k) EXPECT_TRUE(used.insert(range.base.value() + k).second);
  }
  for (NodeIndex node : small.switches) {
    EXPECT_EQ(result.table.Of({node, PortNum(0)}).lmc, 0);
    EXPECT_TRUE(used.insert(result.table.Of({node, PortNum(0)}).base.value()).second);
  }
}

TEST(LidAssignment, ReportsEndPortsWithoutALidWhenTheSpaceIsFull) {
  SmallFabric small(2);
  LidRecords records;  // Owners that are away hold everything but LID 0xBFFF.
  for (uint32_t lid = 1; lid < 0xBFFF; ++lid)
    records[Guid(0x900000 + lid)] = {Guid(0x900000 + lid), Lid(static_cast<uint16_t>(lid)), 0};
  const auto result = AssignLids(*small.builder.Build(), records, 0, false);
  EXPECT_EQ(result.changed.size(), 1u);
  EXPECT_EQ(result.changed[0].base_lid, Lid(0xBFFF));
  EXPECT_EQ(result.without.size(), 3u);
}

TEST(LidAssignment, TheSecondPortWithOneGuidGetsNone) {
  SmallFabric small(2);
  small.builder.SetPortGuid(small.Host(1), Guid(0x1000));
  const auto result = AssignLids(*small.builder.Build(), {}, 0, false);
  ASSERT_EQ(result.without.size(), 1u);
  EXPECT_EQ(result.without[0], small.Host(1));
}

TEST(LidAssignment, SameEndPortsIgnoresStatesAndLinks) {
  SmallFabric small(4);
  const auto before = small.builder.Build();
  EXPECT_TRUE(SameEndPorts(*before, *before));
  wire::PortInfo info = SmallFabric::Up();
  info.port_state = wire::PortState::kInit;
  small.builder.SetPortInfo(small.Host(0), info);  // Its state is nothing to LIDs.
  small.builder.Unlink(small.Host(1));
  EXPECT_TRUE(SameEndPorts(*before, *small.builder.Build()));
  small.builder.SetPortUnknown(small.Host(1));
  EXPECT_FALSE(SameEndPorts(*before, *small.builder.Build()));
  SmallFabric other(4);
  other.builder.SetPortGuid(other.Host(2), Guid(0x77));
  EXPECT_FALSE(SameEndPorts(*before, *other.builder.Build()));
  small.builder.SetPortInfo(small.Host(1), SmallFabric::Up());
  EXPECT_TRUE(SameEndPorts(*before, *small.builder.Build()));
  small.builder.RemoveNode(small.hosts[3]);
  EXPECT_FALSE(SameEndPorts(*before, *small.builder.Build()));
  EXPECT_FALSE(SameEndPorts(*small.builder.Build(), *before));
}

}  // namespace
}  // namespace fabricd::sweep
