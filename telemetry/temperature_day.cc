// SPDX-License-Identifier: Apache-2.0
#include "telemetry/temperature_day.h"

#include <algorithm>
#include <cmath>

namespace fabricd::telemetry {

void TemperatureDay::Add(uint64_t at, uint64_t last, std::optional<double> celsius) {
  const uint64_t step = at / kStep;
  const uint64_t skipped = std::min<uint64_t>(step - std::min(step, last / kStep), kSamples);
  for (uint64_t i = 0; i < skipped; ++i) samples_[(step - i) % kSamples] = kNone;
  if (!celsius) return;
  samples_[step % kSamples] = static_cast<int8_t>(std::lround(std::clamp(*celsius, -127.0, 127.0)));
}

std::optional<double> TemperatureDay::Median(uint64_t now, uint64_t last) const {
  std::array<int8_t, kSamples> known;
  size_t count = 0;
  const uint64_t step = last / kStep;
  for (uint64_t back = now / kStep - std::min(now / kStep, step); back < kSamples; ++back) {
    const int8_t sample = samples_[(now / kStep - back) % kSamples];
    if (sample != kNone) known[count++] = sample;
    if (back == now / kStep) break;
  }
  if (count < kSamples / 2) return std::nullopt;
  const auto middle = known.begin() + static_cast<ptrdiff_t>(count / 2);
  std::nth_element(known.begin(), middle, known.begin() + static_cast<ptrdiff_t>(count));
  if (count % 2 != 0) return *middle;
  return (*middle + *std::max_element(known.begin(), middle)) / 2.0;
}

}  // namespace fabricd::telemetry
