// SPDX-License-Identifier: Apache-2.0
#include "mad/queue_delay.h"

#include <algorithm>

namespace fabricd::mad {
namespace {
constexpr int kTimesFastest = 2;
}  // namespace

bool QueueDelay::Note(size_t hops, Duration waited) {
  if (slack_ == Duration::zero()) return false;
  Duration& fastest = fastest_[std::min(hops, fastest_.size() - 1)];
  fastest = std::min(fastest, waited);
  return waited > kTimesFastest * fastest + slack_;
}

}  // namespace fabricd::mad
