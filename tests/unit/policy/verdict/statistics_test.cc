// SPDX-License-Identifier: Apache-2.0
// Links whose errors are drawn from a Poisson distribution, window after window.
#include <cmath>
#include <deque>

#include <gtest/gtest.h>

#include "common/rng.h"
#include "tests/unit/policy/verdict/made_links.h"

namespace fabricd::policy {
namespace {

using namespace testing;  // NOLINT: of the fixture.

// Knuth's product of uniform numbers: for means of some ten.
uint64_t DrawPoisson(double mean, Rng& rng) {
  const double floor = std::exp(-mean);
  double product = 1;
  uint64_t count = 0;
  while ((product *= static_cast<double>(rng.Next() >> 11) * 0x1.0p-53) > floor) ++count;
  return count;
}

// A receiver with symbol errors at a ratio, read each minute; one of four hits a packet.
class DrawnReceiver {
 public:
  DrawnReceiver(double ber, uint64_t seed) : mean_(ber * kNdrBitsPerSecond * 60), rng_(seed) {}
  void NextMinute(EndEvidence& end) {
    const uint64_t errors = DrawPoisson(mean_, rng_);
    uint64_t packets = 0;
    for (uint64_t i = 0; i < errors; ++i) packets += rng_.Chance(0.25);
    minutes_.push_back({errors, packets});
    if (minutes_.size() > 125) minutes_.pop_front();
    for (const auto& [window, length] :
         {std::pair(Window::k60s, 1), {Window::k720s, 12}, {Window::k7500s, 125}}) {
      Set(end, Signal::kSymbolErrors, window, Sum(length, &Minute::errors));
      Set(end, Signal::kEffectiveErrors, window, Sum(length, &Minute::errors));
      Set(end, Signal::kLocalPhysical, window, Sum(length, &Minute::packets));
    }
  }

 private:
  struct Minute {
    uint64_t errors = 0, packets = 0;
  };
  WindowCount Sum(size_t length, uint64_t Minute::*which) const {
    WindowCount sum;
    for (size_t i = minutes_.size() - std::min(length, minutes_.size()); i < minutes_.size(); ++i) {
      sum.count += minutes_[i].*which;
      sum.readings += minutes_[i].*which > 0;
    }
    return sum;
  }

  double mean_;
  Rng rng_;
  std::deque<Minute> minutes_;
};

struct Seen {
  int noisy = 0, suspect = 0, healthy = 0;
};

Seen Watch(double ber, int windows, uint64_t seed) {
  DrawnReceiver receiver(ber, seed);
  LinkEvidence link = CleanLink();
  Seen seen;
  std::optional<int> strong_since;
  for (int minute = 0; minute < windows; ++minute) {
    receiver.NextMinute(link.a);
    StrongFor strong_for{};
    if (strong_since) strong_for[0] = std::chrono::minutes(minute - *strong_since);
    const LinkVerdict verdict = Evaluate(link, Limits(), strong_for);
    const bool is_strong = FindRow(verdict, Row::kSymbolBer, Side::kA)->IsAtLeast(Level::kStrong);
    if (!is_strong) strong_since.reset();
    if (is_strong && !strong_since) strong_since = minute;
    seen.noisy += verdict.verdict == Verdict::kNoisyPhy;
    seen.suspect += verdict.verdict == Verdict::kSuspect;
    seen.healthy += verdict.verdict == Verdict::kHealthy;
  }
  return seen;
}

TEST(VerdictStatistics, ALinkAtAThirdOfTheLimitIsNeverNoisy) {
  const Seen seen = Watch(0.3e-14, 12'000, 1);
  EXPECT_EQ(seen.noisy, 0);
}

TEST(VerdictStatistics, ALinkAtAThirdOfTheNormalRatioIsHardlyEverSuspect) {
  const Seen seen = Watch(0.3e-15, 12'000, 2);
  EXPECT_EQ(seen.noisy, 0);
  EXPECT_LT(seen.suspect, 120);  // 1 %.
}

TEST(VerdictStatistics, ALinkAtTenTimesTheLimitIsNoisy) {
  const Seen seen = Watch(10e-14, 2'000, 3);
  EXPECT_LT(seen.healthy, 12);  // Until a window is full.
  EXPECT_GT(seen.noisy, 1'500);
}

TEST(VerdictStatistics, ALinkAtTenTimesTheFatalRatioIsNoisyAtOnce) {
  const Seen seen = Watch(10e-12, 100, 4);
  EXPECT_GE(seen.noisy, 97);
}

}  // namespace
}  // namespace fabricd::policy
