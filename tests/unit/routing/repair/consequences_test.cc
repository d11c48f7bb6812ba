// SPDX-License-Identifier: Apache-2.0
// What holds would do, on trees small enough to count it by hand.
#include "routing/repair/consequences.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.
using fabric::Intent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two leaves (0, 1) with two hosts each (4-7) under two spines (2, 3).
class Small : public ::testing::Test {
 protected:
  Small() {
    FabricMaker maker;
    for (int s = 0; s < 4; ++s) maker.AddSwitch(8);
    for (size_t leaf : {0, 1})
      for (int host = 0; host < 2; ++host) maker.Host(leaf);
    for (size_t leaf : {0, 1})
      for (size_t spine : {2, 3}) maker.Cable(leaf, spine);
    fabric_ = maker.Build();
    options_.chain = {"fat_tree"};
    now_ = Replan({*fabric_.snapshot, fabric_.lids, {}, options_}).after;
  }
  Consequences JudgeIt(const Intent& intent) const {
    return Judge({*fabric_.snapshot, fabric_.lids, options_, now_, intent, End(4, 1)});
  }
  PortRef End(size_t handle, int port) const {
    return {fabric_.node[handle], PortNum(static_cast<uint8_t>(port))};
  }
  static constexpr int kUp = 3;

  TestFabric fabric_;
  RoutingOptions options_;
  std::shared_ptr<const RouteState> now_;
};

TEST_F(Small, AnEmptyIntentHasNoConsequences) {
  const Consequences found = JudgeIt({});
  EXPECT_TRUE(found.plan_found);
  EXPECT_THAT(found.cut_off, IsEmpty());
  EXPECT_EQ(found.pairs_lost, 0u);
  EXPECT_EQ(found.paths_moved, 0u);
  EXPECT_EQ(found.blocks_written, 0u);
  EXPECT_FALSE(found.sm_cut_off);
  // Two hosts send to two over two spines.
  EXPECT_EQ(found.busiest_before.load, 2u);
  EXPECT_EQ(found.busiest_after.load, 2u);
}

TEST_F(Small, ASpineOnlyMovesPaths) {
  Intent intent;
  intent.closed_switches = {fabric_.node[2]};
  const Consequences found = JudgeIt(intent);
  EXPECT_THAT(found.cut_off, IsEmpty());
  EXPECT_EQ(found.pairs_lost, 0u);
  EXPECT_GT(found.paths_moved, 0u);
  EXPECT_GT(found.blocks_written, 0u);
  EXPECT_EQ(found.busiest_after.load, 4u);
  EXPECT_FALSE(found.sm_cut_off);
}

TEST_F(Small, AClosedLeafCutsOffItsHosts) {
  Intent intent;
  intent.closed_switches = {fabric_.node[1]};
  const Consequences found = JudgeIt(intent);
  EXPECT_THAT(found.cut_off, ElementsAre(End(6, 1), End(7, 1)));
  // Of 8 LIDs two reach nobody: 56 pairs, of which 30 stay.
  EXPECT_EQ(found.pairs_lost, 26u);
  EXPECT_FALSE(found.sm_cut_off);
  intent.closed_switches = {fabric_.node[0]};
  EXPECT_TRUE(JudgeIt(intent).sm_cut_off);
}

TEST_F(Small, LinksThatNothingReplaces) {
  Intent intent;
  intent.closed_links = {End(1, kUp), End(1, kUp + 1)};
  Consequences found = JudgeIt(intent);
  // Its hosts have only each other; of equal parts that of the lowest LID stays.
  EXPECT_THAT(found.cut_off, ElementsAre(End(6, 1), End(7, 1)));
  EXPECT_EQ(found.pairs_lost, 56u - 5 * 4 - 3 * 2);
  intent = {};
  intent.avoided_links = {End(1, kUp), End(1, kUp + 1)};
  found = JudgeIt(intent);
  EXPECT_EQ(found.needed_links, intent.avoided_links);
  EXPECT_EQ(found.pairs_lost, 0u);
}

TEST_F(Small, IsolatedAndDisabledEndPortsAreNotCutOff) {
  Intent intent;
  intent.isolated = {End(5, 1)};
  Consequences found = JudgeIt(intent);
  EXPECT_THAT(found.cut_off, IsEmpty());
  EXPECT_EQ(found.pairs_lost, 14u);
  EXPECT_EQ(found.paths_moved, 1u);
  EXPECT_FALSE(found.sm_cut_off);
  intent.isolated = {End(4, 1)};
  EXPECT_TRUE(JudgeIt(intent).sm_cut_off);
  intent = {};
  intent.disabled = {End(0, 1)};  // The SM's own cable.
  found = JudgeIt(intent);
  EXPECT_TRUE(found.sm_cut_off);
  EXPECT_THAT(found.cut_off, ElementsAre(End(4, 1)));
}

TEST_F(Small, WhereThereIsNoPlan) {
  options_.chain = {"rail"};
  const auto kept = now_;
  now_ = nullptr;
  const Consequences found = JudgeIt({});
  EXPECT_FALSE(found.plan_found);
  EXPECT_FALSE(found.why_not.empty());
  now_ = kept;
}

}  // namespace
}  // namespace fabricd::routing
