// SPDX-License-Identifier: Apache-2.0
// PendingCommands: the functions to call when the core has finished a command. Any thread.
#pragma once

#include <functional>
#include <utility>

#include <absl/container/flat_hash_map.h>

#include "common/mutex.h"
#include "sweep/interface/events.h"

namespace fabricd::daemon {

class PendingCommands {
 public:
  using Done = std::function<void(const sweep::FinishedCommand&)>;

  // Returns the number to pass to the core.
  uint64_t Add(Done done) {
    MutexLock lock(mutex_);
    const uint64_t command = next_++;
    commands_[command] = std::move(done);
    return command;
  }
  // Calls the function for this command, once. Ignores numbers without one.
  void Finish(const sweep::FinishedCommand& finished) {
    Done done;
    {
      MutexLock lock(mutex_);
      const auto it = commands_.find(finished.command);
      if (it == commands_.end()) return;
      done = std::move(it->second);
      commands_.erase(it);
    }
    done(finished);
  }

 private:
  Mutex mutex_;
  uint64_t next_ FABRICD_GUARDED_BY(mutex_) = 1;
  absl::flat_hash_map<uint64_t, Done> commands_ FABRICD_GUARDED_BY(mutex_);
};

}  // namespace fabricd::daemon
