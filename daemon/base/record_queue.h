// SPDX-License-Identifier: Apache-2.0
// RecordQueue: records on their way to the store thread, many in one write, so that nobody who has
// something to record waits for the disk. RecordKeeper: what a history of records does on that
// thread: append, trim now and then, and say once that it fails.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <spdlog/spdlog.h>

#include "common/mutex.h"
#include "common/status.h"
#include "daemon/base/wall_clock.h"
#include "store/store.h"

namespace fabricd::daemon {

// Runs a job on the store thread. False: its queue is full or closed, and the job will not be run.
using PostToStore = std::function<bool(std::function<void()>)>;

// How listings come to what was recorded: on a thread of their own, so that none holds up a write.
struct Listings {
  store::History& history;
  PostToStore post;  // To that thread.
};

template <typename Record>
class RecordQueue {
 public:
  // On the store thread: what has come, in its order, and how many more found the queue full.
  using Take = std::function<void(std::vector<Record> records, size_t lost)>;

  // At most `most` records wait.
  RecordQueue(size_t most, PostToStore post, Take take)
      : most_(most), post_(std::move(post)), take_(std::move(take)) {}

  // Any thread. What finds the store's queue full goes with the next Add(), Schedule() or Flush().
  void Add(std::vector<Record> records) {
    {
      MutexLock lock(mutex_);
      const size_t fit = std::min(records.size(), most_ - records_.size());
      lost_ += records.size() - fit;
      std::move(records.begin(), records.begin() + static_cast<ptrdiff_t>(fit),
                std::back_inserter(records_));
    }
    Schedule();
  }
  // Any thread.
  void Schedule() {
    {
      MutexLock lock(mutex_);
      if (scheduled_ || records_.empty()) return;
      scheduled_ = true;
    }
    if (post_([this] { Flush(); })) return;
    MutexLock lock(mutex_);
    scheduled_ = false;
  }
  // On the store thread.
  void Flush() {
    std::vector<Record> records;
    size_t lost = 0;
    {
      MutexLock lock(mutex_);
      records.swap(records_);
      lost = std::exchange(lost_, 0);
      scheduled_ = false;
    }
    if (!records.empty()) take_(std::move(records), lost);
  }

 private:
  const size_t most_;
  const PostToStore post_;
  const Take take_;

  Mutex mutex_;
  std::vector<Record> records_ FABRICD_GUARDED_BY(mutex_);
  size_t lost_ FABRICD_GUARDED_BY(mutex_) = 0;  // Only while records_ is full.
  bool scheduled_ FABRICD_GUARDED_BY(mutex_) = false;
};

// Of the store thread.
class RecordKeeper {
 public:
  // `name` is for the log.
  RecordKeeper(std::string name, std::chrono::hours max_age)
      : name_(std::move(name)), max_age_(max_age) {}

  // `append()` writes `count` records; `trim(before)` deletes what is older than `before`, in
  // milliseconds since 1970, and what is too much.
  template <typename Append, typename Trim>
  void Keep(size_t count, Append&& append, Trim&& trim) {
    absl::Status status = append();
    since_trim_ += count;
    if (status.ok() && since_trim_ >= kTrimEvery) {
      since_trim_ = 0;
      status = trim(Before());
    }
    Report(status);
  }
  // Other nodes have appended; the number is not known. Trims once a minute at most.
  template <typename Trim>
  void KeepOthers(Trim&& trim) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_trim_) return;
    next_trim_ = now + std::chrono::minutes(1);
    Report(trim(Before()));
  }

 private:
  static constexpr size_t kTrimEvery = 1000;

  int64_t Before() const { return WallNowMs() - std::chrono::milliseconds(max_age_).count(); }
  void Report(const absl::Status& status) {
    if (!status.ok() && !failing_) spdlog::error("{}: {}", name_, Message(status));
    failing_ = !status.ok();
  }

  const std::string name_;
  const std::chrono::hours max_age_;
  size_t since_trim_ = kTrimEvery;                     // Trim at the first chance.
  std::chrono::steady_clock::time_point next_trim_{};  // Of KeepOthers().
  bool failing_ = false;
};

}  // namespace fabricd::daemon
