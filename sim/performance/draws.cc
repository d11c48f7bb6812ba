// SPDX-License-Identifier: Apache-2.0
#include "sim/performance/draws.h"

#include <cmath>

namespace fabricd::sim {
namespace {

// Means from here on are drawn from the normal distribution.
constexpr double kLargeMean = 64;

}  // namespace

double DrawUniform(Rng& rng) { return static_cast<double>(rng.Next() >> 11) * 0x1.0p-53; }

uint64_t DrawPoisson(Rng& rng, double mean) {
  if (mean <= 0) return 0;
  if (mean < kLargeMean) {
    const double end = std::exp(-mean);
    uint64_t count = 0;
    for (double product = DrawUniform(rng); product > end; product *= DrawUniform(rng)) ++count;
    return count;
  }
  double normal = -6;
  for (int i = 0; i < 12; ++i) normal += DrawUniform(rng);
  const double drawn = mean + std::sqrt(mean) * normal;
  return drawn > 0 ? static_cast<uint64_t>(drawn + 0.5) : 0;
}

}  // namespace fabricd::sim
