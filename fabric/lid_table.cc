// SPDX-License-Identifier: Apache-2.0
#include "fabric/lid_table.h"

#include "common/check.h"

namespace fabricd::fabric {

void LidTable::Assign(PortRef end_port, LidRange range) {
  Release(end_port);
  if (range.base) {
    const uint32_t base = range.base.value();
    const uint32_t end = base + range.count();
    FABRICD_CHECK(range.lmc <= 7 && base % range.count() == 0, "LID {} with LMC {}", base,
                  range.lmc);
    FABRICD_CHECK(end - 1 <= kMaxUnicastLid.value(), "LID {} with LMC {}", base, range.lmc);
    if (owner_.size() < end) owner_.resize(end);
    for (uint32_t lid = base; lid < end; ++lid) {
      FABRICD_CHECK(owner_[lid].IsNone(), "LID {} is owned by node {} port {}", lid,
                    owner_[lid].node, owner_[lid].port);
      owner_[lid] = end_port;
    }
    by_port_.emplace(end_port, range);
  }
  while (!owner_.empty() && owner_.back().IsNone()) owner_.pop_back();
}

void LidTable::Release(PortRef end_port) {
  const auto old = by_port_.find(end_port);
  if (old == by_port_.end()) return;
  const uint32_t base = old->second.base.value();
  for (uint32_t lid = base; lid < base + old->second.count(); ++lid) owner_[lid] = PortRef{};
  by_port_.erase(old);
}

}  // namespace fabricd::fabric
