// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/verdict_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/policy/verdict/made_links.h"

namespace fabricd::policy {
namespace {

using namespace testing;  // NOLINT: of the fixture.
using std::chrono::hours;
using std::chrono::minutes;
using ::testing::IsEmpty;
using ::testing::SizeIs;

LinkEvidence NoisyLink() {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kLocalPhysical, 12);  // Fatal, within 720 s.
  return link;
}

class VerdictBookTest : public ::testing::Test {
 protected:
  Standing See(const LinkEvidence& link) {
    const LinkKey key(link);
    return book_.Observe(key, Evaluate(link, Limits(), book_.StrongForOf(key, now_)), now_);
  }
  // Minute by minute until the stage is reached; how long it took.
  Duration Until(Stage stage, const LinkEvidence& link) {
    const Instant begin = now_;
    while (See(link).stage != stage && now_ - begin < hours(50)) now_ += minutes(1);
    return now_ - begin;
  }
  Duration Recover() { return Until(Stage::kHealthy, CleanLink()); }

  VerdictBook book_{BookClocks()};
  Instant now_{hours(1000)};
};

TEST_F(VerdictBookTest, HealthyLinksTakeNoRoom) {
  EXPECT_EQ(See(CleanLink()).stage, Stage::kHealthy);
  EXPECT_EQ(book_.size(), 0u);
}

TEST_F(VerdictBookTest, SuspicionBeginsAndEndsAtOnce) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kLinkIntegrity, 1);
  EXPECT_EQ(See(link).stage, Stage::kSuspect);
  EXPECT_EQ(See(CleanLink()).stage, Stage::kHealthy);
  EXPECT_EQ(book_.size(), 0u);
}

TEST_F(VerdictBookTest, AVerdictRecoversAfterTwoWindowsAndEndsAfter125Minutes) {
  EXPECT_EQ(See(NoisyLink()).verdict, Verdict::kNoisyPhy);
  EXPECT_EQ(Until(Stage::kRecovering, CleanLink()), minutes(24));
  EXPECT_EQ(book_.Find(LinkKey(CleanLink()))->verdict, Verdict::kNoisyPhy);
  EXPECT_EQ(Recover(), minutes(125));
}

TEST_F(VerdictBookTest, AboveHalfOfALimitIsNotClean) {
  See(NoisyLink());
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kSymbolErrors, 7);  // Of 8 in 720 s.
  for (int i = 0; i < 600; ++i, now_ += minutes(1)) ASSERT_EQ(See(link).stage, Stage::kBad);
  SetAll(link.a, Signal::kSymbolErrors, 3);
  EXPECT_EQ(Until(Stage::kRecovering, link), minutes(24));
}

TEST_F(VerdictBookTest, ASignalThatIsNotMeasuredAnyMoreIsNotClean) {
  See(NoisyLink());
  LinkEvidence link = CleanLink();
  link.a.signals[static_cast<size_t>(Signal::kLocalPhysical)] = std::nullopt;
  link.a.signals[static_cast<size_t>(Signal::kRcvErrors)] = std::nullopt;
  ASSERT_EQ(Evaluate(link, Limits()).verdict, Verdict::kHealthy);
  for (int i = 0; i < 600; ++i, now_ += minutes(1)) ASSERT_EQ(See(link).stage, Stage::kBad);
}

TEST_F(VerdictBookTest, AStaleLinkIsUnknownAndItsVerdictIsKept) {
  See(NoisyLink());
  LinkEvidence stale = CleanLink();
  stale.a.is_fresh = false;
  for (int i = 0; i < 20; ++i, now_ += minutes(1)) See(CleanLink());
  const Standing standing = See(stale);
  EXPECT_FALSE(standing.is_known);
  EXPECT_EQ(standing.verdict, Verdict::kNoisyPhy);
  EXPECT_EQ(Until(Stage::kRecovering, CleanLink()), minutes(24));
}

TEST_F(VerdictBookTest, TimeWithoutReadingsIsNotClean) {
  See(NoisyLink());
  See(CleanLink());
  now_ += hours(10);
  EXPECT_EQ(Until(Stage::kRecovering, CleanLink()), minutes(24));
  now_ += hours(10);
  EXPECT_EQ(Recover(), minutes(125));
}

TEST_F(VerdictBookTest, SuspicionWhileRecoveringBeginsTheCleanTimeAgain) {
  See(NoisyLink());
  Until(Stage::kRecovering, CleanLink());
  LinkEvidence suspect = CleanLink();
  SetAll(suspect.a, Signal::kLinkIntegrity, 1);
  now_ += minutes(120);
  EXPECT_EQ(See(suspect).stage, Stage::kRecovering);
  EXPECT_EQ(Recover(), minutes(125));
}

TEST_F(VerdictBookTest, ALinkThatStaysBelowItsCapabilityRecovers) {
  LinkEvidence slow = CleanLink(), noisy = NoisyLink();
  slow.is_below_capability = noisy.is_below_capability = true;
  EXPECT_EQ(See(noisy).stage, Stage::kBad);
  EXPECT_EQ(Until(Stage::kRecovering, slow), minutes(24));
  EXPECT_EQ(Until(Stage::kHealthy, slow), minutes(125));
  EXPECT_EQ(See(slow).stage, Stage::kSuspect);
}

TEST_F(VerdictBookTest, TrapsAboutErrorsDoNotReplaceTheVerdictAboutThem) {
  EXPECT_EQ(See(NoisyLink()).verdict, Verdict::kNoisyPhy);
  LinkEvidence chatty = CleanLink();
  Set(chatty.a, Signal::kTraps, Window::k60s, {60, 3, false});
  EXPECT_EQ(See(chatty).verdict, Verdict::kNoisyPhy);
}

TEST_F(VerdictBookTest, ARelapseWithin24HoursDoublesTheCleanTimeUpTo24Hours) {
  Duration expected = minutes(125);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(See(NoisyLink()).clean_time, std::min<Duration>(expected, hours(24)));
    Until(Stage::kRecovering, CleanLink());
    now_ += minutes(10);
    expected *= 2;
  }
}

TEST_F(VerdictBookTest, AFaultADayLaterIsANewOne) {
  See(NoisyLink());
  Recover();
  now_ += hours(24);
  EXPECT_EQ(See(NoisyLink()).clean_time, minutes(125));
}

TEST_F(VerdictBookTest, TwoReleasesAWeekThenAnOperatorDecides) {
  for (int i = 0; i < 2; ++i) {
    See(NoisyLink());
    Recover();
    now_ += hours(25);
  }
  See(NoisyLink());
  EXPECT_EQ(Recover(), hours(50));  // Never.
  EXPECT_TRUE(book_.Find(LinkKey(CleanLink()))->needs_operator);
  EXPECT_TRUE(book_.Release(LinkKey(CleanLink()), now_));
  EXPECT_EQ(See(CleanLink()).stage, Stage::kHealthy);
  EXPECT_FALSE(book_.Release(LinkKey(CleanLink()), now_));
}

TEST_F(VerdictBookTest, ErrorsFromBeforeARepairAreNoVerdictWhileTheyAreInTheWindows) {
  See(NoisyLink());
  ASSERT_TRUE(book_.Release(LinkKey(CleanLink()), now_));
  const Instant released = now_;
  while (now_ - released < std::chrono::minutes(125)) {
    ASSERT_EQ(See(NoisyLink()).stage, Stage::kHealthy);
    now_ += std::chrono::minutes(1);
  }
  now_ += std::chrono::minutes(1);
  EXPECT_EQ(See(NoisyLink()).stage, Stage::kBad) << "it was not repaired";
}

TEST_F(VerdictBookTest, AReleaseOfLastWeekDoesNotCount) {
  for (int i = 0; i < 3; ++i) {
    See(NoisyLink());
    EXPECT_LT(Recover(), hours(3));
    now_ += hours(24 * 4);
  }
}

TEST_F(VerdictBookTest, AStrongRowThatPersistsBecomesAVerdict) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kSymbolErrors, 20);
  SetAll(link.a, Signal::kEffectiveErrors, 20);
  SetAll(link.b, Signal::kLinkIntegrity, 1);
  EXPECT_EQ(Until(Stage::kBad, link), minutes(13));
}

TEST_F(VerdictBookTest, PersistenceBeforeAFailoverDoesNotCount) {
  LinkEvidence link = CleanLink();
  SetAll(link.a, Signal::kSymbolErrors, 20);
  SetAll(link.a, Signal::kEffectiveErrors, 20);
  for (int i = 0; i < 30; ++i, now_ += minutes(1)) See(link);
  book_.OnFailover(now_);
  now_ += minutes(12);
  SetAll(link.b, Signal::kLinkIntegrity, 1);
  EXPECT_EQ(Until(Stage::kBad, link), minutes(13));
}

TEST_F(VerdictBookTest, ARestartKeepsEverythingThatIsRemembered) {
  See(NoisyLink());
  Until(Stage::kRecovering, CleanLink());
  for (int i = 0; i < 100; ++i, now_ += minutes(1)) See(CleanLink());
  LinkEvidence replaced = CleanLink(0x105, 0x200, 9);
  book_.OnReplaced(LinkKey(replaced), now_);
  const WallMs wall = 1'700'000'000'000;
  const std::vector<StoredStanding> stored = book_.Export(now_, wall);
  ASSERT_THAT(stored, SizeIs(2));
  // The new process has another steady clock, and ten minutes have passed.
  VerdictBook next{BookClocks()};
  now_ = Instant(hours(5));
  next.Import(stored, now_, wall + 600'000);
  EXPECT_EQ(next.Export(now_, wall + 600'000), stored);
  book_ = next;
  EXPECT_FALSE(book_.Find(LinkKey(CleanLink()))->is_known);
  EXPECT_EQ(Recover(), minutes(26));  // Nobody looked for ten minutes.
  EXPECT_EQ(See(replaced).stage, Stage::kUnknown);
}

TEST_F(VerdictBookTest, InvalidRowsAreNotImported) {
  std::vector<StoredStanding> stored(3);
  stored[0].stage = static_cast<Stage>(77);
  stored[1].stage = Stage::kBad;  // Without a verdict.
  stored[1].link.a.port = PortNum(1);
  stored[2].stage = Stage::kBad;
  stored[2].verdict = Verdict::kFlapping;
  stored[2].link.a.port = PortNum(2);
  stored[2].since = std::numeric_limits<int64_t>::max();
  stored[2].clean_time_ms = std::numeric_limits<int64_t>::max();
  stored[2].recovered = std::numeric_limits<int64_t>::min();
  stored[2].unknown_until = std::numeric_limits<int64_t>::max();
  book_.Import(stored, now_, 1'700'000'000'000);
  ASSERT_EQ(book_.size(), 1u);
  EXPECT_EQ(book_.Find(stored[2].link)->clean_time, hours(24));
  EXPECT_LE(book_.Find(stored[2].link)->since, now_);
}

TEST_F(VerdictBookTest, ItsSizeIsBounded) {
  VerdictBook book(BookClocks(), 2);
  for (uint8_t port = 1; port <= 4; ++port) {
    LinkEvidence link = NoisyLink();
    link.b.port = PortNum(port);
    const Standing standing = book.Observe(LinkKey(link), Evaluate(link, Limits()), now_);
    EXPECT_EQ(standing.stage, Stage::kBad);  // Still reported.
  }
  EXPECT_EQ(book.size(), 2u);
  EXPECT_EQ(book.not_kept(), 2u);
}

TEST(BookClocksTest, BadClocksAreListed) {
  EXPECT_THAT(Check(BookClocks()), IsEmpty());
  BookClocks clocks;
  clocks.clean = Duration::zero();
  clocks.releases_per_week = 3;
  EXPECT_THAT(Check(clocks), SizeIs(2));
}

}  // namespace
}  // namespace fabricd::policy
