// SPDX-License-Identifier: Apache-2.0
// What a switch is believed to hold: only what an answer showed.
#include <gtest/gtest.h>

#include "sweep/device/applied_lft.h"
#include "sweep/device/device_table.h"
#include "sweep/interface/activity.h"
#include "sweep/program/programmer.h"

namespace fabricd::sweep {
namespace {

using Block = std::array<uint8_t, AppliedLft::kBlock>;

std::shared_ptr<const routing::Row> MakeRow(size_t blocks, uint8_t fill) {
  return std::make_shared<const routing::Row>(blocks * AppliedLft::kBlock, fill);
}
Block Filled(uint8_t value) {
  Block block;
  block.fill(value);
  return block;
}

TEST(AppliedLft, HoldsNothingBeforeAnAnswer) {
  AppliedLft lft;
  const auto row = MakeRow(3, 7);
  lft.ExpectRow(*row);
  EXPECT_FALSE(lft.Holds(0, *row));
  lft.Confirm(1, Filled(7));
  EXPECT_FALSE(lft.Holds(0, *row));
  EXPECT_TRUE(lft.Holds(1, *row));
}

TEST(AppliedLft, TreatsABlockInFlightAsUnknown) {
  AppliedLft lft;
  const auto row = MakeRow(2, 7);
  lft.ExpectRow(*row);
  lft.Confirm(0, Filled(7));
  lft.MarkSent(0, Filled(9));
  EXPECT_TRUE(lft.IsInFlight(0));
  EXPECT_FALSE(lft.Holds(0, *row));
  EXPECT_FALSE(lft.Knows(0));
}

TEST(AppliedLft, KeepsAContradictedBlockUnknownUntilAnAnswerMatches) {
  AppliedLft lft;
  const auto row = MakeRow(2, 7);
  lft.ExpectRow(*row);
  lft.MarkSent(1, Filled(7));
  EXPECT_FALSE(lft.Answer(1, Filled(9)));
  EXPECT_TRUE(lft.IsContradicted(1));
  EXPECT_FALSE(lft.IsContradicted(0));
  EXPECT_FALSE(lft.Knows(1));
  lft.MarkSent(1, Filled(7));
  EXPECT_TRUE(lft.Answer(1, Filled(7)));
  EXPECT_FALSE(lft.IsContradicted(1));
  EXPECT_TRUE(lft.Knows(1));
  lft.MarkSent(0, Filled(7));
  EXPECT_FALSE(lft.Answer(0, Filled(9)));
  lft.Complete(0);
  lft.Forget();
  EXPECT_FALSE(lft.IsContradicted(0));
}

// The response belongs to a superseded run, and the device still returns the entries from before
// the Set.
TEST(AppliedLft, ALateAnswerWithOtherEntriesConfirmsNothing) {
  const SmOptions options;
  DeviceTable devices(options);
  fabric::SnapshotBuilder builder;
  const NodeIndex node(3);
  devices.applied().Lft(node).Confirm(0, Filled(9));
  devices.applied().Lft(node).MarkSent(0, Filled(7));
  mad::Completion completion;
  completion.context = mad::RequestContext::Of(Activity::kProgrammer, Work::kSetLft, {node, {}});
  completion.outcome = mad::Completion::Outcome::kResponse;
  completion.sent = true;
  completion.method = wire::Method::kSet;
  completion.attribute = wire::AttributeId::kLinearForwardingTable;
  completion.response.data = Filled(9);
  EXPECT_FALSE(Programmer::OnLateAnswer(completion, builder, devices));
  EXPECT_FALSE(devices.applied().Lft(node).IsInFlight(0));
  EXPECT_FALSE(devices.applied().Lft(node).Knows(0)) << "the Set asked for other entries";
  EXPECT_TRUE(devices.applied().Lft(node).IsContradicted(0));
}

TEST(AppliedLft, KeepsConfirmedBlocksThatDifferFromTheExpectedRow) {
  AppliedLft lft;
  const auto row = MakeRow(2, 7), other = MakeRow(2, 9);
  lft.ExpectRow(*row);
  lft.Confirm(0, Filled(7));
  lft.Confirm(1, Filled(9));
  EXPECT_TRUE(lft.Holds(0, *row));
  EXPECT_FALSE(lft.Holds(1, *row));
  EXPECT_TRUE(lft.Holds(1, *other));
  EXPECT_EQ((*row)[64], 7) << "the plan's row must not be written";
}

TEST(AppliedLft, GrowsWithAReadBackAndComparesRowsOfOtherLength) {
  AppliedLft lft;
  lft.Confirm(2, Filled(5));
  const auto row = MakeRow(4, 5), shorter = MakeRow(2, 5);
  EXPECT_FALSE(lft.Holds(0, *row));
  EXPECT_TRUE(lft.Holds(2, *row));
  EXPECT_FALSE(lft.Holds(2, *shorter));
  EXPECT_FALSE(lft.Holds(3, *row));
}

TEST(AppliedLft, SharesAnEqualRow) {
  AppliedLft lft;
  const auto first = MakeRow(2, 7), second = MakeRow(2, 9);
  lft.ExpectRow(*first);
  for (size_t block : {0u, 1u}) lft.Confirm(block, Filled(7));
  for (size_t block : {0u, 1u}) lft.Confirm(block, Filled(9));
  EXPECT_FALSE(lft.row().SharesPage(*second, 0));
  lft.ShareMemory(*second);
  EXPECT_TRUE(lft.row().SharesPage(*second, 0));
  EXPECT_TRUE(lft.Holds(1, *second));
}

TEST(AppliedLft, ListsDifferencesOverSharedPages) {
  constexpr size_t kBlocks = 100;  // Three pages and a piece.
  AppliedLft lft;
  const auto row = MakeRow(kBlocks, 7);
  lft.ExpectRow(*row);
  for (size_t block = 0; block < kBlocks; ++block) lft.Confirm(block, Filled(7));
  EXPECT_TRUE(lft.KnowsAll());
  EXPECT_TRUE(lft.Differences(kBlocks, *row).empty());
  routing::Row wanted = *row;
  for (size_t lid : {0u, 40u * 64u, 99u * 64u + 63u}) wanted.Set(lid, 8);
  EXPECT_EQ(lft.Differences(kBlocks, wanted), (std::vector<uint16_t>{0, 40, 99}));
  EXPECT_EQ(lft.Differences(41, wanted), (std::vector<uint16_t>{0, 40}));
  lft.MarkSent(70, Filled(7));  // Not known until its answer.
  EXPECT_FALSE(lft.KnowsAll());
  EXPECT_EQ(lft.Differences(kBlocks, *row), (std::vector<uint16_t>{70}));
}

}  // namespace
}  // namespace fabricd::sweep
