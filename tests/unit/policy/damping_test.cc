// SPDX-License-Identifier: Apache-2.0
#include "policy/damping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::policy {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Verdict = Damping::Verdict;

LinkId Link(uint32_t number) {
  return {{NodeIndex(number), PortNum(1)}, {NodeIndex(number + 100'000), PortNum(2)}};
}
const Instant kBegin(hours(1));

TEST(DampingTest, OnePullAndReplugSuppressesNothing) {
  Damping damping{DampingOptions()};
  // Some cables bounce when they are put in.
  EXPECT_EQ(damping.OnFlap(Link(1), kBegin), Verdict::kCounted);
  EXPECT_EQ(damping.OnFlap(Link(1), kBegin + seconds(20)), Verdict::kCounted);
  EXPECT_EQ(damping.OnFlap(Link(1), kBegin + seconds(21)), Verdict::kCounted);
  EXPECT_THAT(damping.Suppressed(), IsEmpty());
  EXPECT_EQ(damping.List(kBegin + seconds(21)).front().flaps, 3u);
}

TEST(DampingTest, OneFlapASecondSuppressesWithinSeconds) {
  Damping damping{DampingOptions()};
  int flaps = 1;
  while (damping.OnFlap(Link(1), kBegin + seconds(flaps)) == Verdict::kCounted) ++flaps;
  EXPECT_EQ(flaps, 4);
  EXPECT_THAT(damping.Suppressed(), ElementsAre(Link(1)));
}

TEST(DampingTest, AFlapHalvesWithEachHalfLife) {
  Damping damping{DampingOptions()};
  damping.OnFlap(Link(1), kBegin);
  EXPECT_DOUBLE_EQ(damping.List(kBegin)[0].penalty, 1000);
  EXPECT_DOUBLE_EQ(damping.List(kBegin + minutes(5))[0].penalty, 500);
  damping.OnFlap(Link(1), kBegin + minutes(5));
  EXPECT_DOUBLE_EQ(damping.List(kBegin + minutes(10))[0].penalty, 750);
}

TEST(DampingTest, ReleasesALinkWhenThePenaltyHasDecayed) {
  Damping damping{DampingOptions()};
  for (int i = 0; i < 4; ++i) damping.OnFlap(Link(1), kBegin);
  const Instant release = damping.List(kBegin)[0].release;
  EXPECT_EQ(damping.NextDeadline(), release);
  EXPECT_NEAR(std::chrono::duration<double>(release - kBegin).count(),
              std::log2(4000.0 / 750) * 300, 1e-3);
  EXPECT_THAT(damping.OnTimer(release - milliseconds(1)), IsEmpty());
  EXPECT_TRUE(damping.IsSuppressed(Link(1)));
  EXPECT_THAT(damping.OnTimer(release), ElementsAre(Link(1)));
  EXPECT_FALSE(damping.IsSuppressed(Link(1)));
  EXPECT_EQ(damping.List(release)[0].release, kNever);
  // Forgotten at half of that: there is nothing left to keep.
  EXPECT_THAT(damping.OnTimer(release + minutes(5) + milliseconds(1)), IsEmpty());
  EXPECT_THAT(damping.List(release + minutes(6)), IsEmpty());
  EXPECT_EQ(damping.NextDeadline(), kNever);
}

TEST(DampingTest, NoLinkIsSuppressedForLongerThanTheMaximum) {
  Damping damping{DampingOptions()};
  Instant now = kBegin;
  for (int i = 0; i < 600; ++i) damping.OnFlap(Link(1), now += seconds(1));
  EXPECT_LE(damping.NextDeadline() - now, minutes(30) + milliseconds(1));
  EXPECT_GE(damping.NextDeadline() - now, minutes(30) - milliseconds(1));
}

TEST(DampingTest, AFlapWhileSuppressedDelaysTheRelease) {
  Damping damping{DampingOptions()};
  for (int i = 0; i < 4; ++i) damping.OnFlap(Link(1), kBegin);
  const Instant before = damping.NextDeadline();
  EXPECT_EQ(damping.OnFlap(Link(1), kBegin + minutes(1)), Verdict::kCounted);
  EXPECT_GT(damping.NextDeadline(), before);
}

TEST(DampingTest, TheLimitOfTheFabricIsKeptAndSuppressionFollowsLater) {
  DampingOptions options;
  options.max_suppressed = 2;
  Damping damping(options);
  for (uint32_t link : {1, 2, 3})
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(damping.OnFlap(Link(link), kBegin + seconds(link)), i != 2 ? Verdict::kCounted
                                                                    : link == 3
                                                                        ? Verdict::kOverLimit
                                                                        : Verdict::kSuppressed);
  EXPECT_THAT(damping.Suppressed(), ElementsAre(Link(1), Link(2)));
  EXPECT_EQ(damping.suppressed_count(), 2u);
  EXPECT_THAT(damping.List(kBegin)[2].reason, ::testing::HasSubstr("2 links are suppressed"));
  // Said once.
  EXPECT_EQ(damping.OnFlap(Link(3), kBegin + seconds(4)), Verdict::kCounted);
  // A place has become free: the next flap takes it.
  const Instant later = damping.NextDeadline();
  EXPECT_THAT(damping.OnTimer(later), ElementsAre(Link(1)));
  for (int i = 0; i < 3; ++i) damping.OnFlap(Link(3), later);
  EXPECT_TRUE(damping.IsSuppressed(Link(3)));
  EXPECT_EQ(damping.suppressed_count(), 2u);
}

TEST(DampingTest, MemoryIsBoundedAndTheSuppressedStay) {
  Damping damping{DampingOptions()};
  for (int i = 0; i < 4; ++i) damping.OnFlap(Link(0), kBegin);
  for (uint32_t i = 1; i < 3 * Damping::kMaxLinks; ++i) damping.OnFlap(Link(i), kBegin);
  EXPECT_EQ(damping.List(kBegin).size(), Damping::kMaxLinks);
  EXPECT_TRUE(damping.IsSuppressed(Link(0)));
}

TEST(DampingTest, AClearedLinkIsAsOneThatNeverFlapped) {
  Damping damping{DampingOptions()};
  for (int i = 0; i < 4; ++i) damping.OnFlap(Link(1), kBegin);
  for (int i = 0; i < 2; ++i) damping.OnFlap(Link(2), kBegin);
  EXPECT_THAT(damping.Clear(Link(1).b), ElementsAre(Link(1)));
  EXPECT_FALSE(damping.IsSuppressed(Link(1)));
  EXPECT_EQ(damping.suppressed_count(), 0u);
  EXPECT_THAT(damping.Clear(Link(2).a), IsEmpty()) << "it was not bad";
  EXPECT_THAT(damping.List(kBegin), IsEmpty());
  EXPECT_EQ(damping.NextDeadline(), kNever);
  EXPECT_THAT(damping.Clear(Link(1).a), IsEmpty());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(damping.OnFlap(Link(1), kBegin), Verdict::kCounted);
  EXPECT_EQ(damping.OnFlap(Link(1), kBegin), Verdict::kSuppressed);
}

TEST(DampingTest, ARestoredLinkIsReleasedWhenItWouldHaveBeen) {
  Damping before{DampingOptions()};
  for (int i = 0; i < 4; ++i) before.OnFlap(Link(1), kBegin);
  const Damping::Suppression known = before.Suppressions().front();
  Damping after{DampingOptions()};
  EXPECT_TRUE(after.Restore(known, kBegin + minutes(2)));
  EXPECT_THAT(after.Suppressed(), ElementsAre(Link(1)));
  EXPECT_EQ(after.NextDeadline(), before.NextDeadline());
  EXPECT_EQ(after.List(kBegin)[0].flaps, 4u);
  EXPECT_EQ(after.OnFlap(Link(1), kBegin + minutes(3)), Verdict::kCounted);
}

TEST(DampingTest, OnlyLinksThatWouldStillBeSuppressedAreRestored) {
  DampingOptions options;
  options.max_suppressed = 1;
  Damping damping(options);
  const Damping::Suppression known{Link(1), 4000, kBegin, 4};
  const Instant later = kBegin + minutes(20);
  EXPECT_TRUE(damping.LastsUntil(4000, kBegin, kBegin + minutes(12)));
  EXPECT_FALSE(damping.LastsUntil(4000, kBegin, later));
  EXPECT_FALSE(damping.Restore(known, later));
  damping.OnFlap(Link(1), kBegin);
  EXPECT_FALSE(damping.Restore(known, kBegin)) << "it has flapped since: what is known is newer";
  EXPECT_TRUE(damping.Restore({Link(2), 4000, kBegin, 4}, kBegin));
  EXPECT_FALSE(damping.Restore({Link(3), 4000, kBegin, 4}, kBegin)) << "the limit";
  options.enabled = false;
  EXPECT_FALSE(Damping(options).Restore(known, kBegin));
}

TEST(DampingTest, ARestoredLinkIsSuppressedForNoLongerThanTheMaximum) {
  Damping damping{DampingOptions()};
  EXPECT_TRUE(damping.Restore({Link(1), 1e300, kBegin + minutes(9), 4}, kBegin));
  EXPECT_LE(damping.NextDeadline(), kBegin + minutes(30) + milliseconds(1));
}

TEST(DampingTest, AReloadEvaluatesLinksByTheNewOptions) {
  Damping damping{DampingOptions()};
  for (int i = 0; i < 4; ++i) damping.OnFlap(Link(1), kBegin);
  DampingOptions options;
  options.reuse = 2000;
  damping.SetOptions(options, kBegin + minutes(1));
  const Instant release = damping.NextDeadline();
  EXPECT_LE(release, kBegin + minutes(5) + milliseconds(1));
  options.enabled = false;
  damping.SetOptions(options, kBegin + minutes(1));
  EXPECT_THAT(damping.OnTimer(kBegin + minutes(1)), ElementsAre(Link(1)));
  EXPECT_EQ(damping.OnFlap(Link(1), kBegin + minutes(1)), Verdict::kCounted);
  EXPECT_THAT(damping.List(kBegin + minutes(1)), IsEmpty());
}

}  // namespace
}  // namespace fabricd::policy
