// SPDX-License-Identifier: Apache-2.0
#include "sim/shared/wall_clocks.h"

#include <fmt/format.h>

#include "sim/faults/draw.h"

namespace fabricd::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr policy::WallMs kBegin = 1'800'000'000'000;
constexpr seconds kMostSet{3};

}  // namespace

policy::WallMs WallClocks::DrawEpoch() {
  return kBegin + (UpTo(2 * kMostOff, rng_) - kMostOff) / milliseconds(1);
}

bool WallClocks::Plan(const ManagementNodes& nodes, Duration phase) {
  if (!rng_.Chance(0.4)) return false;
  for (uint64_t count = 1 + rng_.Below(3); count > 0; --count) {
    ManagementNode* const node = nodes[rng_.Below(nodes.size())].get();
    const Duration by = UpTo(2 * kMostSet, rng_) - kMostSet;
    tolerance_ += std::chrono::abs(by);
    world_.threads().At(world_.now() + UpTo(phase, rng_), [this, node, ms = by / milliseconds(1)] {
      world_.Tell(fmt::format("the clock of node {} is set by {} ms", node->number(), ms));
      node->SetWallClock(node->wall_epoch() + ms);
    });
  }
  return true;
}

}  // namespace fabricd::sim
