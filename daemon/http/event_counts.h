// SPDX-License-Identifier: Apache-2.0
// EventCounts: how often what has happened since the start, and how long reroutes took: counters
// for /metrics, kept while the events go by. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "common/mutex.h"
#include "daemon/record/event_log.h"

namespace fabricd::http {

class EventCounts final : public daemon::EventLog::Watcher {
 public:
  // Upper bounds of the buckets of reroutes, seconds.
  static constexpr std::array<double, 10> kBounds = {0.002, 0.005, 0.01, 0.02, 0.05,
                                                     0.1,   0.2,   0.5,  1,    5};
  struct Values {
    std::map<std::string, uint64_t> by_type;
    std::array<uint64_t, kBounds.size() + 1> reroutes{};  // By bucket; the last has no bound.
    double reroute_seconds = 0;
  };

  // Counts from now on. Null: the log has too many watchers.
  static std::shared_ptr<EventCounts> Start(daemon::EventLog& log);

  void OnEvents(bool beat) override;
  Values values() const;

 private:
  explicit EventCounts(daemon::EventLog& log) : log_(log) {}

  daemon::EventLog& log_;
  mutable Mutex mutex_;
  uint64_t last_ FABRICD_GUARDED_BY(mutex_) = 0;
  Values values_ FABRICD_GUARDED_BY(mutex_);
};

}  // namespace fabricd::http
