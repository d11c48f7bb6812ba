// SPDX-License-Identifier: Apache-2.0
#include "sweep/multicast.h"

#include <utility>

namespace fabricd::sweep {

Multicast::Multicast(SharedGroups groups)
    : groups_(groups ? std::move(groups) : std::make_shared<const fabric::MulticastGroups>()),
      plan_(std::make_shared<const routing::MulticastPlan>()) {}

void Multicast::SetGroups(SharedGroups groups) { groups_ = std::move(groups); }

}  // namespace fabricd::sweep
