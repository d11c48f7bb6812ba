// SPDX-License-Identifier: Apache-2.0
// WorkBudget: how much work one engine may put into one plan. Work is counted in steps (an entry, a
// channel or a neighbour looked at), never by a clock: the same fabric takes the same steps on any
// machine, in a replay and on a standby.
//
// Several threads may spend at once. Steps are never given back, so a budget that is exceeded stays
// so, whoever sees it first; and one thread may stop because of that only where the sum of all is
// above the limit. Hence whether an engine declines does not depend on the number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace fabricd::routing {

class WorkBudget {
 public:
  static constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

  explicit WorkBudget(uint64_t steps = kUnlimited) : limit_(steps) {}

  void Spend(uint64_t steps) { spent_.fetch_add(steps, std::memory_order_relaxed); }
  uint64_t spent() const { return spent_.load(std::memory_order_relaxed); }
  uint64_t limit() const { return limit_; }
  // To be asked after each piece of work, so that little is done beyond the limit.
  bool exceeded() const { return spent() > limit_; }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> spent_{0};
};

}  // namespace fabricd::routing
