// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/work_queue.h"

#include <tuple>

namespace fabricd::sweep {

void WorkQueue::Stripe() {
  std::stable_sort(Batch(), items_.end(), [](const WorkItem& a, const WorkItem& b) {
    return std::tie(a.block, a.port) < std::tie(b.block, b.port);
  });
}

void WorkQueue::StripeUnique() {
  std::sort(Batch(), items_.end(), [](const WorkItem& a, const WorkItem& b) {
    return std::tie(a.block, a.port, a.work, a.node) < std::tie(b.block, b.port, b.work, b.node);
  });
  items_.erase(std::unique(Batch(), items_.end()), items_.end());
}

}  // namespace fabricd::sweep
