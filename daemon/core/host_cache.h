// SPDX-License-Identifier: Apache-2.0
// HostCache: the table of hosts of a snapshot, computed once for all snapshots with the same nodes.
// Any thread.
#pragma once

#include <memory>
#include <utility>

#include "common/mutex.h"
#include "fabric/hosts.h"
#include "fabric/snapshot.h"

namespace fabricd::daemon {

class HostCache {
 public:
  // `patterns` must outlive this.
  explicit HostCache(const fabric::HostPatterns& patterns) : patterns_(patterns) {}

  // Computes without the lock, so that a thread of low priority never delays another.
  std::shared_ptr<const fabric::HostTable> Get(
      const std::shared_ptr<const fabric::FabricSnapshot>& snapshot) {
    {
      MutexLock lock(mutex_);
      if (hosts_of_ && fabric::SameNodes(*hosts_of_, *snapshot)) {
        hosts_of_ = snapshot;
        return hosts_;
      }
    }
    auto found = std::make_shared<const fabric::HostTable>(fabric::FindHosts(*snapshot, patterns_));
    MutexLock lock(mutex_);
    // Another thread may have computed it in the meantime: all callers get the same table.
    if (!hosts_of_ || !fabric::SameNodes(*hosts_of_, *snapshot)) hosts_ = std::move(found);
    hosts_of_ = snapshot;
    return hosts_;
  }

 private:
  const fabric::HostPatterns& patterns_;
  Mutex mutex_;
  std::shared_ptr<const fabric::FabricSnapshot> hosts_of_ FABRICD_GUARDED_BY(mutex_);
  std::shared_ptr<const fabric::HostTable> hosts_ FABRICD_GUARDED_BY(mutex_);
};

}  // namespace fabricd::daemon
