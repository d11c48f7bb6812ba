// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/suspects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class SuspectsTest : public testing::Test {
 protected:
  static Instant At(Duration time) { return Instant(100s) + time; }
  SurveyTask Take(Duration time) {
    return suspects_.Take([](NodeIndex) { return false; }, At(time));
  }
  void Look(NodeIndex node, bool changed, Duration time) {
    suspects_.OnLooked(node, changed, At(time));
  }
  Duration Due() const { return suspects_.due() - At(0ms); }

  Duration window_ = 5ms;
  Suspects suspects_{window_};
  const NodeIndex a_{1}, b_{2}, c_{3};
};

TEST_F(SuspectsTest, ReportsOfAWindowAreTakenTogetherAndItsEndDoesNotMove) {
  EXPECT_EQ(suspects_.due(), kNever);
  suspects_.Add(b_, "trap 128", At(0ms));
  suspects_.Add(a_, "trap 144", At(3ms));
  suspects_.AddPort({c_, PortNum(4)}, "light sweep", At(4ms));
  EXPECT_EQ(Due(), 5ms);
  EXPECT_THAT(Take(4ms).switches, IsEmpty());
  const SurveyTask task = Take(5ms);
  EXPECT_THAT(task.switches, ElementsAre(a_, b_));
  EXPECT_THAT(task.ports, ElementsAre(PortRef{c_, PortNum(4)}));
  EXPECT_EQ(task.cause, "trap 128") << "the first one";
  EXPECT_EQ(task.since, At(0ms));
  EXPECT_FALSE(task.thorough);
  EXPECT_EQ(suspects_.due(), kNever);
}

TEST_F(SuspectsTest, OfSeveralReportsOfOneInstantTheLowestNamesTheCause) {
  suspects_.Add(a_, "zebra", At(0ms));
  suspects_.Add(b_, "ant", At(0ms));
  suspects_.Add(c_, "horse", At(0ms));
  EXPECT_EQ(Take(5ms).cause, "ant");
}

TEST_F(SuspectsTest, RepeatedReportsOfAPortAreOneAndAThoroughOneStays) {
  suspects_.Add(a_, "trap 128", At(0ms));
  for (int i = 0; i < 1000; ++i) suspects_.Add(a_, "again", At(1ms));
  suspects_.Add(a_, "write failed", At(2ms), /*thorough=*/true);
  suspects_.Add(a_, "again", At(3ms));
  const SurveyTask task = Take(5ms);
  EXPECT_THAT(task.switches, ElementsAre(a_));
  EXPECT_TRUE(task.thorough);
  EXPECT_EQ(task.cause, "trap 128");
}

TEST_F(SuspectsTest, ASwitchThatIsBeingReadWaitsForAnotherWindow) {
  suspects_.Add(a_, "trap 128", At(0ms));
  suspects_.Add(b_, "trap 128", At(0ms));
  const SurveyTask task = suspects_.Take([&](NodeIndex node) { return node == a_; }, At(5ms));
  EXPECT_THAT(task.switches, ElementsAre(b_));
  EXPECT_EQ(Due(), 10ms);
  EXPECT_THAT(Take(10ms).switches, ElementsAre(a_));
}

TEST_F(SuspectsTest, WithoutAWindowABusySwitchStillWaitsALittle) {
  window_ = 0ms;
  suspects_.Add(a_, "trap 128", At(0ms));
  suspects_.Take([](NodeIndex) { return true; }, At(0ms));
  EXPECT_GT(Due(), 0ms);
}

TEST_F(SuspectsTest, AfterALookWithoutAResultOneMoreFollowsSecondsLater) {
  suspects_.Add(a_, "trap 128", At(0ms));
  Take(5ms);
  Look(a_, /*changed=*/false, 6ms);
  EXPECT_EQ(Due(), 5006ms);
  EXPECT_THAT(Take(5006ms).switches, ElementsAre(a_));
  Look(a_, false, 5010ms);
  EXPECT_EQ(suspects_.due(), kNever) << "there is no third one";
}

TEST_F(SuspectsTest, AReportIsNotHeldUpByTheRepetitionThatIsDueLater) {
  suspects_.Add(a_, "trap 128", At(0ms));
  Take(5ms);
  Look(a_, false, 6ms);
  suspects_.Add(a_, "trap 128", At(10ms));
  EXPECT_EQ(Due(), 15ms);
  EXPECT_EQ(Take(15ms).cause, "trap 128");
}

TEST_F(SuspectsTest, ALookThatFindsSomethingIsNotRepeated) {
  suspects_.Add(a_, "trap 128", At(0ms));
  Take(5ms);
  Look(a_, /*changed=*/true, 6ms);
  EXPECT_EQ(suspects_.due(), kNever);
}

// A storm of traps costs one look a second.
TEST_F(SuspectsTest, ASwitchThatReportsWithoutAResultIsLookedAtEverMoreSeldom) {
  Duration now = 0ms;
  std::vector<Duration> gaps;
  Duration last = 0ms;
  for (int look = 0; look < 12; ++look) {
    suspects_.Add(a_, "trap 129", At(now));
    now = std::max(now, Due());
    if (Take(now).switches.empty()) continue;
    gaps.push_back(now - std::exchange(last, now));
    Look(a_, false, now);
  }
  ASSERT_GE(gaps.size(), 9u);
  EXPECT_LE(gaps[3], 10ms) << "the first ones are free";
  EXPECT_GE(gaps[4], 100ms);
  EXPECT_GE(gaps[5], 200ms);
  EXPECT_GE(gaps.back(), 1s);
  EXPECT_LE(gaps.back(), 1s + window_);
  suspects_.Add(b_, "trap 128", At(now));
  EXPECT_EQ(Due(), now + window_) << "others are not held up";
}

TEST_F(SuspectsTest, AfterAQuietTimeASwitchIsLookedAtAtOnceAgain) {
  for (Duration now = 0ms; now < 2s; now += 100ms) {
    suspects_.Add(a_, "trap 129", At(now));
    if (!Take(now + window_).switches.empty()) Look(a_, false, now + window_);
  }
  Take(10s);
  const Duration later = 30s;
  suspects_.Add(a_, "trap 128", At(later));
  Take(later + window_);
  Look(a_, false, later + window_);
  suspects_.Add(a_, "trap 128", At(later + 10ms));
  EXPECT_EQ(Due(), later + 10ms + window_);
}

// A device that returns old values after each Set is set again after each look: only a pause that
// is longer than that ends it.
TEST_F(SuspectsTest, OneThatKeepsChangingIsLookedAtEverMoreSeldomAfterManyLooks) {
  Duration now = 0ms, last = 0ms, longest = 0ms;
  size_t looks = 0;
  while (now < 30s) {
    suspects_.Add(a_, "trap 128", At(now));
    now = std::max(now, Due());
    if (Take(now).switches.empty()) continue;
    longest = std::max(longest, now - std::exchange(last, now));
    Look(a_, /*changed=*/true, now);
    ++looks;
  }
  EXPECT_LE(looks, 3u * (200 + 10));
  EXPECT_GE(looks, 200u);
  EXPECT_GE(longest, 5s);
  EXPECT_LE(longest, 5s + window_);
}

TEST_F(SuspectsTest, NothingIsDueAfterAllWasLookedAt) {
  suspects_.Add(a_, "trap 128", At(0ms));
  suspects_.Clear();
  EXPECT_EQ(suspects_.due(), kNever);
  EXPECT_THAT(Take(1s).switches, IsEmpty());
}

}  // namespace
}  // namespace fabricd::sweep
