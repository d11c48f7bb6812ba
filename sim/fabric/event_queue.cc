// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/event_queue.h"

#include <algorithm>

namespace fabricd::sim {

void EventQueue::AdvanceTo(Instant now) { now_ = std::max(now_, now); }

void EventQueue::Schedule(Event event) {
  std::vector<Event>& heap = event.kind == Event::Kind::kTimeOut ? time_outs_ : events_;
  event.sequence = next_sequence_++;
  heap.push_back(event);
  std::push_heap(heap.begin(), heap.end());
}

const Event* EventQueue::Next() const {
  if (time_outs_.empty()) return events_.empty() ? nullptr : &events_.front();
  const bool event = !events_.empty() && time_outs_.front() < events_.front();
  return event ? &events_.front() : &time_outs_.front();
}

Instant EventQueue::next_at() const {
  const Event* next = Next();
  return next == nullptr ? kNever : next->at;
}

std::optional<Event> EventQueue::TakeDue(Instant now) {
  std::optional<Event> due;
  const Event* next = Next();
  if (next == nullptr || next->at > now) {
    AdvanceTo(now);
    return due;
  }
  due = *next;
  std::vector<Event>& heap = due->kind == Event::Kind::kTimeOut ? time_outs_ : events_;
  std::pop_heap(heap.begin(), heap.end());
  heap.pop_back();
  AdvanceTo(due->at);
  return due;
}

}  // namespace fabricd::sim
