// SPDX-License-Identifier: Apache-2.0
#include "mad/request_slots.h"

#include <utility>

#include "mad/transactions.h"

namespace fabricd::mad {

SlotIndex RequestSlots::Allocate(const SmpRequest& request) {
  if (free_ == kNoIndex) {
    const SlotIndex first = static_cast<SlotIndex>(slabs_.size() * kSlabSlots);
    slabs_.push_back(std::make_unique<RequestSlot[]>(kSlabSlots));
    for (SlotIndex index = first + kSlabSlots; index-- > first;) {
      At(index).next = free_;
      free_ = index;
    }
  }
  const SlotIndex index = free_;
  RequestSlot& slot = At(index);
  free_ = slot.next;
  slot = RequestSlot{};
  slot.request = request;
  return index;
}

void RequestSlots::Free(SlotIndex index) {
  DropId(index);
  DropRetiredId(index);
  RequestSlot& slot = At(index);
  slot.state = RequestSlot::State::kFree;
  slot.next = free_;
  free_ = index;
}

SlotIndex RequestSlots::Find(TransactionId id) const {
  const auto found = by_id_.find(id.value());
  return found == by_id_.end() ? kNoIndex : found->second;
}

void RequestSlots::AssignId(SlotIndex index) {
  RequestSlot& slot = At(index);
  if (slot.tid != 0) return;
  do {
    last_id_ = NextTransactionId(last_id_);
  } while (by_id_.contains(last_id_));
  slot.tid = last_id_;
  by_id_.emplace(slot.tid, index);
}

void RequestSlots::DropId(SlotIndex index) {
  const uint32_t id = std::exchange(At(index).tid, 0);
  if (id != 0) by_id_.erase(id);
}

void RequestSlots::RetireId(SlotIndex index) {
  DropRetiredId(index);
  At(index).redirected_tid = std::exchange(At(index).tid, 0);
}

void RequestSlots::DropRetiredId(SlotIndex index) {
  const uint32_t id = std::exchange(At(index).redirected_tid, 0);
  if (id != 0) by_id_.erase(id);
}

}  // namespace fabricd::mad
