// SPDX-License-Identifier: Apache-2.0
// An order of the switches that serves every pair and forbids nothing that packets do now: the
// order for what turned_order.h cannot serve. A packet turns at a switch when it comes from one
// neighbour and goes on to another; an order forbids the turn where the switch stands below both.
// So the switches are placed from the bottom up: next comes one at which no packet turns between
// two that are not placed yet, and without which those are still connected. What is placed then has
// a neighbour above it, so that the order has one highest switch and serves every pair.
//
// Whoever may be placed while others are left may be placed later, as far as turns are concerned:
// no choice is wrong. The lowest of the old order goes first, so that most keep their places.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "routing/plan/link_map.h"

namespace fabricd::routing {

// The turns of packets, whatever their direction: by switch, pairs of its neighbours, each with the
// lower number first; sorted, each once.
using SwitchTurns = std::vector<std::vector<std::pair<uint32_t, uint32_t>>>;

struct FittedOrder {
  std::vector<uint32_t> position;  // [switch] All different for switches that are alive.
  uint64_t forbidden = 0;          // Turns of packets that it forbids.
};

// `position` is the old order. `links`: those that routes may use. `held`: switches ([switch], not
// 0) that packets may pass although routes may not. `top`: the highest switch of its component is
// to be this one; LinkMap::kNone: any. Where no switch may go next, the one goes at which the
// fewest turns are forbidden by that. Looks at each link at most 1,000 times; nullopt: that was not
// enough.
std::optional<FittedOrder> FitOrder(const LinkMap& links, const std::vector<uint8_t>& held,
                                    const SwitchTurns& turns, const std::vector<uint32_t>& position,
                                    uint32_t top);

}  // namespace fabricd::routing
