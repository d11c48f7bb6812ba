// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/own_port_watch.h"

#include <gtest/gtest.h>

#include "sweep/interface/activity.h"
#include "tests/unit/sweep/activity/activity_fixture.h"
#include "tests/unit/sweep/scripted_fabric.h"

namespace fabricd::sweep {
namespace {

using Kind = mad::LocalPortEvent::Kind;
using wire::PortState;

class OwnPortWatchTest : public testing::Test {
 protected:
  wire::PortInfo Info(PortState state) {
    wire::PortInfo info = fixture_.observed.builder().node(own_.node)->port(own_.port).info;
    info.port_state = state;
    return info;
  }
  // One read of the port; the device answers with this state.
  std::optional<Kind> Read(PortState state) {
    devices_.registers.Put(own_.node, own_.port.value(), Info(state));
    std::optional<Kind> change;
    watch_.OnTimer(kNow);
    devices_.Run([] {}, [&](const mad::Completion& each) { change = watch_.OnCompletion(each); });
    if (change) watch_.Note(*change == Kind::kPortActive);
    return change;
  }
  void Discover(PortState state) {
    fixture_.observed.builder().SetPortInfo(own_, Info(state));
    fixture_.observed.OnDiscovered(own_, {});
    watch_.OnDiscovered();
  }

  ActivityFixture fixture_;
  const PortRef own_ = fixture_.small.Host(0);
  OwnPortWatch watch_{fixture_.ground(), fixture_.observed};
  ScriptedFabric devices_{fixture_.observed.builder(), own_, fixture_.engine};
};

TEST_F(OwnPortWatchTest, ReportsEachChangeOnce) {
  EXPECT_TRUE(watch_.has_link());
  EXPECT_EQ(Read(PortState::kActive), std::nullopt);
  EXPECT_EQ(Read(PortState::kDown), Kind::kPortDown);
  EXPECT_FALSE(watch_.has_link());
  EXPECT_EQ(Read(PortState::kDown), std::nullopt);
  EXPECT_EQ(Read(PortState::kInit), Kind::kPortActive) << "only a master makes it ACTIVE";
  EXPECT_EQ(Read(PortState::kActive), std::nullopt);
}

TEST_F(OwnPortWatchTest, APortThatDoesNotAnswerIsNoChangeAndIsReadAgain) {
  devices_.react = [](const auto&) { return ScriptedFabric::Reaction{.is_lost = true}; };
  int completions = 0;
  for (int i = 0; i < 2; ++i) {
    watch_.OnTimer(kNow);
    devices_.Run([] {},
                 [&](const mad::Completion& each) {
                   ++completions;
                   EXPECT_EQ(watch_.OnCompletion(each), std::nullopt);
                 });
  }
  EXPECT_EQ(completions, 2);
}

TEST_F(OwnPortWatchTest, ReadsFourTimesASecondOncePortAndAnswerAreThere) {
  ObservedFabric nothing{{}};
  OwnPortWatch early(fixture_.ground(), nothing);
  early.OnTimer(kNow);
  EXPECT_TRUE(fixture_.Sent(kNow).empty());
  watch_.OnTimer(kNow);
  EXPECT_EQ(fixture_.Sent(kNow).size(), 1u);
  EXPECT_EQ(watch_.next(), kNow + std::chrono::milliseconds(250));
  watch_.OnTimer(kNow);
  EXPECT_TRUE(fixture_.Sent(kNow).empty()) << "the first one is out";
  fixture_.engine.CancelAll();
  watch_.OnRequestsDropped();
  watch_.OnTimer(kNow);
  EXPECT_EQ(fixture_.Sent(kNow).size(), 1u);
}

TEST_F(OwnPortWatchTest, ADiscoveryCountsUnlessSomethingNewerIsKnown) {
  Discover(PortState::kDown);
  EXPECT_FALSE(watch_.has_link());
  Discover(PortState::kActive);
  EXPECT_TRUE(watch_.has_link());
  watch_.Note(false);
  Discover(PortState::kActive);
  EXPECT_FALSE(watch_.has_link()) << "it was read before the link was lost";
  watch_.OnRequestsDropped();
  Discover(PortState::kActive);
  EXPECT_TRUE(watch_.has_link());
}

TEST_F(OwnPortWatchTest, ADiscoveryThatCouldNotReadThePortChangesNothing) {
  fixture_.observed.builder().SetPortUnknown(own_);
  fixture_.observed.OnDiscovered(own_, {});
  watch_.OnDiscovered();
  EXPECT_TRUE(watch_.has_link());
}

TEST_F(OwnPortWatchTest, PortZeroOfASwitchNeedsNoLink) {
  const PortRef zero{fixture_.small.switches[0], PortNum(0)};
  wire::PortInfo info;
  info.port_state = PortState::kDown;
  fixture_.observed.builder().SetPortInfo(zero, info);
  fixture_.observed.OnDiscovered(zero, {});
  watch_.OnDiscovered();
  EXPECT_TRUE(watch_.has_link());
  watch_.OnTimer(kNow);
  EXPECT_TRUE(fixture_.Sent(kNow).empty());
}

}  // namespace
}  // namespace fabricd::sweep
