// SPDX-License-Identifier: Apache-2.0
// How large the window is: rounds, losses and patience.
#include "mad/adaptive_window.h"

#include <gtest/gtest.h>

#include "mad/queue_delay.h"

namespace fabricd::mad {
namespace {

class AdaptiveWindowTest : public testing::Test {
 protected:
  AdaptiveWindowTest() {
    options_.window_initial = 32;
    options_.window_max = 40;
    options_.window_floor = 8;
    options_.window_growth = 4;
    options_.window_patient = 6;
  }
  // One round of the window's size, `losses` of its answers revealing one.
  static void Round(AdaptiveWindow& window, uint32_t losses, bool full) {
    if (full) window.OnFull();
    const uint32_t answers = std::max(window.size(), 16u);
    for (uint32_t n = 0; n < answers; ++n) window.OnAnswer(n < losses);
  }

  EngineOptions options_;
};

TEST_F(AdaptiveWindowTest, StartsAtTheInitialSizeWithinItsBounds) {
  EXPECT_EQ(AdaptiveWindow(options_).size(), 32u);
  options_.window_initial = 100;
  EXPECT_EQ(AdaptiveWindow(options_).size(), 40u);
  options_.window_initial = 1;
  EXPECT_EQ(AdaptiveWindow(options_).size(), 8u);
}

TEST_F(AdaptiveWindowTest, ARoundThatFilledItGrowsItUpToTheMaximum) {
  AdaptiveWindow window(options_);
  Round(window, 0, /*full=*/true);
  EXPECT_EQ(window.size(), 36u);
  Round(window, 0, /*full=*/false);
  EXPECT_EQ(window.size(), 36u) << "it was not the limit";
  for (int n = 0; n < 3; ++n) Round(window, 0, /*full=*/true);
  EXPECT_EQ(window.size(), 40u);
  EXPECT_EQ(window.shrinks(), 0u);
}

TEST_F(AdaptiveWindowTest, TwoLossesInARoundHalveItDownToTheFloor) {
  AdaptiveWindow window(options_);
  Round(window, 2, /*full=*/true);
  EXPECT_EQ(window.size(), 16u);
  EXPECT_EQ(window.shrinks(), 1u);
  for (int n = 0; n < 3; ++n) Round(window, 2, /*full=*/true);
  EXPECT_EQ(window.size(), 8u);
  EXPECT_EQ(window.shrinks(), 4u) << "the floor is counted too";
}

TEST_F(AdaptiveWindowTest, OneLossNeitherGrowsNorShrinksIt) {
  AdaptiveWindow window(options_);
  Round(window, 1, /*full=*/true);
  EXPECT_EQ(window.size(), 32u);
}

TEST_F(AdaptiveWindowTest, LossesBelowAThirtySecondOfARoundDoNotShrinkIt) {
  options_.window_initial = options_.window_max = 128;
  AdaptiveWindow window(options_);
  Round(window, 3, /*full=*/true);
  EXPECT_EQ(window.size(), 128u);
  Round(window, 4, /*full=*/true);
  EXPECT_EQ(window.size(), 64u);
}

TEST_F(AdaptiveWindowTest, NoRoundIsShorterThanSixteenAnswers) {
  options_.window_initial = options_.window_floor = 8;
  AdaptiveWindow window(options_);
  window.OnFull();
  for (int n = 0; n < 15; ++n) window.OnAnswer(false);
  EXPECT_EQ(window.size(), 8u);
  window.OnAnswer(false);
  EXPECT_EQ(window.size(), 12u);
}

TEST_F(AdaptiveWindowTest, PatienceLimitsItUntilATimeout) {
  AdaptiveWindow window(options_);
  window.SetPatient(true);
  EXPECT_EQ(window.limit(), 6u);
  EXPECT_EQ(window.size(), 32u);
  window.OnTimeout();
  EXPECT_EQ(window.limit(), 32u);
  window.SetPatient(true);
  EXPECT_EQ(window.limit(), 32u) << "the caller was patient before";
  window.SetPatient(false);
  window.SetPatient(true);
  EXPECT_EQ(window.limit(), 6u);
  window.SetPatient(false);
  EXPECT_EQ(window.limit(), 32u);
}

TEST_F(AdaptiveWindowTest, TimeoutsBeforeTheCallerIsPatientDoNotCount) {
  AdaptiveWindow window(options_);
  window.OnTimeout();
  window.SetPatient(true);
  EXPECT_EQ(window.limit(), 6u);
}

TEST_F(AdaptiveWindowTest, APatientRoundDoesNotFillTheWindow) {
  AdaptiveWindow window(options_);
  window.SetPatient(true);
  Round(window, 0, /*full=*/true);
  EXPECT_EQ(window.size(), 32u);
}

TEST_F(AdaptiveWindowTest, SuspectsGetAQuarterAtLeastHalfOfTheFloor) {
  EXPECT_EQ(AdaptiveWindow(options_).suspect_limit(), 8u);
  options_.window_initial = 8;
  EXPECT_EQ(AdaptiveWindow(options_).suspect_limit(), 4u);
  options_.window_initial = options_.window_floor = 1;
  EXPECT_EQ(AdaptiveWindow(options_).suspect_limit(), 1u);
}

TEST_F(AdaptiveWindowTest, TheFirstContactWithAFabricStartsLow) {
  options_.first_contact = true;
  EXPECT_EQ(AdaptiveWindow(options_).size(), 8u);
  options_.window_first = 12;
  EXPECT_EQ(AdaptiveWindow(options_).size(), 12u);
  options_.window_initial = 10;
  EXPECT_EQ(AdaptiveWindow(options_).size(), 10u);
}

TEST_F(AdaptiveWindowTest, ARoundThatMostlyQueuedDoesNotGrowIt) {
  AdaptiveWindow window(options_);
  const auto round = [&](uint32_t queued) {
    window.OnFull();
    for (uint32_t n = 0; n < 32; ++n) window.OnAnswer(false, n < queued);
  };
  round(17);
  EXPECT_EQ(window.size(), 32u);
  round(16);
  EXPECT_EQ(window.size(), 36u);
}

TEST(QueueDelay, AResponseThatIsFarLaterThanTheFastestOfItsHopsHasQueued) {
  using std::chrono::microseconds;
  QueueDelay delay(microseconds(500));
  EXPECT_FALSE(delay.Note(3, microseconds(100)));
  EXPECT_FALSE(delay.Note(3, microseconds(700)));
  EXPECT_TRUE(delay.Note(3, microseconds(701)));
  EXPECT_FALSE(delay.Note(4, microseconds(701))) << "the first over so many hops";
  EXPECT_FALSE(QueueDelay(Duration::zero()).Note(3, std::chrono::seconds(1)));
}

}  // namespace
}  // namespace fabricd::mad
