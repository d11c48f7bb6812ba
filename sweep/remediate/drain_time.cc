// SPDX-License-Identifier: Apache-2.0
#include "sweep/remediate/drain_time.h"

#include <algorithm>

#include "sweep/plan/longest_path.h"

namespace fabricd::sweep {

void DrainTime::Measure(const std::shared_ptr<const routing::RoutingPlan>& plan,
                        const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids) {
  if (plan == nullptr || plan == measured_) return;
  measured_ = plan;
  hops_ = std::max(hops_, LongestPath(*measured_, snapshot, lids));
}

Duration DrainTime::Of(const LinkOptions& link) const {
  const auto life = [](uint8_t code) {
    return code >= 20 ? Duration(std::chrono::seconds(1)) : Duration(4096) * (int64_t{1} << code);
  };
  return hops_ == 0 ? Duration::zero()
                    : life(link.hoq_life) * (hops_ - 1) + life(link.leaf_hoq_life);
}

}  // namespace fabricd::sweep
