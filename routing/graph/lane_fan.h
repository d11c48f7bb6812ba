// SPDX-License-Identifier: Apache-2.0
// Fan: all best ways to one switch at once. Switches by distance from it, and for each the
// neighbours that are nearer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "routing/graph/graph.h"
#include "routing/graph/hop_costs.h"

namespace fabricd::routing {

struct Fan {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  uint32_t at = kNone;
  std::vector<uint32_t> order;       // Near to far, `at` first; only what is reached.
  std::vector<uint32_t> first;       // [place in order] Into `candidates`; one more at the end.
  std::vector<uint32_t> candidates;  // Neighbours (SwitchGraph::neighbors).
  std::vector<uint32_t> distance;    // [switch] kNone: not reached.

  size_t Bytes() const {
    return 4 * (order.size() + first.size() + candidates.size() + distance.size());
  }
  // Switches marked in `blocked` ([switch], empty: none) are left out.
  void MakeShortest(const SwitchGraph& graph, uint32_t destination,
                    const std::vector<uint8_t>& blocked);
  // The rule of hop_costs.h: down the shortest pure way down if there is one, else up to where the
  // rest is shortest. `from_top` has all switches, highest position first.
  void MakeUpDown(const SwitchGraph& graph, const Order& position,
                  const std::vector<uint32_t>& from_top, uint32_t destination,
                  const std::vector<uint8_t>& blocked);

 private:
  bool Start(const SwitchGraph& graph, uint32_t destination, const std::vector<uint8_t>& blocked);
  std::vector<uint8_t> is_falling_;  // [switch] Has a pure way down.
};

}  // namespace fabricd::routing
