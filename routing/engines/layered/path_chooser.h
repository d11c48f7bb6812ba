// SPDX-License-Identifier: Apache-2.0
// PathChooser: the next hop of every switch to one LID after another, of the least sum of loads on
// the way, and the loads that come of it (lane_paths.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "routing/engines/layered/lane_paths.h"
#include "routing/engines/layered/lane_targets.h"
#include "routing/graph/channel_order.h"
#include "routing/graph/graph.h"
#include "routing/graph/lane_fan.h"
#include "routing/plan/no_index.h"

namespace fabricd::routing {

class PathChooser {
 public:
  using Settings = LaneSettings;
  using Paths = LaneWays;

  // Next hops and loads go into `paths`. Preference::kExisting asks the first of `orders`.
  PathChooser(const SwitchGraph& graph, const ChannelGraph& channels, const Order& order,
              const TargetList& targets, const Settings& settings,
              const std::vector<ChannelOrder>& orders, Paths& paths);

  // The best paths to the target, which the next calls are about.
  const Fan& MakeFan(const Target& target);
  // The next hop of every switch.
  void Choose(uint32_t t);
  // Loads of the paths just chosen; entries without traffic stay as they are, marked by weight 0.
  void Weigh(uint32_t t);
  // Hosts whose path leads through the switch.
  uint32_t weight(uint32_t s) const { return weight_[s]; }
  uint64_t steps() const { return fan_steps_; }

 private:
  static constexpr uint8_t kDeliver = Paths::kDeliver;

  template <typename Class>
  void ChooseBy(uint32_t t, uint8_t* out, Class&& class_of);
  uint32_t CableOf(uint32_t t, uint32_t s, uint32_t n) const;
  uint32_t Used(uint32_t t, uint32_t s, uint32_t n) const;
  void AddLoad(uint32_t channel, uint32_t weight);

  const SwitchGraph& graph_;
  const ChannelGraph& channels_;
  const TargetList& targets_;
  const Settings& settings_;
  const Order& position_;
  const std::vector<ChannelOrder>& orders_;
  Paths& paths_;
  uint64_t fan_steps_ = 0;
  std::vector<uint32_t> from_top_;  // Switches, highest position first.
  uint32_t lowest_limit_ = kNone;
  std::vector<Fan> fans_;  // [switch] Those kept, with nothing blocked.
  Fan other_fan_;
  const Fan* fan_ = &other_fan_;
  size_t fan_bytes_ = 0;
  std::vector<uint8_t> blocked_;       // Of fan_.
  std::vector<uint32_t> bundle_load_;  // [neighbour] Of its least loaded cable,
  std::vector<uint32_t> bundle_best_;  // which is this channel.
  std::vector<uint64_t> cost_;         // [switch] Sum of loads on its path.
  std::vector<uint32_t> weight_;       // [switch]
};

}  // namespace fabricd::routing
