// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/attempts.h"

#include <algorithm>

#include "common/status.h"

namespace fabricd::store::etcd {
namespace {

using std::chrono::milliseconds;

// Between rounds over all members.
constexpr milliseconds kPause{50};

}  // namespace

void CallLimit::Set(std::optional<milliseconds> time, std::chrono::nanoseconds now) {
  MutexLock lock(mutex_);
  now_ = time ? Now{now + *time, *time} : Now{};
}

CallLimit::Now CallLimit::now() const {
  MutexLock lock(mutex_);
  return now_;
}

absl::Status CallMembers(size_t members, std::atomic<size_t>& preferred,
                         const ClientOptions& options, const CallLimit& limit,
                         const AttemptClock& clock, CallKind kind, const Attempt& attempt) {
  const std::chrono::nanoseconds end = clock.now() + options.timeout;
  const size_t first = preferred;
  absl::Status status = Unavailable("etcd: no time is left to ask it");
  bool is_unanswered = false;
  for (size_t turn = 0;; ++turn) {
    const CallLimit::Now now = limit.now();
    const auto left =
        std::chrono::duration_cast<milliseconds>(std::min(end, now.end) - clock.now());
    if (left <= milliseconds::zero()) return status;
    const size_t member = (first + turn) % members;
    const auto share = now.time / static_cast<int64_t>(members);
    status = attempt(member, std::min({left, options.attempt_timeout, share}));
    if (status.ok()) preferred = member;
    if (status.ok()) return status;
    if (!absl::IsUnavailable(status))
      return kind == CallKind::kChange && is_unanswered ? Unavailable("{}", Message(status))
                                                        : status;
    is_unanswered = true;
    if (member + 1 == members) clock.sleep(std::min(left, kPause));
  }
}

}  // namespace fabricd::store::etcd
