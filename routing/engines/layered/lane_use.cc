// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/layered/lane_use.h"

#include <cstdint>
#include <vector>

namespace fabricd::routing {
namespace {

constexpr uint8_t kDeliver = LaneWays::kDeliver;

// Which lanes have which dependencies, from the ways alone.
class LaneUse {
 public:
  LaneUse(const SwitchGraph& graph, const ChannelGraph& channels, LaneWays& ways)
      : graph_(graph), channels_(channels), ways_(ways), first_(channels.size()) {
    uint32_t next = 0;
    for (uint32_t c = 0; c < channels.size(); ++c) {
      first_[c] = next;
      next += channels.out_count(channels.head[c]);
    }
    lanes_.assign(next, 0);
  }
  void Collect(size_t target) {
    // From every source down its way, until its lane was there before.
    passed_.assign(ways_.switches, 0);
    for (uint32_t source = 0; source < ways_.switches; ++source) {
      const auto bit = static_cast<LaneSet>(1u << ways_.Lane(target, source));
      for (uint32_t s = source; !(passed_[s] & bit);) {
        passed_[s] |= bit;
        const uint8_t out = ways_.Out(target, s);
        if (out >= kDeliver) break;
        const uint32_t c = channels_.Of(s, out), head = channels_.head[c];
        const uint8_t next = ways_.Out(target, head);
        if (next >= kDeliver) break;
        lanes_[first_[c] + next] |= bit;
        s = head;
      }
    }
  }
  // Each source takes the lane with the least traffic among those that have its whole way.
  void Spread(size_t target, std::vector<uint64_t>& traffic) {
    fits_.assign(ways_.switches, 0);
    for (uint32_t source = 0; source < ways_.switches; ++source) {
      if (graph_.hosts[source] == 0 || ways_.Out(target, source) >= kDeliver) continue;
      const LaneSet fits = Fits(target, source);
      uint8_t best = ways_.Lane(target, source);
      for (uint8_t lane = 0; lane < ways_.lanes; ++lane)
        if (fits >> lane & 1 && traffic[lane] < traffic[best]) best = lane;
      ways_.lane[target * ways_.switches + source] = best;
      traffic[best] += graph_.hosts[source];
    }
  }

 private:
  LaneSet Fits(size_t target, uint32_t s) {
    way_.clear();
    while (fits_[s] == 0 && ways_.Out(target, s) < kDeliver) {
      way_.push_back(s);
      s = channels_.head[channels_.Of(s, ways_.Out(target, s))];
    }
    LaneSet fits = fits_[s] != 0 ? fits_[s] : kAllLanes;
    for (size_t i = way_.size(); i-- > 0;) {
      const uint32_t c = channels_.Of(way_[i], ways_.Out(target, way_[i]));
      const uint8_t next = ways_.Out(target, channels_.head[c]);
      if (next < kDeliver) fits &= lanes_[first_[c] + next];
      fits_[way_[i]] = fits;
    }
    return fits;
  }

  const SwitchGraph& graph_;
  const ChannelGraph& channels_;
  LaneWays& ways_;
  std::vector<uint32_t> first_;  // [channel] Into lanes_.
  std::vector<LaneSet> lanes_;   // [dependency]
  std::vector<LaneSet> passed_, fits_;
  std::vector<uint32_t> way_;
};

}  // namespace

void EvenOutLanes(const SwitchGraph& graph, const ChannelGraph& channels, const TargetList& targets,
                  LaneWays& ways) {
  if (ways.lanes == 1) return;
  LaneUse use(graph, channels, ways);
  const size_t count = targets.targets.size();
  for (size_t t = 0; t < count; ++t) use.Collect(t);
  std::vector<uint64_t> traffic(ways.lanes, 0);
  for (size_t t = 0; t < count; ++t)
    if (targets.targets[t].carries) use.Spread(t, traffic);
  for (size_t t = 0; t < count; ++t)
    if (targets.targets[t].twin != Target::kNoTwin) ways.CopyTarget(targets.targets[t].twin, t);
}

}  // namespace fabricd::routing
