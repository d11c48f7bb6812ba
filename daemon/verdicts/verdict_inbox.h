// SPDX-License-Identifier: Apache-2.0
// VerdictInbox: the queue of the verdict thread: questions (at most kMaxQuestions; more are
// refused), answers about holds, new options, what another node has stored (the newest), and the
// result of a write. Any thread may push; only
// the verdict thread calls Take().
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
    std::optional<policy::StoredVerdicts> stored;  // By the master that this node waits beside.
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
  // Does not wake the thread.
  void Push(HoldAnswer answer) {
    MutexLock lock(mutex_);
    arrivals_.holds.push_back(std::move(answer));
  }
  void Push(VerdictOptions options) {
    MutexLock lock(mutex_);
    arrivals_.options = std::move(options);
    Wake();
  }
  void Push(policy::StoredVerdicts stored) {
    MutexLock lock(mutex_);
    arrivals_.stored = std::move(stored);
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

  // Waits until something wakes the thread or `until` has come, then takes everything. False: the
  // inbox is closed, and nothing will follow.
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
