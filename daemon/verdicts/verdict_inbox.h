// SPDX-License-Identifier: Apache-2.0
// VerdictInbox: what waits for the verdict thread: questions (kMaxQuestions; one more is refused),
// answers about holds, newer options, what became of a write. Any thread, but for Take().
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <absl/status/statusor.h>

#include "common/mutex.h"
#include "daemon/base/backend.h"
#include "daemon/verdicts/verdict_keeper.h"

namespace fabricd::daemon {

class VerdictInbox {
 public:
  static constexpr size_t kMaxQuestions = 256;

  struct Question {
    std::variant<VerdictCommand, PortRef> what;  // Of a PortRef: to be evaluated.
    VerdictDone done;
  };
  struct HoldAnswer {
    policy::LinkKey link;
    absl::StatusOr<uint64_t> hold;
  };
  struct Arrivals {
    std::vector<Question> questions;
    std::vector<HoldAnswer> holds;
    std::optional<VerdictOptions> options;
    std::optional<absl::Status> written;
  };

  // False: too many wait, or it is closed; `question` is as it was.
  [[nodiscard]] bool Push(Question&& question) {
    MutexLock lock(mutex_);
    if (closed_ || arrivals_.questions.size() >= kMaxQuestions) return false;
    arrivals_.questions.push_back(std::move(question));
    Wake();
    return true;
  }
  // Looked at when the thread wakes for something else.
  void Push(HoldAnswer answer) {
    MutexLock lock(mutex_);
    arrivals_.holds.push_back(std::move(answer));
  }
  void Push(VerdictOptions options) {
    MutexLock lock(mutex_);
    arrivals_.options = std::move(options);
    Wake();
  }
  void PushWritten(absl::Status status) {
    MutexLock lock(mutex_);
    arrivals_.written = std::move(status);
    Wake();
  }
  void Close() {
    MutexLock lock(mutex_);
    closed_ = true;
    changed_.NotifyOne();
  }

  // Waits until something wakes the thread or `until` has come. False: it is closed; what is taken
  // is the last.
  bool Take(Arrivals& arrivals, std::chrono::steady_clock::time_point until) {
    MutexLock lock(mutex_);
    changed_.WaitUntil(lock, until,
                       [this]() FABRICD_REQUIRES(mutex_) { return closed_ || awake_; });
    awake_ = false;
    arrivals = std::exchange(arrivals_, {});
    return !closed_;
  }

 private:
  void Wake() FABRICD_REQUIRES(mutex_) {
    awake_ = true;
    changed_.NotifyOne();
  }

  Mutex mutex_;
  Condition changed_;
  bool closed_ FABRICD_GUARDED_BY(mutex_) = false, awake_ FABRICD_GUARDED_BY(mutex_) = false;
  Arrivals arrivals_ FABRICD_GUARDED_BY(mutex_);
};

}  // namespace fabricd::daemon
