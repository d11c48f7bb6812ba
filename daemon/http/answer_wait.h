// SPDX-License-Identifier: Apache-2.0
// Waits for what another thread answers. A page is made by one of few threads, so the wait is
// short: whoever does not answer is given up, and may answer later.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "common/mutex.h"

namespace fabricd::http {

inline constexpr std::chrono::seconds kAnswerPatience{2};

// `start` is called with a function that takes the answer, on any thread. nullopt: none came.
template <typename Answer, typename Start>
std::optional<Answer> WaitForAnswer(Start&& start) {
  struct Slot {
    Mutex mutex;
    Condition changed;
    std::optional<Answer> answer FABRICD_GUARDED_BY(mutex);
  };
  const auto slot = std::make_shared<Slot>();
  start([slot](Answer answer) {
    MutexLock lock(slot->mutex);
    slot->answer = std::move(answer);
    slot->changed.NotifyAll();
  });
  MutexLock lock(slot->mutex);
  slot->changed.WaitFor(lock, kAnswerPatience,
                        [&]() FABRICD_REQUIRES(slot->mutex) { return slot->answer.has_value(); });
  return std::move(slot->answer);
}

}  // namespace fabricd::http
