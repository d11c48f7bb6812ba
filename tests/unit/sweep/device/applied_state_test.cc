// SPDX-License-Identifier: Apache-2.0
// What is known of all devices: after answers that were lost, came late or said something else.
#include "sweep/device/applied_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sweep/interface/switch_tables.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Entries = std::array<uint8_t, AppliedLft::kBlock>;

class AppliedStateTest : public testing::Test {
 protected:
  static Entries Filled(uint8_t value) {
    Entries entries;
    entries.fill(value);
    return entries;
  }
  static wire::PKeyTable Keys(uint16_t key) {
    wire::PKeyTable table;
    table.keys[0] = PKey(key);
    return table;
  }
  static routing::MulticastBlock Group() {
    routing::MulticastBlock block{};
    block[0] = 0b110;
    return block;
  }
  // Something of every kind is known of this switch and of this host.
  void KnowAll() {
    state_.Lft(switch_).Confirm(0, Filled(1));
    state_.Mft(switch_).Confirm({0, 0}, Group());
    state_.vls().Confirm(map_, {});
    state_.vls().MarkRead(switch_);
    Read(state_.SwitchKeys(leaf_), 0x8001);
    state_.NoteRequestedEnforcement(leaf_, {true, true});
    state_.NoteRefusal(leaf_, 7);
    Read(state_.PKeys(host_), 0xFFFF);
    state_.GuidsTo(host_, 0).Confirm(0, {});
    state_.NoteRefusal(host_, 9);
  }
  static void Read(AppliedState::PKeyBlocks& blocks, uint16_t key) {
    blocks.GrowTo(1);
    blocks.Confirm(0, Keys(key));
  }
  bool KnowsSwitch() {
    return state_.Lft(switch_).WasRead() && state_.Mft(switch_).Knows({0, 0}) &&
           state_.vls().Find(map_) != nullptr && state_.FindSwitchKeys(leaf_) != nullptr &&
           state_.RequestedEnforcement(leaf_) && state_.IsKnownRefusal(leaf_, 7);
  }
  bool KnowsAnythingOfSwitch() {
    return state_.Lft(switch_).WasRead() || state_.Mft(switch_).Knows({0, 0}) ||
           state_.vls().Find(map_) != nullptr || state_.FindSwitchKeys(leaf_) != nullptr ||
           state_.RequestedEnforcement(leaf_) || state_.IsKnownRefusal(leaf_, 7);
  }

  AppliedState state_;
  SmallFabric fabric_{2};
  const NodeIndex switch_ = fabric_.switches[0];
  const PortRef leaf_{switch_, PortNum(1)}, host_ = fabric_.Host(0);
  const VlTable map_{{switch_, PortNum(0)}, VlTable::Kind::kMap, 0x0102};
};

// ---- what a predecessor has confirmed

TEST_F(AppliedStateTest, VouchedTablesAreAppliedOnceAndOnlyWhereThePredecessorIsContinued) {
  const auto snapshot = fabric_.builder.Build();
  auto tables = std::make_shared<SwitchTables>();
  tables->rows.emplace(snapshot->node(switch_)->guid(), routing::Row(128, 3));
  state_.SetVouched(tables);
  state_.TakeVouched(/*continues=*/false, *snapshot);
  EXPECT_TRUE(state_.IsUntouched(switch_));
  state_.TakeVouched(/*continues=*/true, *snapshot);
  EXPECT_TRUE(state_.IsUntouched(switch_)) << "it was for the first mastership";

  state_.SetVouched(tables);
  state_.TakeVouched(/*continues=*/true, *snapshot);
  EXPECT_TRUE(state_.Lft(switch_).KnowsAll());
  EXPECT_EQ(state_.Lft(switch_).row()[5], 3);
  EXPECT_EQ(state_.adaptive_routing().Of(switch_), AdaptiveRouting::State::kNone);
  EXPECT_TRUE(state_.IsUntouched(fabric_.switches[1])) << "nobody vouches for it";
}

TEST_F(AppliedStateTest, AComputedRowDoesNotSayThatAdaptiveRoutingIsOff) {
  const auto snapshot = fabric_.builder.Build();
  auto tables = std::make_shared<SwitchTables>();
  tables->rows.emplace(snapshot->node(switch_)->guid(), routing::Row(128, 3));
  tables->computed = {snapshot->node(switch_)->guid()};
  state_.SetVouched(tables);
  state_.TakeVouched(/*continues=*/true, *snapshot);
  EXPECT_TRUE(state_.Lft(switch_).KnowsAll());
  EXPECT_EQ(state_.adaptive_routing().Of(switch_), AdaptiveRouting::State::kUnknown);
}

TEST_F(AppliedStateTest, UnreadBlocksOfVouchedTablesAreNotKnown) {
  const auto snapshot = fabric_.builder.Build();
  const Guid guid = snapshot->node(switch_)->guid();
  auto tables = std::make_shared<SwitchTables>();
  tables->rows.emplace(guid, routing::Row(256, 3));
  tables->unread[guid] = {1, 3, 9};
  state_.SetVouched(tables);
  state_.TakeVouched(/*continues=*/true, *snapshot);
  const AppliedLft& lft = state_.Lft(switch_);
  EXPECT_FALSE(lft.IsUntouched());
  EXPECT_THAT(lft.Differences(4, routing::Row(256, 3)), ElementsAre(1, 3));
  EXPECT_FALSE(lft.KnowsAll());
}

TEST_F(AppliedStateTest, TablesCountAsReadWhereEachBlockInUseIsKnown) {
  wire::SwitchInfo info;
  info.linear_fdb_top = 100;
  fabric_.builder.SetSwitchInfo(switch_, info);
  const auto snapshot = fabric_.builder.Build();
  state_.Lft(switch_).Confirm(0, Filled(1));
  EXPECT_THAT(state_.ReadLfts(*snapshot), IsEmpty());
  state_.Lft(switch_).Confirm(1, Filled(2));
  const auto read = state_.ReadLfts(*snapshot);
  ASSERT_THAT(read, SizeIs(1));
  EXPECT_EQ(read.begin()->second.size(), 128u);
  state_.Lft(switch_).Distrust();
  EXPECT_THAT(state_.ReadLfts(*snapshot), IsEmpty());
}

// ---- what ends knowledge

TEST_F(AppliedStateTest, ARestartForgetsEverythingOfThatDeviceAndNothingOfOthers) {
  KnowAll();
  ASSERT_TRUE(KnowsSwitch());
  state_.ForgetWritten(host_.node);
  EXPECT_TRUE(KnowsSwitch());
  EXPECT_FALSE(state_.FindPKeys(host_)->Knows(0));
  EXPECT_THAT(*state_.FindPKeys(host_), SizeIs(1)) << "the size of its table is no setting";
  EXPECT_EQ(state_.FindGuids(host_), nullptr);
  EXPECT_FALSE(state_.IsKnownRefusal(host_, 9));
  state_.ForgetWritten(switch_);
  EXPECT_FALSE(KnowsAnythingOfSwitch());
  state_.ForgetWritten(NodeIndex(999));
}

TEST_F(AppliedStateTest, ADeviceThatIsGoneLeavesNothingBehind) {
  KnowAll();
  state_.Remove(host_.node);
  EXPECT_EQ(state_.FindPKeys(host_), nullptr);
  EXPECT_TRUE(KnowsSwitch());
  state_.Remove(switch_);
  EXPECT_FALSE(KnowsAnythingOfSwitch());
}

TEST_F(AppliedStateTest, AnotherManagersWritesMakeAllTablesUnknownButKeysThatDiscoveryReads) {
  KnowAll();
  state_.ForgetTables();
  EXPECT_FALSE(KnowsAnythingOfSwitch());
  EXPECT_TRUE(state_.FindPKeys(host_)->Knows(0));
  EXPECT_EQ(state_.FindGuids(host_), nullptr);
  state_.PKeys(host_).MarkSent(0, Keys(0x8001));
  state_.PKeys(host_).Answer(0, Keys(0xFFFF));
  state_.ForgetTables();
  EXPECT_FALSE(state_.FindPKeys(host_)->IsContradicted(0)) << "what it was sent counts no more";
  EXPECT_EQ(state_.FindPKeys(host_)->Find(0), nullptr);
}

TEST_F(AppliedStateTest, GuidsAreReadAgainExceptThoseThatAreContradicted) {
  const PortRef other = fabric_.Host(1);
  state_.GuidsTo(host_, 1).Confirm(1, {});
  wire::GuidInfo wanted;
  wanted.guids[1] = Guid(0xA1);
  state_.GuidsTo(other, 1).Confirm(1, {});
  state_.GuidsTo(other, 0).MarkSent(0, wanted);
  state_.GuidsTo(other, 0).Answer(0, {});
  state_.ForgetGuids();
  EXPECT_EQ(state_.FindGuids(host_), nullptr);
  EXPECT_EQ(*state_.FindGuids(other)->Find(0), wanted);
  EXPECT_EQ(state_.FindGuids(other)->Find(1), nullptr);
  state_.ForgetGuids(other);
  EXPECT_EQ(state_.FindGuids(other), nullptr);
}

// ---- in flight

TEST_F(AppliedStateTest, AnAttributeOfAPortIsBusyUntilItsAnswer) {
  state_.SetBusy(leaf_, wire::AttributeId::kPortInfo);
  EXPECT_TRUE(state_.IsBusy(leaf_, wire::AttributeId::kPortInfo));
  EXPECT_FALSE(state_.IsBusy(leaf_, wire::AttributeId::kPKeyTable));
  EXPECT_FALSE(state_.IsBusy(host_, wire::AttributeId::kPortInfo));
  state_.ClearBusy(leaf_, wire::AttributeId::kPortInfo);
  EXPECT_FALSE(state_.IsBusy(leaf_, wire::AttributeId::kPortInfo));
}

TEST_F(AppliedStateTest, AbandonedSetsLeaveUnknownBlocksThatMayBeWrittenAgain) {
  KnowAll();
  const PortRef other{switch_, PortNum(2)};
  state_.NoteRequestedEnforcement(other, {true, false});
  state_.SetBusy(leaf_, wire::AttributeId::kPortInfo);
  state_.SetBusy(other, wire::AttributeId::kPKeyTable);
  state_.Lft(switch_).MarkSent(0, Filled(2));
  state_.Mft(switch_).MarkSent({0, 0}, {});
  state_.AbandonInFlight();
  EXPECT_FALSE(state_.IsBusy(leaf_, wire::AttributeId::kPortInfo));
  EXPECT_FALSE(state_.RequestedEnforcement(leaf_)) << "it may have been taken or not";
  EXPECT_TRUE(state_.RequestedEnforcement(other)->inbound) << "its PortInfo was not in flight";
  EXPECT_FALSE(state_.Lft(switch_).IsInFlight(0));
  EXPECT_FALSE(state_.Lft(switch_).Knows(0));
  EXPECT_FALSE(state_.Mft(switch_).IsInFlight({0, 0}));
  EXPECT_EQ(state_.Mft(switch_).Possibly({0, 0}), Group());
}

TEST_F(AppliedStateTest, AnAnswerThatComesAfterARestartConfirmsNothing) {
  state_.PKeys(host_).GrowTo(1);
  state_.PKeys(host_).MarkSent(0, Keys(0x8001));
  state_.ForgetWritten(host_.node);
  EXPECT_TRUE(state_.PKeys(host_).Answer(0, Keys(0x8001)));
  EXPECT_FALSE(state_.FindPKeys(host_)->Knows(0));
}

TEST_F(AppliedStateTest, ARefusalIsKnownByItsFingerprintUntilItIsForgotten) {
  state_.NoteRefusal(leaf_, 7);
  EXPECT_TRUE(state_.IsKnownRefusal(leaf_, 7));
  EXPECT_FALSE(state_.IsKnownRefusal(leaf_, 8));
  EXPECT_FALSE(state_.IsKnownRefusal(host_, 7));
  state_.ForgetRefusal(leaf_);
  EXPECT_FALSE(state_.IsKnownRefusal(leaf_, 7));
}

// ---- forwarding tables, for those who plan

TEST_F(AppliedStateTest, TablesSeparateConfirmedEntriesFromThoseOfALostSet) {
  EXPECT_TRUE(state_.IsUntouched(switch_));
  state_.Lft(fabric_.switches[1]);
  AppliedLft& lft = state_.Lft(switch_);
  for (size_t block : {0, 3}) lft.Confirm(block, Filled(1));
  lft.MarkSent(3, Filled(2));
  lft.Complete(3);
  EXPECT_FALSE(state_.IsUntouched(switch_));
  const routing::AppliedTables tables = state_.Tables();
  ASSERT_THAT(tables.rows, SizeIs(2));
  EXPECT_EQ(tables.rows[1].size(), 0u) << "never read";
  EXPECT_EQ(tables.rows[0][0], 1);
  EXPECT_EQ(tables.rows[0][64], routing::kNoRoute) << "a block that was never read carries nothing";
  ASSERT_THAT(tables.unsure, SizeIs(1));
  EXPECT_EQ(tables.unsure[0].node, switch_);
  EXPECT_EQ(tables.unsure[0].block, 3);
  EXPECT_EQ(tables.unsure[0].maybe, Filled(2));
  EXPECT_EQ(tables.rows[0][3 * 64], 1);
}

TEST_F(AppliedStateTest, APlanIsHeldWhenAllItsRowsAreConfirmedAndNoOtherSwitchWasRead) {
  routing::RoutingPlan plan;
  plan.rows = {std::make_shared<const routing::Row>(64, 1)};
  EXPECT_FALSE(state_.Holds(plan));
  state_.Lft(switch_).Confirm(0, Filled(1));
  EXPECT_TRUE(state_.Holds(plan));
  state_.Lft(switch_).MarkSent(0, Filled(1));
  EXPECT_FALSE(state_.Holds(plan)) << "until the answer";
  state_.Lft(switch_).Answer(0, Filled(1));
  state_.Lft(fabric_.switches[1]).Confirm(0, Filled(9));
  EXPECT_FALSE(state_.Holds(plan)) << "a switch without a row carries something";
  state_.Lft(fabric_.switches[1]).Forget();
  EXPECT_TRUE(state_.Holds(plan));
  state_.Lft(switch_).Confirm(0, Filled(2));
  EXPECT_FALSE(state_.Holds(plan));
  plan.rows[0] = nullptr;
  EXPECT_FALSE(state_.Holds(plan));
}

TEST_F(AppliedStateTest, TreesAreThoseThatTheSwitchesHold) {
  EXPECT_FALSE(state_.HasTrees());
  EXPECT_TRUE(state_.Trees().empty());
  EXPECT_EQ(state_.FindMft(switch_), nullptr);
  state_.Mft(switch_).Confirm({0, 0}, {});
  EXPECT_FALSE(state_.HasTrees());
  state_.Mft(switch_).Confirm({0, 0}, Group());
  EXPECT_TRUE(state_.HasTrees());
  const routing::MulticastPlan trees = state_.Trees();
  ASSERT_THAT(trees.trees, SizeIs(1));
  EXPECT_THAT(trees.trees[0]->ports, ElementsAre(leaf_, PortRef{switch_, PortNum(2)}));
}

// ---- tables of ports, for readers

TEST_F(AppliedStateTest, PortTablesShowConfirmedKeysByEndPort) {
  Read(state_.PKeys(host_), 0xFFFF);
  state_.PKeys(host_).Resize(2);
  Read(state_.PKeys({switch_, PortNum(0)}), 0x7FFF);
  Read(state_.SwitchKeys({switch_, PortNum(2)}), 0x8002);
  Read(state_.SwitchKeys(leaf_), 0x8001);
  const auto tables = state_.PortTables(*fabric_.builder.Build());
  ASSERT_THAT(*tables, SizeIs(2));
  ASSERT_THAT(tables->at(host_).p_keys, SizeIs(1)) << "the second block is not known";
  EXPECT_EQ(tables->at(host_).p_keys[0].table, Keys(0xFFFF));
  const auto& of_switch = tables->at({switch_, PortNum(0)}).p_keys;
  ASSERT_THAT(of_switch, SizeIs(3)) << "its ports' tables are its own, sorted by port";
  EXPECT_EQ(of_switch[0].table, Keys(0x7FFF));
  EXPECT_EQ(of_switch[1].table, Keys(0x8001));
  EXPECT_EQ(of_switch[2].table, Keys(0x8002));
}

TEST_F(AppliedStateTest, PortTablesShowMappingsAndArbitrationAndWhetherTheyAreAll) {
  wire::SmpData bytes{};
  wire::SlToVlMappingTable mapping;
  mapping.vl[1] = 1;
  mapping.Encode(bytes);
  state_.vls().Confirm(map_, bytes);
  state_.vls().Confirm({host_, VlTable::Kind::kMap, 0}, bytes);
  state_.vls().Confirm({leaf_, VlTable::Kind::kArbitration, 2}, {});
  state_.vls().Confirm({{NodeIndex(99), PortNum(1)}, VlTable::Kind::kMap, 0}, bytes);
  state_.vls().MarkRead(switch_);
  state_.vls().MarkRead(NodeIndex(99));
  const auto tables = state_.PortTables(*fabric_.builder.Build());
  ASSERT_THAT(*tables, SizeIs(2)) << "nothing of nodes that are not there";
  const fabric::PortTables& of_switch = tables->at({switch_, PortNum(0)});
  EXPECT_TRUE(of_switch.has_all_lanes);
  EXPECT_FALSE(tables->at(host_).has_all_lanes);
  ASSERT_THAT(of_switch.lanes, SizeIs(1));
  EXPECT_EQ(of_switch.lanes[0].in, PortNum(1));
  EXPECT_EQ(of_switch.lanes[0].out, PortNum(2));
  EXPECT_EQ(of_switch.lanes[0].table, mapping);
  ASSERT_THAT(of_switch.arbitration, SizeIs(1));
  EXPECT_EQ(of_switch.arbitration[0].port, PortNum(1));
  EXPECT_EQ(of_switch.arbitration[0].block, 2);
  EXPECT_THAT(tables->at(host_).lanes, SizeIs(1));
}

TEST_F(AppliedStateTest, PortTablesAreMadeAgainOnlyWhenSomethingHasChanged) {
  const auto snapshot = fabric_.builder.Build();
  KnowAll();
  auto before = state_.PortTables(*snapshot);
  EXPECT_EQ(state_.PortTables(*snapshot), before);
  const auto expect_changed = [&] {
    const auto now = state_.PortTables(*snapshot);
    EXPECT_NE(now, before);
    before = now;
  };
  state_.PKeys(host_).MarkSent(0, Keys(1));
  expect_changed();
  state_.vls().MarkUnknown(map_);
  expect_changed();
  state_.SwitchKeys(leaf_).MarkSent(0, Keys(1));
  expect_changed();
  state_.ForgetWritten(host_.node);
  expect_changed();
  state_.ForgetSwitchKeys(switch_);
  expect_changed();
  state_.ForgetSwitchKeys(switch_);
  EXPECT_EQ(state_.PortTables(*snapshot), before) << "there were none left";
  state_.ForgetTables();
  expect_changed();
  state_.Remove(host_.node);
  expect_changed();
  EXPECT_THAT(*before, IsEmpty());
}

}  // namespace
}  // namespace fabricd::sweep
