// SPDX-License-Identifier: Apache-2.0
#include "mad/attempts_in_flight.h"

#include <algorithm>

namespace fabricd::mad {

Instant AttemptsInFlight::EndOfKeptPlaces() const {
  return kept_places_.empty() ? kNever : *kept_places_.begin();
}

void AttemptsInFlight::Add(SlotIndex index, Instant deadline) {
  slots_.At(index).place = static_cast<uint32_t>(indices_.size());
  indices_.push_back(index);
  SetDeadline(index, deadline);
}

void AttemptsInFlight::Remove(SlotIndex index) {
  const uint32_t place = slots_.At(index).place;
  indices_[place] = indices_.back();
  slots_.At(indices_.back()).place = place;
  indices_.pop_back();
  if (indices_.empty()) next_deadline_ = EndOfKeptPlaces();
}

void AttemptsInFlight::SetDeadline(SlotIndex index, Instant deadline) {
  slots_.At(index).deadline = deadline;
  next_deadline_ = std::min(next_deadline_, deadline);
}

void AttemptsInFlight::KeepPlaceUntil(Instant end) {
  kept_places_.insert(end);
  next_deadline_ = std::min(next_deadline_, end);
}

const std::vector<SlotIndex>& AttemptsInFlight::FindOverdue(Instant now) {
  overdue_.clear();
  kept_places_.erase(kept_places_.begin(), kept_places_.upper_bound(now));
  next_deadline_ = EndOfKeptPlaces();
  for (const SlotIndex index : indices_) {
    const Instant deadline = slots_.At(index).deadline;
    if (deadline <= now) {
      overdue_.push_back(index);
    } else {
      next_deadline_ = std::min(next_deadline_, deadline);
    }
  }
  return overdue_;
}

}  // namespace fabricd::mad
