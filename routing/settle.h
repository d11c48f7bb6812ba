// SPDX-License-Identifier: Apache-2.0
// Whether a plan of least change (repair.h) may stand, and for how long: it writes little, but what
// it left pending is not served and its load may be uneven. Pure; time comes in as an argument.
#pragma once

#include <cstddef>

#include "common/time.h"

namespace fabricd::routing {

struct SettlePolicy {
  // A plan whose most loaded link carries at most this many times the bound that no plan can beat
  // (load_bound.h) is good enough.
  double good_enough = 1.25;
  Duration good_for = std::chrono::minutes(10);  // How long such a plan may stand,
  Duration bad_for = std::chrono::seconds(10);   // and how long a worse one.
};

struct Standing {
  bool ideal = false;  // The engine's own plan for what is there now.
  size_t pending = 0;  // RoutingPlan::pending.
  double load = 0;     // Of its most loaded link, when all hosts send to all.
  double bound = 0;    // 0: not known, and then no load is good enough.
  Duration stood{};    // Since the first fault that it was mended for.
};

struct SettleStep {
  enum class Kind {
    kStay,
    kMend,   // A repair that is not urgent: it serves what is pending, and moves nothing else.
    kIdeal,  // The engine's own plan.
  };
  Kind kind = Kind::kStay;
  // With kStay: when to ask again if nothing happens; the maximum: not at all.
  Duration again = Duration::max();
};

SettleStep NextSettleStep(const SettlePolicy& policy, const Standing& standing);

}  // namespace fabricd::routing
