// SPDX-License-Identifier: Apache-2.0
// LanePaths: a way from every switch to every LID of one graph, and the lane each takes so that no
// lane can deadlock. Ways are shortest ones, each destination's chosen so that the sum of the loads
// along it is least (the weights of DFSSSP: Domke, Hoefler, Nagel, IPDPS 2011), one after another.
// A pair of source switch and LID takes the first lane whose channel order (channel_order.h) still
// accepts all its dependencies.
//
// Entries that no host's traffic takes (of switches beside all ways to a destination, and towards
// switches without hosts) are made last, so that they use dependencies that are there already.
// Sequential, and so the same whatever the number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/engines/layered/lane_targets.h"
#include "routing/graph/channel_order.h"
#include "routing/graph/graph.h"
#include "routing/graph/hop_costs.h"
#include "routing/plan/work_budget.h"

namespace fabricd::routing {

enum class Preference { kLoad, kClass, kExisting };

struct LaneSettings {
  // Only ways that rise and then fall in the order (the rule of hop_costs.h) instead of shortest
  // ones: needs one lane whatever the graph, and on a tree they are the shortest as well.
  bool up_down = false;
  Preference preference = Preference::kLoad;
  // [neighbour of SwitchGraph::neighbors] kClass: ways by a lower class come before load.
  std::vector<uint32_t> arc_class;
  uint8_t lanes = 1;  // At most, 1-15.
};

using LaneSet = uint16_t;  // A bit per lane.
inline constexpr LaneSet kAllLanes = 0x7FFF;

// Ways and lanes as bytes, [target * switches + source switch].
struct LaneWays {
  static constexpr uint8_t kDeliver = 254;  // This is the destination's switch.
  static constexpr uint8_t kNone = 255;     // No way.

  uint32_t switches = 0;
  uint8_t lanes = 1;
  std::vector<uint8_t> out;    // Place of the next channel among those of the source.
  std::vector<uint8_t> lane;   // Empty with one lane.
  std::vector<uint32_t> load;  // [channel] Pairs of host and carrying LID.
  bool ordered = false;        // One lane, and every way follows the order given.

  uint8_t& Out(size_t target, uint32_t s) { return out[target * switches + s]; }
  uint8_t Out(size_t target, uint32_t s) const { return out[target * switches + s]; }
  uint8_t Lane(size_t target, uint32_t s) const {
    return lane.empty() ? 0 : lane[target * switches + s];
  }
  uint32_t MostLoad() const;
  // The ways to `to` become those to `from`, a target on the same switch.
  void CopyTarget(size_t from, size_t to);
};

// `order` must serve all pairs of switches. Empty `out`: more lanes than allowed would be needed,
// or more work than `budget` has left.
LaneWays FindLaneWays(const SwitchGraph& graph, const ChannelGraph& channels, const Order& order,
                      const TargetList& targets, const LaneSettings& settings, WorkBudget& budget);

}  // namespace fabricd::routing
