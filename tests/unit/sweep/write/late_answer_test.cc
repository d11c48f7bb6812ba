// SPDX-License-Identifier: Apache-2.0
// Answers to Sets of a run that is gone: what they show of changes is not lost with the run.
#include <gtest/gtest.h>

#include "sweep/device/device_table.h"
#include "sweep/interface/activity.h"
#include "sweep/program/programmer.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

class LateAnswer : public testing::Test {
 protected:
  LateAnswer() : fabric_(2), devices_(options_) {}

  bool Take(PortRef subject, Work work, const auto& answer) {
    mad::Completion completion;
    completion.context = mad::RequestContext::Of(Activity::kProgrammer, work, subject);
    completion.outcome = mad::Completion::Outcome::kResponse;
    completion.sent = true;
    completion.method = wire::Method::kSet;
    completion.attribute = AttributeOf(work);
    answer.Encode(completion.response.data);
    return Programmer::OnLateAnswer(completion, fabric_.builder, devices_);
  }
  const fabric::Node& Switch() const { return *fabric_.builder.node(fabric_.switches[0]); }
  PortRef PortOfSwitch(uint8_t port) const { return {fabric_.switches[0], PortNum(port)}; }
  void ShowPort(PortRef port, wire::PortState state) {
    fabric_.builder.SetPortInfo(port, In(state));
  }
  static wire::PortInfo In(wire::PortState state) {
    wire::PortInfo info = SmallFabric::Up();
    info.port_state = state;
    return info;
  }

  const SmOptions options_;
  SmallFabric fabric_;
  DeviceTable devices_;
};

TEST_F(LateAnswer, HasTheSwitchReadAgainWhenItsSetClearedPortStateChange) {
  wire::SwitchInfo shown;
  shown.port_state_change = true;
  fabric_.builder.SetSwitchInfo(fabric_.switches[0], shown);
  EXPECT_TRUE(Take(PortOfSwitch(0), Work::kSetSwitchInfo, wire::SwitchInfo{}));
  EXPECT_FALSE(Switch().switch_info->port_state_change);
  EXPECT_FALSE(Take(PortOfSwitch(0), Work::kSetSwitchInfo, wire::SwitchInfo{}));
}

TEST_F(LateAnswer, HasTheSwitchReadAgainWhenItShowsPortStateChange) {
  wire::SwitchInfo shown;
  shown.port_state_change = true;
  EXPECT_TRUE(Take(PortOfSwitch(0), Work::kSetSwitchInfo, shown));
}

TEST_F(LateAnswer, HasTheNodeReadAgainWhenALinkCameUpWentDownOrBounced) {
  const PortRef port = PortOfSwitch(1);
  EXPECT_FALSE(Take(port, Work::kConfigurePort, In(wire::PortState::kInit)));
  EXPECT_FALSE(Take(port, Work::kArm, In(wire::PortState::kArmed)));
  EXPECT_FALSE(Take(port, Work::kActivate, In(wire::PortState::kActive)));
  EXPECT_TRUE(Take(port, Work::kConfigurePort, In(wire::PortState::kInit)));
  EXPECT_TRUE(Take(port, Work::kConfigurePort, In(wire::PortState::kDown)));
  EXPECT_FALSE(Take(port, Work::kConfigurePort, In(wire::PortState::kDown)));
  EXPECT_TRUE(Take(port, Work::kConfigurePort, In(wire::PortState::kInit)));
}

TEST_F(LateAnswer, ForgetsTheSettingsOfAnAdapterWhoseLinkBounced) {
  const PortRef host = fabric_.Host(0);
  ShowPort(host, wire::PortState::kActive);
  devices_.applied().NoteRefusal(host, 7);
  ASSERT_TRUE(devices_.applied().IsKnownRefusal(host, 7));
  EXPECT_TRUE(Take(host, Work::kConfigurePort, In(wire::PortState::kInit)));
  EXPECT_FALSE(devices_.applied().IsKnownRefusal(host, 7));
}

TEST_F(LateAnswer, OfAnUnsentSetShowsNothing) {
  mad::Completion completion;
  completion.context =
      mad::RequestContext::Of(Activity::kProgrammer, Work::kSetSwitchInfo, PortOfSwitch(0));
  completion.outcome = mad::Completion::Outcome::kCancelled;
  completion.method = wire::Method::kSet;
  completion.attribute = wire::AttributeId::kSwitchInfo;
  EXPECT_FALSE(Programmer::OnLateAnswer(completion, fabric_.builder, devices_));
}

}  // namespace
}  // namespace fabricd::sweep
