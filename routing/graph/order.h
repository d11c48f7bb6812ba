// SPDX-License-Identifier: Apache-2.0
// The order of switches that rail, fat_tree and up_down share, and layered and min_hop on trees.
// Only orders that serve every pair of switches of the connected graph are taken; among them the
// one with the lowest estimated peak load. For trees the apex is a leaf ("cone" order): each way
// that rises and falls by level stays legal, and ways between cores, between spines and to hosts on
// a spine become legal too, which no order with the cores on top allows.
#pragma once

#include <cstdint>
#include <string>

#include "routing/graph/graph.h"
#include "routing/graph/hop_costs.h"
#include "routing/graph/levels.h"
#include "routing/plan/parallel.h"

namespace fabricd::routing {

// By rank, the leaves lowest.
Order LevelOrder(const Levels& levels);
// By rank, but the switches above `apex` in its own subtree, then the apex, stand on top of all.
Order ConeOrder(const SwitchGraph& graph, const Levels& levels, uint32_t apex);
// By distance from `root`, which is on top. Serves every pair of a connected graph.
Order RootOrder(const SwitchGraph& graph, uint32_t root);

struct ChosenOrder {
  Order order;
  HopCosts costs;     // Of `order`, nothing blocked.
  std::string kind;   // "levels", "cone", "root", "remembered"
  uint32_t apex = 0;  // The switch on top.
};
// Every pair is served unless the best way of some pair has more than HopCosts::kMostHops hops.
// Where the operator gave the ranks, the order by them is taken if it serves, else the cone over
// them, and only then any other. `remembered` is the order of the fabric before it lost what it
// lacks now (empty: not known): it is taken if it serves and, except on trees, where all orders
// with a leaf on top are worth the same, loads no cable far more than the best. Tables then need
// not leave one order for another when a fault comes, nor when it goes.
ChosenOrder ChooseOrder(const SwitchGraph& graph, const Levels& levels, bool ranks_given,
                        const Order& remembered, Parallel& parallel);

// Highest load of a cable when each host sends one unit to each host of a sample of switches and
// flow divides evenly over legal ways.
double EstimatePeakLoad(const SwitchGraph& graph, const Order& order, const HopCosts& costs,
                        Parallel& parallel);

}  // namespace fabricd::routing
