// SPDX-License-Identifier: Apache-2.0
// Counts of events that happen at random, drawn from a generator of the caller's. Pure.
#pragma once

#include <cstdint>

#include "common/rng.h"

namespace fabricd::sim {

// Uniform in [0, 1).
double DrawUniform(Rng& rng);
// By the Poisson distribution; from a mean of 64 on by the normal one.
uint64_t DrawPoisson(Rng& rng, double mean);

}  // namespace fabricd::sim
