// SPDX-License-Identifier: Apache-2.0
// A manager that another one, with other settings, has outvoted, and that is master again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/join.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr uint64_t kTheirPrefix = 0xFEC0'0000'0000'0001;

class TakeBackTest : public testing::Test {
 protected:
  TakeBackTest() : harness_(**sim::Generate("superpod:sus=1,hosts=4,rails=2")) {
    sweep::CoreOptions options;
    options.sm.priority = 5;
    ours_ = Join(harness_, "node0001 mlx5_0", options);
    EXPECT_TRUE(harness_.RunUntilUp(ours_));
    harness_.RunFor(seconds(15));  // A light sweep, too.
  }
  // Another manager comes, and is master with its settings, which an operator accepts.
  void LetIn(uint8_t priority) {
    sweep::CoreOptions options;
    options.sm.priority = priority;
    options.sm.gid_prefix = kTheirPrefix;
    other_ = Join(harness_, "node0002 mlx5_0", options);
    if (priority < 5) {
      harness_.RunFor(seconds(5));
      harness_.Post(ours_, sweep::StepDown{1});
    }
    sim::Manager& other = harness_.manager(other_);
    ASSERT_TRUE(harness_.RunUntil([&] {
      return other.view != nullptr && other.view->sm.is_held && other.view->takeover != nullptr;
    })) << LogOf(other);
    harness_.Post(other_, sweep::AcceptTakeover{1, other.view->takeover->id});
    ASSERT_TRUE(harness_.RunUntilUp(other_)) << LogOf(other);
    ASSERT_EQ(Prefix(), kTheirPrefix);
  }
  // Until ours is master again: whether it is held.
  bool IsHeld() {
    harness_.Kill(other_);
    const auto& view = harness_.manager(ours_).view;
    EXPECT_TRUE(harness_.RunUntil([&] { return view->sm.is_held || view->subnet_up; }))
        << LogOf(harness_.manager(ours_));
    return view->sm.is_held;
  }
  uint64_t Prefix() {
    const PortRef port = *harness_.fabric().FindHostPort("node0003 mlx5_0");
    return harness_.fabric().device(port.node)->port(port.port).info.gid_prefix;
  }

  sim::Simulation harness_;
  size_t ours_ = 0, other_ = 0;
};

TEST_F(TakeBackTest, OneThatWasOutvotedUndoesTheChangesOfTheOther) {
  LetIn(9);
  harness_.RunFor(minutes(10));
  EXPECT_FALSE(IsHeld());
  EXPECT_EQ(Prefix(), sweep::CoreOptions().sm.gid_prefix);
}

TEST_F(TakeBackTest, SoDoesOneThatHasStartedAgainMeanwhile) {
  LetIn(9);
  harness_.Kill(ours_);
  harness_.Start(ours_);
  harness_.RunFor(seconds(10));
  EXPECT_FALSE(IsHeld());
  EXPECT_EQ(Prefix(), sweep::CoreOptions().sm.gid_prefix);
}

TEST_F(TakeBackTest, AfterAnHourItIsHeld) {
  LetIn(9);
  harness_.RunFor(minutes(61));
  EXPECT_TRUE(IsHeld());
  EXPECT_EQ(Prefix(), kTheirPrefix);
}

TEST_F(TakeBackTest, OneThatHasSteppedDownIsHeld) {
  LetIn(3);
  EXPECT_TRUE(IsHeld());
  EXPECT_EQ(Prefix(), kTheirPrefix);
}

TEST_F(TakeBackTest, ASecondLossCountsForItself) {
  LetIn(9);
  ASSERT_FALSE(IsHeld());
  harness_.RunFor(minutes(59));
  harness_.Start(other_);
  ASSERT_TRUE(harness_.RunUntilUp(other_)) << LogOf(harness_.manager(other_));
  harness_.RunFor(minutes(30));
  EXPECT_FALSE(IsHeld());
}

}  // namespace
}  // namespace fabricd::test
