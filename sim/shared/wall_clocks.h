// SPDX-License-Identifier: Apache-2.0
// WallClocks: the wall clock of each machine is a little off, and is set now and then. Holds end by
// it, at whichever node is master by then.
#pragma once

#include <cstdint>

#include "common/rng.h"
#include "sim/shared/management_node.h"
#include "sim/shared/shared_world.h"

namespace fabricd::sim {

class WallClocks {
 public:
  // `world` outlives this. `seed`: of its own draws.
  WallClocks(SharedWorld& world, uint64_t seed) : world_(world), rng_(seed) {}

  // What a new machine has at Instant zero.
  policy::WallMs DrawEpoch();
  // Draws when the clocks of `nodes` are set within the next `phase`. False: none is.
  bool Plan(const ManagementNodes& nodes, Duration phase);
  // By how much the end of a hold may be off: by the difference of two clocks, and by what one was
  // set where it was not durable before another node took over.
  Duration tolerance() const { return tolerance_; }

 private:
  static constexpr std::chrono::milliseconds kMostOff{500};

  SharedWorld& world_;
  Rng rng_;
  Duration tolerance_ = 2 * kMostOff;
};

}  // namespace fabricd::sim
