// SPDX-License-Identifier: Apache-2.0
// AttemptsInFlight: which requests have an attempt in flight, and when the next one is overdue. A
// transport reports timeouts itself; what it does not report ends by its deadline.
//
// A place of the window may be kept beyond the end of an attempt: what was redirected may still be
// on the wire until it would have timed out.
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
  // Of the window: attempts, and places that are kept.
  size_t places() const { return indices_.size() + kept_places_.size(); }
  // In no order that means anything, but the same in each run.
  const std::vector<SlotIndex>& indices() const { return indices_; }

  // When FindOverdue() has work; kNever when nothing is in flight. May be early.
  Instant NextDeadline() const { return next_deadline_; }
  // Attempts whose deadline has come; they stay in flight until Remove(). Gives back kept places
  // whose time is over. Valid until the next call.
  const std::vector<SlotIndex>& FindOverdue(Instant now);

 private:
  Instant EndOfKeptPlaces() const;

  RequestSlots& slots_;
  std::vector<SlotIndex> indices_;  // Each slot knows its place.
  std::vector<SlotIndex> overdue_;
  std::multiset<Instant> kept_places_;
  Instant next_deadline_ = kNever;
};

}  // namespace fabricd::mad
