// SPDX-License-Identifier: Apache-2.0
// What a switch's multicast table is believed to hold: only what an answer showed.
#include "sweep/device/applied_mft.h"

#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using Block = AppliedMft::Block;
using Place = AppliedMft::Place;

constexpr Place kHere{1, 0}, kThere{1, 1};

Block With(uint16_t mask) {
  Block block{};
  block[3] = mask;
  return block;
}
Block Anything() {
  Block block;
  block.fill(0xFFFF);
  return block;
}

TEST(AppliedMft, AnUnreadBlockMayHoldAnything) {
  AppliedMft mft;
  EXPECT_FALSE(mft.Knows(kHere));
  EXPECT_EQ(mft.Surely(kHere), Block{});
  EXPECT_EQ(mft.Possibly(kHere), Anything());
  EXPECT_FALSE(mft.HasEntries()) << "nothing is known of";
  EXPECT_EQ(mft.Row(), nullptr);
  mft.Confirm(kHere, With(0b11));
  EXPECT_TRUE(mft.Knows(kHere));
  EXPECT_FALSE(mft.Knows(kThere));
  EXPECT_EQ(mft.Surely(kHere), With(0b11));
  EXPECT_EQ(mft.Possibly(kHere), With(0b11));
  EXPECT_TRUE(mft.HasEntries());
  ASSERT_NE(mft.Row(), nullptr);
  EXPECT_EQ(mft.Row()->At(kHere), With(0b11));
  mft.Confirm(kHere, Block{});
  EXPECT_FALSE(mft.HasEntries());
  EXPECT_EQ(mft.Row(), nullptr);
}

TEST(AppliedMft, NamesTheMlidsOfItsEntries) {
  AppliedMft mft;
  std::set<Lid> mlids;
  mft.AddMlids(mlids);
  EXPECT_TRUE(mlids.empty());
  mft.Confirm(kHere, With(0b11));
  mft.Confirm({0, 1}, With(0b11));
  mft.AddMlids(mlids);
  EXPECT_EQ(mlids, (std::set{Lid(0xC003), Lid(0xC023)}));
  mft.Confirm(kHere, Block{});
  mlids.clear();
  mft.AddMlids(mlids);
  EXPECT_EQ(mlids, std::set{Lid(0xC003)});
}

TEST(AppliedMft, CountsEntriesOfAnUnansweredSetAsPossible) {
  AppliedMft mft;
  mft.Confirm(kHere, With(0b0110));
  mft.MarkSent(kHere, With(0b1100));
  EXPECT_TRUE(mft.IsInFlight(kHere));
  EXPECT_EQ(mft.InFlight(kHere), With(0b1100));
  EXPECT_FALSE(mft.Knows(kHere));
  EXPECT_EQ(mft.Surely(kHere), With(0b0100));
  EXPECT_EQ(mft.Possibly(kHere), With(0b1110));
  mft.Complete(kHere);  // Given up: nobody knows whether it arrived.
  EXPECT_FALSE(mft.IsInFlight(kHere));
  EXPECT_FALSE(mft.Knows(kHere));
  EXPECT_EQ(mft.Possibly(kHere), With(0b1110));
  mft.Confirm(kHere, With(0b1100));
  EXPECT_TRUE(mft.Knows(kHere));
}

TEST(AppliedMft, LeavesNoEntryCertainAfterTwoUnansweredSets) {
  AppliedMft mft;
  mft.Confirm(kHere, With(0b0001));
  mft.MarkSent(kHere, With(0b0010));
  mft.Complete(kHere);
  mft.MarkSent(kHere, With(0b0100));
  EXPECT_EQ(mft.Surely(kHere), Block{}) << "any of the three";
  EXPECT_EQ(mft.Possibly(kHere), Anything());
  EXPECT_TRUE(mft.HasEntries());
}

TEST(AppliedMft, RestoresTheConfirmedBlockOfAnUnsentSet) {
  AppliedMft mft;
  mft.Confirm(kHere, With(0b1));
  mft.MarkSent(kHere, With(0b10));
  mft.MarkUnsent(kHere);
  EXPECT_TRUE(mft.Knows(kHere));
  EXPECT_EQ(mft.Surely(kHere), With(0b1));
  mft.MarkSent(kThere, With(0b10));
  mft.MarkUnsent(kThere);
  EXPECT_FALSE(mft.Knows(kThere));
  EXPECT_EQ(mft.blocks().size(), 1u);
}

TEST(AppliedMft, KeepsBlocksInFlightWhenTheRestIsForgotten) {
  AppliedMft mft;
  mft.Confirm(kHere, With(0b1));
  mft.Confirm(kThere, With(0b1));
  mft.MarkSent(kThere, With(0b10));
  mft.Forget();
  EXPECT_FALSE(mft.Knows(kHere));
  EXPECT_TRUE(mft.IsInFlight(kThere));
  EXPECT_EQ(mft.Possibly(kThere), Anything()) << "what it replaces is not known any more";
  mft.MarkUnsent(kThere);
  EXPECT_TRUE(mft.blocks().empty());
  mft.MarkSent(kHere, With(0b1));
  mft.AbandonInFlight();
  EXPECT_FALSE(mft.IsInFlight(kHere));
  mft.Forget();
  EXPECT_TRUE(mft.blocks().empty());
}

TEST(AppliedMft, KeepsAContradictedBlockUnknownUntilAnAnswerMatches) {
  AppliedMft mft;
  mft.MarkSent(kHere, With(0b1));
  mft.Complete(kHere);
  mft.MarkContradicted(kHere);
  EXPECT_TRUE(mft.IsContradicted(kHere));
  EXPECT_FALSE(mft.IsContradicted(kThere));
  EXPECT_FALSE(mft.Knows(kHere));
  mft.Confirm(kHere, With(0b1));
  EXPECT_FALSE(mft.IsContradicted(kHere));
  mft.MarkContradicted(kHere);
  mft.Forget();
  EXPECT_FALSE(mft.IsContradicted(kHere));
}

}  // namespace
}  // namespace fabricd::sweep
