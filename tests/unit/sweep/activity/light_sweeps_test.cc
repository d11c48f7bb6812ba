// SPDX-License-Identifier: Apache-2.0
#include "sweep/activity/light_sweeps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sweep/activity/activity_fixture.h"
#include "tests/unit/sweep/scripted_fabric.h"

namespace fabricd::sweep {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class LightSweepsTest : public testing::Test {
 protected:
  std::unique_ptr<LightSweep> Run() {
    sweeps_.Start({}, /*reads_tables=*/true, kNow);
    EXPECT_TRUE(sweeps_.under_way());
    EXPECT_EQ(sweeps_.TakeEnded(), nullptr);
    devices_.Run([] {}, [&](const mad::Completion& each) { sweeps_.OnCompletion(each); });
    auto ended = sweeps_.TakeEnded();
    EXPECT_FALSE(sweeps_.under_way());
    return ended;
  }
  void LoseAllOf(NodeIndex node) {
    devices_.react = [node](const ScriptedFabric::Sent& sent) {
      return ScriptedFabric::Reaction{.is_lost = sent.at.node == node};
    };
  }

  ActivityFixture fixture_;
  LightSweeps sweeps_{fixture_.ground(), fixture_.observed};
  ScriptedFabric devices_{fixture_.observed.builder(), fixture_.small.Host(0), fixture_.engine};
};

TEST_F(LightSweepsTest, AnEndedSweepIsTakenOnce) {
  EXPECT_FALSE(sweeps_.under_way());
  const auto ended = Run();
  ASSERT_NE(ended, nullptr);
  EXPECT_THAT(ended->changed(), IsEmpty());
  EXPECT_EQ(sweeps_.TakeEnded(), nullptr);
}

TEST_F(LightSweepsTest, TheNextSweepAsksTheHostsOfASwitchThatDidNotAnswer) {
  LoseAllOf(fixture_.small.switches[1]);
  EXPECT_THAT(Run()->changed(), SizeIs(1));
  LoseAllOf(NodeIndex::None());
  EXPECT_THAT(Run()->changed(), SizeIs(2)) << "both hosts";
  EXPECT_THAT(Run()->changed(), IsEmpty()) << "once";
}

TEST_F(LightSweepsTest, ClearingForgetsTheSweepAndTheSwitchesThatDidNotAnswer) {
  LoseAllOf(fixture_.small.switches[1]);
  Run();
  LoseAllOf(NodeIndex::None());
  sweeps_.Start({}, /*reads_tables=*/true, kNow);
  sweeps_.Clear();
  EXPECT_FALSE(sweeps_.under_way());
  devices_.Run([] {}, [&](const mad::Completion& each) { sweeps_.OnCompletion(each); });
  EXPECT_THAT(Run()->changed(), IsEmpty());
}

}  // namespace
}  // namespace fabricd::sweep
