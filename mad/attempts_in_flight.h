// SPDX-License-Identifier: Apache-2.0
// AttemptsInFlight: the requests that have an attempt in flight, and the next deadline. A transport
// reports timeouts itself; attempts without a report end at their deadline.
//
// An attempt can keep its place in the window after it has ended: a redirected request may still be
// on the wire until its timeout.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "common/time.h"
#include "mad/request_slots.h"

namespace fabricd::mad {

class AttemptsInFlight {
 public:
  // `slots` must outlive this; RequestSlot::place and ::deadline are kept here.
  explicit AttemptsInFlight(RequestSlots& slots) : slots_(slots) {}

  void Add(SlotIndex index, Instant deadline);
  // REQUIRES: added.
  void Remove(SlotIndex index);
  void SetDeadline(SlotIndex index, Instant deadline);
  void KeepPlaceUntil(Instant end);

  size_t size() const { return indices_.size(); }
  // Occupied places of the window: attempts, and places that are kept after an attempt.
  size_t places() const { return indices_.size() + kept_places_.size(); }
  // Not in a meaningful order, but in the same order in each run.
  const std::vector<SlotIndex>& indices() const { return indices_; }

  // When FindOverdue() has work; kNever when nothing is in flight. May be early.
  Instant NextDeadline() const { return next_deadline_; }
  // Attempts whose deadline has come; they stay in flight until Remove(). Frees kept places whose
  // time is over. The result is valid until the next call.
  const std::vector<SlotIndex>& FindOverdue(Instant now);

 private:
  Instant EndOfKeptPlaces() const;

  RequestSlots& slots_;
  std::vector<SlotIndex> indices_;  // Each slot has its index in this.
  std::vector<SlotIndex> overdue_;
  std::multiset<Instant> kept_places_;
  Instant next_deadline_ = kNever;
};

}  // namespace fabricd::mad
