// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/own_port_watch.h"

#include <gtest/gtest.h>

#include "sweep/interface/activity.h"
#include "tests/unit/sweep/activity/activity_fixture.h"
#include "tests/unit/sweep/scripted_fabric.h"

namespace fabricd::sweep {
namespace {

using Kind = mad::LocalPortEvent::Kind;

class OwnPortWatchTest : public testing::Test {
 protected:
  // One read of the port; the device answers with this state.
  std::optional<Kind> Read(wire::PortState state) {
    wire::PortInfo info = fixture_.observed.builder().node(own_.node)->port(own_.port).info;
    info.port_state = state;
    devices_.registers.Put(own_.node, own_.port.value(), info);
    std::optional<Kind> change;
    watch_.OnTimer(kNow);
    devices_.Run([] {}, [&](const mad::Completion& each) { change = watch_.OnCompletion(each); });
    return change;
  }

  ActivityFixture fixture_;
  const PortRef own_ = fixture_.small.Host(0);
  OwnPortWatch watch_{fixture_.ground(), fixture_.observed};
  ScriptedFabric devices_{fixture_.observed.builder(), own_, fixture_.engine};
};

TEST_F(OwnPortWatchTest, ReportsAChangeAndNothingElse) {
  EXPECT_EQ(Read(wire::PortState::kActive), std::nullopt);
  EXPECT_EQ(Read(wire::PortState::kDown), Kind::kPortDown);
  fixture_.observed.SetOwnLink(false);
  EXPECT_EQ(Read(wire::PortState::kDown), std::nullopt);
  EXPECT_EQ(Read(wire::PortState::kInit), Kind::kPortActive) << "only a master makes it ACTIVE";
}

TEST_F(OwnPortWatchTest, APortThatDoesNotAnswerIsNoChange) {
  devices_.react = [](const auto&) { return ScriptedFabric::Reaction{.is_lost = true}; };
  watch_.OnTimer(kNow);
  devices_.Run(
      [] {},
      [&](const mad::Completion& each) { EXPECT_EQ(watch_.OnCompletion(each), std::nullopt); });
}

TEST_F(OwnPortWatchTest, ReadsFourTimesASecondOnceThePortIsKnown) {
  ObservedFabric nothing{{}};
  OwnPortWatch early(fixture_.ground(), nothing);
  early.OnTimer(kNow);
  EXPECT_TRUE(fixture_.Sent(kNow).empty());
  watch_.OnTimer(kNow);
  EXPECT_EQ(fixture_.Sent(kNow).size(), 1u);
  EXPECT_EQ(watch_.next(), kNow + std::chrono::milliseconds(250));
}

}  // namespace
}  // namespace fabricd::sweep
