// SPDX-License-Identifier: Apache-2.0
// Waits for what another thread answers. A page is made by one of few threads, so the wait is
// short: whoever does not answer is given up, and may answer later.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace fabricd::http {

inline constexpr std::chrono::seconds kAnswerPatience{2};

// `start` is called with a function that takes the answer, on any thread. nullopt: none came.
template <typename Answer, typename Start>
std::optional<Answer> WaitForAnswer(Start&& start) {
  struct Slot {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Answer> answer;
  };
  const auto slot = std::make_shared<Slot>();
  start([slot](Answer answer) {
    std::lock_guard lock(slot->mutex);
    slot->answer = std::move(answer);
    slot->changed.notify_all();
  });
  std::unique_lock lock(slot->mutex);
  slot->changed.wait_for(lock, kAnswerPatience, [&] { return slot->answer.has_value(); });
  return std::move(slot->answer);
}

}  // namespace fabricd::http
