// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/event_counts.h"

#include <algorithm>

#include "common/mutex.h"

namespace fabricd::http {

std::shared_ptr<EventCounts> EventCounts::Start(daemon::EventLog& log) {
  std::shared_ptr<EventCounts> counts(new EventCounts(log));
  const auto begin = log.BeginAt("");
  if (!begin.ok()) return nullptr;
  {
    MutexLock lock(counts->mutex_);
    // A counter that begins at 1 has not increased for those who watch it.
    for (const std::string_view type : fabric::kEventTypes)
      counts->values_.by_type[std::string(type)] = 0;
    counts->last_ = *begin;
  }
  return log.AddWatcher(counts) ? counts : nullptr;
}

void EventCounts::OnEvents(bool) {
  constexpr size_t kMost = 1000;
  MutexLock lock(mutex_);
  while (true) {
    const auto events = log_.After(last_, kMost);
    // Older ones are gone from the ring: they are not counted, as "EventsLost" tells.
    if (!events.ok()) {
      const auto latest = log_.BeginAt("");
      if (latest.ok()) last_ = *latest;
      return;
    }
    for (const auto& record : *events) {
      last_ = record->number;
      ++values_.by_type[record->event.type];
      if (!record->event.reroute || record->event.reroute->superseded) continue;
      const double seconds = std::chrono::duration<double>(record->event.reroute->applied).count();
      const auto* bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
      ++values_.reroutes[static_cast<size_t>(bound - kBounds.begin())];
      values_.reroute_seconds += seconds;
    }
    if (events->size() < kMost) return;
  }
}

EventCounts::Values EventCounts::values() const {
  MutexLock lock(mutex_);
  return values_;
}

}  // namespace fabricd::http
