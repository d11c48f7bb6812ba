// SPDX-License-Identifier: Apache-2.0
#include "sim/performance/error_model.h"

#include <algorithm>
#include <cmath>

namespace fabricd::sim {
namespace {

using wire::PddrFecMode;

constexpr double kRetransmissionLeaves = 1e-3;
constexpr double kHighestRawRate = 1e-2, kLowestRawRate = 1e-12;

struct Code {
  double symbols;
  double symbol_bits;
  int corrected;
  bool low_latency;
};

Code CodeOf(PddrFecMode fec) {
  switch (fec) {
    case PddrFecMode::kRs528: return {528, 10, 7, false};
    case PddrFecMode::kLowLatencyRs271:
    case PddrFecMode::kLowLatencyRs271Plr: return {271, 10, 7, true};
    case PddrFecMode::kLowLatencyRs272:
    case PddrFecMode::kInterleavedLowLatencyRs272:
    case PddrFecMode::kLowLatencyRs272Plr:
    case PddrFecMode::kInterleavedLowLatencyRs272Plr: return {272, 10, 7, true};
    case PddrFecMode::kHalfKp4Plr: return {288, 10, 15, false};
    default: return {544, 10, 15, false};
  }
}

// That a Poisson variable of this mean is above `least`.
double TailAbove(int least, double mean) {
  if (mean <= 0) return 0;
  constexpr int kTerms = 400;
  double term = std::exp(-mean), below = 0, above = 0;
  for (int k = 0; k < kTerms; ++k) {
    (k <= least ? below : above) += term;
    term *= mean / (k + 1);
  }
  return std::min(1.0, above);
}

}  // namespace

BitErrorRates BehindFec(double raw, PddrFecMode fec) {
  if (fec == PddrFecMode::kNone || fec == PddrFecMode::kFireCode) return {raw, raw, raw};
  const Code code = CodeOf(fec);
  const double wrong_symbols = code.symbols * -std::expm1(code.symbol_bits * std::log1p(-raw));
  const double fails = TailAbove(code.corrected, wrong_symbols);
  BitErrorRates rates;
  rates.raw = raw;
  rates.effective = std::min(raw, fails * (code.corrected + 1) / (code.symbols * code.symbol_bits));
  const bool repeats = code.low_latency && wire::HasRetransmission(fec);
  rates.symbol = repeats ? rates.effective * kRetransmissionLeaves : rates.effective;
  return rates;
}

double RawRateFor(double symbol, PddrFecMode fec) {
  double low = std::log(kLowestRawRate), high = std::log(kHighestRawRate);
  if (fec == PddrFecMode::kNone || fec == PddrFecMode::kFireCode) {
    return std::min(symbol, kHighestRawRate);
  }
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (BehindFec(std::exp(middle), fec).symbol < symbol ? low : high) = middle;
  }
  return std::exp(high);
}

double RawRateAt(double celsius) {
  constexpr double kGoodCable = 1e-7, kWarm = 70, kDegreesToDouble = 2;
  const double raw = kGoodCable * std::exp2(std::max(0.0, celsius - kWarm) / kDegreesToDouble);
  return std::min(raw, kHighestRawRate);
}

}  // namespace fabricd::sim
