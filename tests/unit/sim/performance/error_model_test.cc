// SPDX-License-Identifier: Apache-2.0
#include "sim/performance/error_model.h"

#include <gtest/gtest.h>

#include "sim/performance/draws.h"

namespace fabricd::sim {
namespace {

using wire::PddrFecMode;

constexpr PddrFecMode kCodes[] = {PddrFecMode::kRs528, PddrFecMode::kLowLatencyRs271Plr,
                                  PddrFecMode::kInterleavedRs544Plr, PddrFecMode::kHalfKp4Plr};

TEST(ErrorModelTest, WithoutFecAllRatesAreTheRawOne) {
  EXPECT_EQ(BehindFec(1e-9, PddrFecMode::kNone), (BitErrorRates{1e-9, 1e-9, 1e-9}));
  EXPECT_DOUBLE_EQ(RawRateFor(1e-13, PddrFecMode::kNone), 1e-13);
}

TEST(ErrorModelTest, FecHidesARateThatIsUsualOnFourLevelLinks) {
  for (PddrFecMode fec : kCodes) {
    EXPECT_LT(BehindFec(1e-6, fec).symbol, 1e-17);
    EXPECT_EQ(BehindFec(1e-6, fec).raw, 1e-6);
    EXPECT_EQ(BehindFec(0, fec), BitErrorRates());
  }
}

TEST(ErrorModelTest, RatesGrowWithTheRawOneAndAreInOrder) {
  for (PddrFecMode fec : kCodes) {
    double before = -1;
    for (double raw = 1e-8; raw < 1e-2; raw *= 3) {
      const BitErrorRates rates = BehindFec(raw, fec);
      EXPECT_LE(rates.symbol, rates.effective);
      EXPECT_LE(rates.effective, rates.raw);
      EXPECT_GE(rates.effective, before);
      before = rates.effective;
    }
  }
}

TEST(ErrorModelTest, TheStrongerCodeHidesMore) {
  EXPECT_LT(BehindFec(3e-4, PddrFecMode::kRs544).effective,
            BehindFec(3e-4, PddrFecMode::kLowLatencyRs271).effective);
}

// As limits are documented: 1e-11 and 1e-14 with retransmission, 1e-14 both without.
TEST(ErrorModelTest, RetransmissionOfLowLatencyCodesLeavesOneErrorInAThousand) {
  const double raw = RawRateFor(kSymbolErrorLimit, PddrFecMode::kLowLatencyRs271Plr);
  const BitErrorRates low_latency = BehindFec(raw, PddrFecMode::kLowLatencyRs271Plr);
  EXPECT_NEAR(low_latency.symbol / 1e-14, 1, 0.01);
  EXPECT_NEAR(low_latency.effective / 1e-11, 1, 0.01);
  const BitErrorRates kp4 =
      BehindFec(RawRateFor(kSymbolErrorLimit, PddrFecMode::kInterleavedRs544Plr),
                PddrFecMode::kInterleavedRs544Plr);
  EXPECT_NEAR(kp4.symbol / 1e-14, 1, 0.01);
  EXPECT_NEAR(kp4.effective / 1e-14, 1, 0.01);
}

TEST(ErrorModelTest, HeatCostsMargin) {
  EXPECT_DOUBLE_EQ(RawRateAt(40), RawRateAt(70));
  EXPECT_NEAR(RawRateAt(72) / RawRateAt(70), 2, 1e-9);
  const auto symbol = [](double celsius) {
    return BehindFec(RawRateAt(celsius), PddrFecMode::kLowLatencyRs271Plr).symbol;
  };
  EXPECT_LT(symbol(85), kSymbolErrorLimit / 10);
  EXPECT_GT(symbol(95), kSymbolErrorLimit * 10);
}

TEST(DrawsTest, PoissonHasItsMeanAndVariance) {
  Rng rng(1);
  for (double mean : {0.3, 20.0, 500.0}) {
    double sum = 0, squares = 0;
    constexpr int kDraws = 20'000;
    for (int i = 0; i < kDraws; ++i) {
      const auto count = static_cast<double>(DrawPoisson(rng, mean));
      sum += count;
      squares += count * count;
    }
    const double average = sum / kDraws;
    EXPECT_NEAR(average / mean, 1, 0.05);
    EXPECT_NEAR((squares / kDraws - average * average) / mean, 1, 0.05);
  }
  EXPECT_EQ(DrawPoisson(rng, 0), 0u);
}

}  // namespace
}  // namespace fabricd::sim
