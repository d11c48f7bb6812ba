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

absl::Status CallMembers(size_t members, std::atomic<size_t>& preferred,
                         const ClientOptions& options, const AttemptClock& clock, CallKind kind,
                         const Attempt& attempt) {
  const std::chrono::nanoseconds end = clock.now() + options.timeout;
  const size_t first = preferred;
  absl::Status status;
  bool is_unanswered = false;
  for (size_t turn = 0;; ++turn) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - clock.now());
    if (left <= milliseconds::zero()) return status;
    const size_t member = (first + turn) % members;
    status = attempt(member, std::min(left, options.attempt_timeout));
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
