// SPDX-License-Identifier: Apache-2.0
// IndexList: a doubly linked list of elements of an array, which must outlive it. Each element has
// members `previous` and `next`, and is in at most one list.
#pragma once

#include <cstdint>

namespace fabricd::mad {

inline constexpr uint32_t kNoIndex = 0xFFFFFFFFu;

struct IndexList {
  uint32_t head = kNoIndex, tail = kNoIndex;

  bool empty() const { return head == kNoIndex; }
  // `at(index)` returns the element.
  template <typename At>
  void Insert(uint32_t index, bool front, At&& at) {
    auto& element = at(index);
    element.previous = front ? kNoIndex : tail;
    element.next = front ? head : kNoIndex;
    (element.previous == kNoIndex ? head : at(element.previous).next) = index;
    (element.next == kNoIndex ? tail : at(element.next).previous) = index;
  }
  // REQUIRES: the element is in this list.
  template <typename At>
  void Remove(uint32_t index, At&& at) {
    const auto& element = at(index);
    (element.previous == kNoIndex ? head : at(element.previous).next) = element.next;
    (element.next == kNoIndex ? tail : at(element.next).previous) = element.previous;
  }
};

}  // namespace fabricd::mad
