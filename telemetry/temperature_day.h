// SPDX-License-Identifier: Apache-2.0
// TemperatureDay: the temperatures of a module in the last 24 hours, one in each 90 minutes, in 16
// bytes. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace fabricd::telemetry {

class TemperatureDay {
 public:
  static constexpr size_t kSamples = 16;
  static constexpr uint64_t kStep = 24u * 60 * 60 * 1000 / kSamples;  // Milliseconds.

  TemperatureDay() { samples_.fill(kNone); }
  // `last`: when this was called before; 0: never. nullopt: the module tells none.
  void Add(uint64_t at, uint64_t last, std::optional<double> celsius);
  // nullopt: known for less than half a day.
  std::optional<double> Median(uint64_t now, uint64_t last) const;

 private:
  static constexpr int8_t kNone = -128;
  std::array<int8_t, kSamples> samples_;  // Degrees, by number of the step.
};

}  // namespace fabricd::telemetry
