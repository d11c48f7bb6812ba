// SPDX-License-Identifier: Apache-2.0
#include "sweep/agenda/agenda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class AgendaTest : public testing::Test {
 protected:
  static constexpr Instant kNow{seconds(100)};

  AgendaTest() {
    options_.sweep.light_interval = seconds(10);
    options_.sweep.retry_min = seconds(1);
    options_.sweep.retry_max = seconds(60);
  }
  // How long after kNow the retry is due when a sweep has ended now.
  Duration RetryAfter(Agenda::End end) {
    agenda_.OnSweepEnd(end, kNow);
    return agenda_.next_retry() - kNow;
  }
  Duration LightAfter(Agenda::End end) {
    agenda_.OnSweepEnd(end, kNow);
    return agenda_.next_light() - kNow;
  }

  CoreOptions options_;
  Agenda agenda_{options_};
};

TEST_F(AgendaTest, NothingIsRequestedAtFirst) {
  EXPECT_FALSE(agenda_.WantsSweep());
  EXPECT_FALSE(agenda_.IsSweepDue(false, kNow));
  EXPECT_FALSE(agenda_.WantsReroute());
  EXPECT_EQ(agenda_.next_light(), kNever);
  EXPECT_EQ(agenda_.next_heavy(), kNever);
  EXPECT_EQ(agenda_.next_retry(), kNever);
}

// ---- heavy sweeps

TEST_F(AgendaTest, ARequestedSweepIsDueAtOnceDespiteReports) {
  agenda_.WantSweep("local port went down");
  EXPECT_TRUE(agenda_.IsSweepDue(true, kNow));
  EXPECT_FALSE(agenda_.IsCheck(kNow));
}

TEST_F(AgendaTest, TheFirstReasonForASweepStays) {
  agenda_.WantSweep("first");
  agenda_.WantSweep("second");
  agenda_.WantCheck("third", kNow);
  EXPECT_EQ(agenda_.why(), "first");
}

TEST_F(AgendaTest, ACheckLetsReportsGoFirstForASecond) {
  agenda_.WantCheck("interval", kNow);
  EXPECT_TRUE(agenda_.IsSweepDue(false, kNow));
  EXPECT_FALSE(agenda_.IsSweepDue(true, kNow + milliseconds(999)));
  EXPECT_TRUE(agenda_.IsSweepDue(true, kNow + seconds(1)));
  EXPECT_TRUE(agenda_.IsCheck(kNow + milliseconds(999)));
  EXPECT_FALSE(agenda_.IsCheck(kNow + seconds(1)));
}

TEST_F(AgendaTest, TheWaitOfACheckDoesNotBeginAgain) {
  agenda_.WantCheck("command", kNow);
  agenda_.WantCheck("interval", kNow + milliseconds(500));
  EXPECT_EQ(agenda_.why(), "command");
  EXPECT_TRUE(agenda_.IsSweepDue(true, kNow + seconds(1)));
}

TEST_F(AgendaTest, ASweepReplacesACheckThatWaitsAndStillReadsBack) {
  agenda_.WantCheck("command", kNow);
  agenda_.WantSweep("another SM appeared");
  EXPECT_EQ(agenda_.why(), "another SM appeared");
  EXPECT_TRUE(agenda_.IsSweepDue(true, kNow));
  agenda_.OnSweepStart(false);
  EXPECT_TRUE(agenda_.TakeReadBack());
}

TEST_F(AgendaTest, OnlyASweepThatIncludesACheckReadsBackAndOnce) {
  agenda_.WantSweep("start");
  agenda_.OnSweepStart(false);
  EXPECT_FALSE(agenda_.TakeReadBack());
  agenda_.WantSweep("start");
  agenda_.WantCheck("command", kNow);
  agenda_.OnSweepStart(false);
  EXPECT_TRUE(agenda_.TakeReadBack());
  EXPECT_FALSE(agenda_.TakeReadBack());
}

TEST_F(AgendaTest, AnInterruptedReadBackFollowsTheNextSweep) {
  agenda_.WantCheck("command", kNow);
  agenda_.OnSweepStart(false);
  agenda_.WantSweep("the local port went down");
  agenda_.OnSweepStart(false);
  EXPECT_TRUE(agenda_.TakeReadBack()) << "the first one has not ended";
  agenda_.ReadBackAgain();
  agenda_.WantSweep("start");
  agenda_.OnSweepStart(false);
  EXPECT_TRUE(agenda_.TakeReadBack());
  agenda_.ReadBackAgain();
  agenda_.DropSweep();
  EXPECT_FALSE(agenda_.TakeReadBack()) << "another SM is master";
}

TEST_F(AgendaTest, ASweepThatStartsEndsRequestsForSweepsAndRetries) {
  agenda_.WantSweep("a");
  agenda_.WantRetrySoon(kNow);
  agenda_.OnSweepStart(false);
  EXPECT_FALSE(agenda_.WantsSweep());
  EXPECT_EQ(agenda_.next_retry(), kNever);
}

TEST_F(AgendaTest, NewOptionsAreTakenOnce) {
  CoreOptions options;
  options.lmc = 3;
  agenda_.WantOptions(options);
  EXPECT_EQ(agenda_.TakeOptions()->lmc, 3);
  EXPECT_FALSE(agenda_.TakeOptions().has_value());
}

TEST_F(AgendaTest, PatienceEndsForGoodWithOtherWork) {
  agenda_.OnSweepStart(true);
  EXPECT_TRUE(agenda_.StaysPatient(true));
  EXPECT_FALSE(agenda_.StaysPatient(false));
  EXPECT_FALSE(agenda_.StaysPatient(true));
  agenda_.OnSweepStart(false);
  EXPECT_FALSE(agenda_.StaysPatient(true));
}

TEST_F(AgendaTest, AWantedRerouteEndsPatience) {
  agenda_.OnSweepStart(true);
  agenda_.WantReroute("a hold");
  EXPECT_FALSE(agenda_.StaysPatient(true));
}

// ---- reroutes

TEST_F(AgendaTest, TheLastReasonForARerouteIsTakenOnce) {
  agenda_.WantReroute("a hold");
  agenda_.WantReroute("partitions");
  EXPECT_TRUE(agenda_.WantsReroute());
  EXPECT_EQ(agenda_.TakeReroute(), "partitions");
  EXPECT_FALSE(agenda_.WantsReroute());
}

// ---- deadlines

TEST_F(AgendaTest, EachEndSchedulesTheNextLightSweep) {
  for (const SweepKind kind : {SweepKind::kHeavy, SweepKind::kLight, SweepKind::kTargeted})
    EXPECT_EQ(LightAfter({kind}), seconds(10));
  options_.sweep.light_interval = {};
  agenda_.OnSweepEnd({SweepKind::kHeavy}, kNow);
  EXPECT_EQ(agenda_.next_light(), kNever);
}

TEST_F(AgendaTest, OnlyAHeavySweepSchedulesTheNextOne) {
  options_.sweep.heavy_interval = seconds(300);
  agenda_.OnSweepEnd({SweepKind::kTargeted}, kNow);
  EXPECT_EQ(agenda_.next_heavy(), kNever);
  agenda_.OnSweepEnd({SweepKind::kHeavy}, kNow);
  EXPECT_EQ(agenda_.next_heavy(), kNow + seconds(300));
  agenda_.OnSweepEnd({SweepKind::kLight}, kNow + seconds(10));
  EXPECT_EQ(agenda_.next_heavy(), kNow + seconds(300));
}

TEST_F(AgendaTest, RetriesComeAtGrowingIntervalsUpToTheLongest) {
  const Agenda::End failed{SweepKind::kHeavy, /*failed=*/true};
  for (const int wait : {1, 2, 4, 8, 16, 32, 60, 60}) EXPECT_EQ(RetryAfter(failed), seconds(wait));
}

TEST_F(AgendaTest, SuccessEndsRetriesAndTheirBackoff) {
  RetryAfter({SweepKind::kHeavy, true});
  RetryAfter({SweepKind::kHeavy, true});
  agenda_.OnSweepEnd({SweepKind::kTargeted, false}, kNow);
  EXPECT_EQ(agenda_.next_retry(), kNever);
  EXPECT_EQ(RetryAfter({SweepKind::kHeavy, true}), seconds(1));
}

TEST_F(AgendaTest, ALightSweepLeavesRetriesAsTheyAre) {
  EXPECT_EQ(RetryAfter({SweepKind::kHeavy, true}), seconds(1));
  EXPECT_EQ(RetryAfter({SweepKind::kLight}), seconds(1));
}

TEST_F(AgendaTest, AStandbySchedulesNoRetry) {
  agenda_.OnSweepEnd({SweepKind::kHeavy, true, /*is_standby=*/true}, kNow);
  EXPECT_EQ(agenda_.next_retry(), kNever);
}

TEST_F(AgendaTest, WithoutAPeerTheOwnLinkIsReadAtLeastAtTheLightInterval) {
  Agenda::End alone{SweepKind::kHeavy, true};
  alone.is_alone = true;
  for (const int wait : {1, 2, 4, 8, 10, 10}) EXPECT_EQ(RetryAfter(alone), seconds(wait));
  options_.sweep.light_interval = {};
  EXPECT_EQ(RetryAfter(alone), seconds(20));
}

TEST_F(AgendaTest, UnreadAttributesAreRequestedAtGrowingIntervals) {
  Agenda::End end{SweepKind::kLight};
  end.has_unread = true;
  for (const int wait : {1, 2, 4, 8, 10, 10}) EXPECT_EQ(LightAfter(end), seconds(wait));
  agenda_.OnDiscovered();
  EXPECT_EQ(LightAfter(end), seconds(1));
}

TEST_F(AgendaTest, UnreadAttributesAreRequestedEvenWithoutALightInterval) {
  options_.sweep.light_interval = {};
  Agenda::End end{SweepKind::kLight};
  end.has_unread = true;
  for (const int wait : {1, 2, 4, 8, 16, 32, 60}) EXPECT_EQ(LightAfter(end), seconds(wait));
}

TEST_F(AgendaTest, ALightSweepSoonNeverPutsOffOneThatIsDueBefore) {
  agenda_.WantLightSweepSoon(kNow);
  EXPECT_EQ(agenda_.next_light(), kNow + seconds(1));
  agenda_.WantLightSweepSoon(kNow + milliseconds(500));
  EXPECT_EQ(agenda_.next_light(), kNow + seconds(1));
}

TEST_F(AgendaTest, AfterThreeRetriesEverythingIsRead) {
  agenda_.WantRetrySoon(kNow);
  EXPECT_EQ(agenda_.next_retry(), kNow + seconds(1));
  for (int retry = 0; retry < 3; ++retry) EXPECT_TRUE(agenda_.TakeRetry(true));
  EXPECT_EQ(agenda_.next_retry(), kNever);
  EXPECT_FALSE(agenda_.TakeRetry(true));
  agenda_.OnSweepStart(false);
  EXPECT_TRUE(agenda_.TakeRetry(true));
}

TEST_F(AgendaTest, ARetryThatMayNotBeginIsNotCounted) {
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(agenda_.TakeRetry(false));
  EXPECT_TRUE(agenda_.TakeRetry(true));
}

}  // namespace
}  // namespace fabricd::sweep
