// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/hop_schedule.h"

namespace fabricd::sweep {

void HopSchedule::OnAnswered(uint16_t hops, Instant deadline) {
  if (--unanswered_[hops] == 0) unanswered_.erase(hops);
  deadline_ = deadline;
}

std::optional<HopSchedule::Ports> HopSchedule::Take(Instant now) {
  if (waiting_.empty()) {
    deadline_ = kNever;  // Until the next response.
    return std::nullopt;
  }
  const auto first = waiting_.begin();
  const bool earlier_out = !unanswered_.empty() && unanswered_.begin()->first <= first->first;
  if (earlier_out && now < deadline_) return std::nullopt;
  Ports due{first->first, std::move(first->second)};
  waiting_.erase(first);
  return due;
}

}  // namespace fabricd::sweep
