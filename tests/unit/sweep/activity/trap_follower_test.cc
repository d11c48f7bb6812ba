// SPDX-License-Identifier: Apache-2.0
#include "sweep/activity/trap_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sweep/activity/activity_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::SizeIs;

class TrapFollowerTest : public testing::Test, protected ActivityFixture {
 protected:
  TrapFollowerTest() { lids_.Update(observed.snapshot(), problems); }

  wire::Notice Notice(uint16_t trap, Lid issuer) const {
    wire::Notice notice;
    notice.generic = true;
    notice.trap = trap;
    notice.issuer_lid = issuer;
    return notice;
  }
  Lid LidOf(PortRef port) const { return lids_.table()->Of(port).base; }

  Effects effects_;
  OpenQuestions questions_{effects_.questions};
  LidManager lids_{options, questions_, {}};
  std::shared_ptr<const routing::RouteState> routes_;
  Remediation remediation_{{observed.snapshot(), lids_.table(), routes_, observed.local(), options},
                           effects_,
                           questions_,
                           {}};
  Agenda agenda_{options};
  SweepJournal journal_{engine, effects_};
  ChangeFollower follower_{ground(), observed};
  TrapFollower traps_{options, observed, lids_, follower_, agenda_, remediation_, journal_};
};

TEST_F(TrapFollowerTest, ALinkTrapReportsItsSwitch) {
  traps_.OnTrap(Notice(wire::kTrapLinkStateChange, LidOf({small.switches[1], PortNum(0)})), kNow);
  EXPECT_EQ(follower_.due(), kNow + options.sweep.report_window);
  EXPECT_EQ(agenda_.next_light(), kNever);
}

TEST_F(TrapFollowerTest, ATrapOfAHostReportsThePortThatItIsAttachedTo) {
  traps_.OnTrap(Notice(wire::kTrapCapabilityMaskChanged, LidOf(small.Host(2))), kNow);
  EXPECT_NE(follower_.due(), kNever);
}

TEST_F(TrapFollowerTest, ATrapFromAnUnknownLidBringsALightSweepForward) {
  traps_.OnTrap(Notice(wire::kTrapLinkStateChange, Lid(999)), kNow);
  EXPECT_EQ(follower_.due(), kNever);
  EXPECT_EQ(agenda_.next_light(), kNow + options.sweep.retry_min);
}

TEST_F(TrapFollowerTest, ATrapAboutAnotherPriorityBringsALightSweepForward) {
  auto notice = wire::Notice::OfSmPriority(LidOf(small.Host(1)), 0, 0);
  traps_.OnTrap(notice, kNow);
  EXPECT_EQ(agenda_.next_light(), kNow + options.sweep.retry_min);
}

TEST_F(TrapFollowerTest, WithoutOnTrapNothingIsReported) {
  options.sweep.on_trap = false;
  traps_.OnTrap(Notice(wire::kTrapLinkStateChange, LidOf({small.switches[1], PortNum(0)})), kNow);
  EXPECT_EQ(follower_.due(), kNever);
}

TEST_F(TrapFollowerTest, OtherTrapsAreOnlyLogged) {
  traps_.OnTrap(Notice(259, LidOf(small.Host(1))), kNow);
  EXPECT_EQ(follower_.due(), kNever);
  ASSERT_THAT(effects_.log, SizeIs(1));
  EXPECT_EQ(effects_.log[0].level, LogLevel::kWarning);
  EXPECT_EQ(effects_.log[0].text.substr(0, 13), "trap 259 from");
}

}  // namespace
}  // namespace fabricd::sweep
