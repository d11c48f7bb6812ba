// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/mutex.h"
#include "store/etcd/client.h"

namespace fabricd::store::etcd {

inline constexpr std::chrono::seconds kPatience{20};

// What a watch has reported.
class WatchRecorder final : public WatchHandler {
 public:
  void OnEvents(const std::vector<WatchEvent>& events, int64_t revision) override {
    MutexLock lock(mutex_);
    for (const WatchEvent& event : events)
      calls_.push_back(event.kv.key + (event.is_delete ? " deleted" : "=" + event.kv.value));
    revision_ = revision;
    changed_.NotifyAll();
  }
  void OnCompacted(int64_t revision) override {
    MutexLock lock(mutex_);
    calls_.push_back("compacted at " + std::to_string(revision));
    changed_.NotifyAll();
  }
  void OnConnection(const absl::Status& status) override {
    MutexLock lock(mutex_);
    connected_ = status.ok();
    broken_ = broken_ || !status.ok();
    changed_.NotifyAll();
  }
  std::vector<std::string> WaitFor(size_t count) {
    MutexLock lock(mutex_);
    EXPECT_TRUE(changed_.WaitFor(lock, kPatience, [&] { return calls_.size() >= count; }));
    return calls_;
  }
  void WaitUntilConnected() {
    MutexLock lock(mutex_);
    EXPECT_TRUE(changed_.WaitFor(lock, kPatience, [&] { return connected_; }));
  }
  void WaitUntilBroken() {
    MutexLock lock(mutex_);
    EXPECT_TRUE(changed_.WaitFor(lock, kPatience, [&] { return broken_; }));
  }
  int64_t revision() {
    MutexLock lock(mutex_);
    return revision_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::vector<std::string> calls_;
  int64_t revision_ = 0;
  bool connected_ = false, broken_ = false;
};

}  // namespace fabricd::store::etcd
