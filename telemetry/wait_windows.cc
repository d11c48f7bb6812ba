// SPDX-License-Identifier: Apache-2.0
#include "telemetry/wait_windows.h"

#include <algorithm>
#include <cmath>

namespace fabricd::telemetry {
namespace {

constexpr uint64_t kUnit = 5;  // Milliseconds.
constexpr uint64_t kLeastObserved = WaitWindows::kLength * 3 / 4 / kUnit;
constexpr double kPackedOne = 50'000;  // Shares are packed in steps of 1/50,000.

}  // namespace

void WaitWindows::Begin(uint32_t number) {
  const uint32_t steps = number - number_;
  const Ended last = Summary();
  for (size_t i = kEnded; i-- > 0;) ended_[i] = i >= steps ? ended_[i - steps] : Ended();
  if (steps <= kEnded) ended_[steps - 1] = last;
  sum_ = {};
  number_ = number;
}

WaitWindows::Ended WaitWindows::Summary() const {
  const auto pack = [](const Part& part) {
    if (part.observed < kLeastObserved) return kNone;
    const double share = static_cast<double>(part.of) / part.observed;
    return static_cast<uint16_t>(std::lround(std::min(share, 1.0) * kPackedOne));
  };
  return {pack(sum_.waited), pack(sum_.sent)};
}

void WaitWindows::Add(uint64_t at, uint64_t window, double share, Part Sum::*part) {
  constexpr uint64_t kMost = kEnded * kLength;
  uint64_t from = at - std::min({window, at, kMost});
  while (from < at) {
    const auto number = static_cast<uint32_t>(from / kLength);
    const uint64_t end = std::min(at, (number + uint64_t{1}) * kLength);
    if (number > number_) Begin(number);
    // What is of a window before this one comes late.
    if (number == number_) {
      Part& sum = sum_.*part;
      const auto observed = static_cast<double>(end - from) / kUnit;
      const auto add = [](uint16_t& to, double more) {
        to = static_cast<uint16_t>(std::min<long>(to + std::lround(more), 0xFFFF));
      };
      add(sum.observed, observed);
      add(sum.of, observed * std::clamp(share, 0.0, 1.0));
    }
    from = end;
  }
}

void WaitWindows::AddWait(uint64_t at, uint64_t window, double share) {
  Add(at, window, share, &Sum::waited);
}

void WaitWindows::AddSent(uint64_t at, uint64_t window, double utilisation) {
  Add(at, window, utilisation, &Sum::sent);
}

std::optional<policy::WaitWindow> WaitWindows::Read(uint64_t now, uint32_t back) const {
  const uint64_t current = now / kLength;
  if (back == 0 || back > kEnded || current < back || current - back > number_) {
    return std::nullopt;
  }
  const uint64_t before = number_ - (current - back);
  if (before > kEnded) return std::nullopt;
  const Ended window = before == 0 ? Summary() : ended_[before - 1];
  if (window.wait == kNone || window.utilisation == kNone) return std::nullopt;
  return policy::WaitWindow{window.wait / kPackedOne, window.utilisation / kPackedOne};
}

}  // namespace fabricd::telemetry
