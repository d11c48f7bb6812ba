// SPDX-License-Identifier: Apache-2.0
// Internal: one call as attempts at one member of etcd after the other, until one answers. Shared
// by the gRPC client and the simulated one, so that both repeat alike.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include <optional>

#include <absl/status/status.h>

#include "common/mutex.h"
#include "store/etcd/client.h"

namespace fabricd::store::etcd {

struct AttemptClock {
  std::function<std::chrono::nanoseconds()> now;  // Monotonic.
  std::function<void(std::chrono::milliseconds)> sleep;
};

// Client::Limit(). Any thread.
class CallLimit {
 public:
  struct Now {
    std::chrono::nanoseconds end = std::chrono::nanoseconds::max();  // AttemptClock
    std::chrono::milliseconds time = std::chrono::milliseconds::max();
  };
  void Set(std::optional<std::chrono::milliseconds> time, std::chrono::nanoseconds now);
  Now now() const;

 private:
  mutable Mutex mutex_;
  Now now_ FABRICD_GUARDED_BY(mutex_);
};

// UNAVAILABLE: the member has not answered.
using Attempt = std::function<absl::Status(size_t member, std::chrono::milliseconds timeout)>;

enum class CallKind : uint8_t { kOther, kChange };

// Begins with the member `preferred`, which is the one that answered last. Errors as Client's: an
// error after an attempt without an answer does not say that a change was not carried out, so it is
// UNAVAILABLE.
absl::Status CallMembers(size_t members, std::atomic<size_t>& preferred,
                         const ClientOptions& options, const CallLimit& limit,
                         const AttemptClock& clock, CallKind kind, const Attempt& attempt);

}  // namespace fabricd::store::etcd
