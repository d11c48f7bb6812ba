// SPDX-License-Identifier: Apache-2.0
// Balance: moves entries of a finished, ordered plan so that no cable carries much more than it
// must. Tables of an intact tree need none of it; a damaged or irregular one has cables that
// inherit what lost ones carried.
//
// Local search, most loaded cable first: of the destinations it carries, one at a time takes
// another of the shortest legal ways, at the cable's own switch or at one upstream, where every
// cable of the new way stays below a limit. Only ways that the plan's hop costs allow are taken, so
// reachability, hops and freedom from deadlock stay as they were. Deterministic and sequential; its
// work is bounded by the ways tried, never by time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "routing/graph/graph.h"
#include "routing/graph/hop_costs.h"
#include "routing/graph/levels.h"
#include "routing/plan/engine.h"
#include "routing/plan/parallel.h"
#include "routing/plan/row.h"

namespace fabricd::routing {

// Whether only leaves carry hosts, all switches of a rank are cabled alike and carry as many hosts,
// children of one parent have the same parents, and the hosts of each subtree take its cables in
// equal turns: there no load needs to be computed to know that the closed form is the best there
// is.
bool ClosedFormSuffices(const SwitchGraph& graph, const Levels& levels);

struct BalanceReport {
  double bound = 0;          // Cut bound (load_bound.h), in host pairs on one cable direction.
  bool closed_form = false;  // ClosedFormSuffices(): nothing was looked at, the load is the bound.
  uint32_t before = 0;       // Highest all-to-all load (link_load.h) of the plan that came.
  uint32_t after = 0;        // Of the plan that went; never higher.
  uint64_t tried = 0;        // Ways.
  uint32_t moved = 0;        // Table entries written, some more than once.
};

// An all-to-all load of so many times the bound is good enough: less costs more entries than it
// gives bandwidth, and the best shifts.
inline constexpr double kGoodLoad = 1.12;
// Ways tried at most.
inline constexpr uint64_t kMostTrials = 20'000'000;

// Improves `rows` ([switch], all there, of the ordered tables of a whole graph). `costs` are those
// of `order` with nothing blocked; LIDs that some table of the graph cannot hold are left alone.
// kShift moves nothing: the closed form has the best shifts.
BalanceReport Balance(const SwitchGraph& graph, const Levels& levels, const Order& order,
                      const HopCosts& costs, BalancePolicy policy,
                      const std::vector<std::shared_ptr<Row>>& rows, Parallel& parallel);

}  // namespace fabricd::routing
