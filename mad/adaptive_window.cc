// SPDX-License-Identifier: Apache-2.0
#include "mad/adaptive_window.h"

#include <algorithm>

#include "common/check.h"

namespace fabricd::mad {
namespace {

constexpr uint32_t kSmallestRound = 16;
constexpr uint32_t kLossShareDivisor = 32;
constexpr uint32_t kSuspectShareDivisor = 4;

}  // namespace

AdaptiveWindow::AdaptiveWindow(const EngineOptions& options) : options_(options) {
  FABRICD_CHECK(options.window_floor >= 1 && options.window_floor <= options.window_max,
                "window floor {}, max {}", options.window_floor, options.window_max);
  const uint32_t initial = options.first_contact
                               ? std::min(options.window_initial, options.window_first)
                               : options.window_initial;
  size_ = std::clamp(initial, options.window_floor, options.window_max);
}

uint32_t AdaptiveWindow::limit() const {
  return patience_ == Patience::kPatient ? std::min(size_, options_.window_patient) : size_;
}

uint32_t AdaptiveWindow::suspect_limit() const {
  return std::max({1u, size_ / kSuspectShareDivisor, options_.window_floor / 2});
}

void AdaptiveWindow::SetPatient(bool patient) {
  if (patient != (patience_ != Patience::kNone))
    patience_ = patient ? Patience::kPatient : Patience::kNone;
}

void AdaptiveWindow::OnTimeout() {
  if (patience_ == Patience::kPatient) patience_ = Patience::kLost;
}

void AdaptiveWindow::OnFull() { round_.was_full = round_.was_full || limit() == size_; }

void AdaptiveWindow::OnAnswer(bool reveals_loss, bool has_queued) {
  ++round_.answers;
  if (has_queued) ++round_.queued;
  if (reveals_loss) ++round_.losses;
  if (round_.answers < std::max(size_, kSmallestRound)) return;
  if (round_.losses >= 2 && round_.losses * kLossShareDivisor >= round_.answers) {
    size_ = std::max(options_.window_floor, size_ / 2);
    ++shrinks_;
  } else if (round_.losses == 0 && round_.was_full && round_.queued * 2 <= round_.answers) {
    size_ = std::min(options_.window_max, size_ + options_.window_growth);
  }
  round_ = {};
}

}  // namespace fabricd::mad
