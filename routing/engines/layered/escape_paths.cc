// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/layered/escape_paths.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "common/check.h"
#include "common/sort_unique.h"
#include "routing/graph/order.h"
#include "routing/plan/no_index.h"

namespace fabricd::routing {
namespace {

// One lane: its dependencies, and the spanning tree whose ways it always has.
class EscapeLane {
 public:
  EscapeLane(const SwitchGraph& graph, const ChannelGraph& channels, uint32_t root)
      : channels_(channels),
        order_(channels, UpDownPlaces(channels, RootOrder(graph, root))),
        tree_(graph.size()) {
    std::vector<uint32_t> queue{root};
    std::vector<uint8_t> seen(graph.size(), 0);
    seen[root] = 1;
    for (size_t next = 0; next < queue.size(); ++next)
      for (uint32_t c = channels.begin[queue[next]]; c < channels.begin[queue[next] + 1]; ++c) {
        const uint32_t head = channels.head[c];
        if (seen[head]) continue;
        seen[head] = 1;
        queue.push_back(head);
        tree_[queue[next]].push_back(c);
        tree_[head].push_back(channels.reverse[c]);
      }
    for (uint32_t s = 0; s < graph.size(); ++s)
      for (uint32_t in : tree_[s])
        for (uint32_t out : tree_[s]) {
          if (in == out) continue;
          const bool added = order_.Add(channels.reverse[in], channels.OutOf(out));
          FABRICD_CHECK(added, "the dependencies of a tree make a cycle");
        }
  }

  ChannelOrder& order() { return order_; }
  // Ways of the tree to one switch, `order` near to far.
  void TreeWays(uint32_t at, uint8_t* out, std::vector<uint32_t>& order) const {
    order.assign(1, at);
    for (size_t next = 0; next < order.size(); ++next)
      for (uint32_t c : tree_[order[next]]) {
        const uint32_t head = channels_.head[c];
        if (out[head] != LaneWays::kNone) continue;
        out[head] = channels_.OutOf(channels_.reverse[c]);
        order.push_back(head);
      }
  }

 private:
  const ChannelGraph& channels_;
  ChannelOrder order_;
  std::vector<std::vector<uint32_t>> tree_;  // [switch] Channels of the tree that it sends on.
};

class Finder {
 public:
  Finder(const SwitchGraph& graph, const ChannelGraph& channels, const TargetList& targets,
         uint8_t lanes, WorkBudget& budget)
      : budget_(budget),
        graph_(graph),
        channels_(channels),
        targets_(targets.targets),
        cost_(graph.size()) {
    // Roots far apart by number: trees that share few links.
    for (uint64_t lane = 0; lane < lanes; ++lane)
      lanes_.emplace_back(graph, channels, static_cast<uint32_t>(lane * graph.size() / lanes));
    ways_.switches = graph.size();
    ways_.lanes = lanes;
    ways_.load.assign(channels.size(), 0);
    ways_.out.assign(targets_.size() * graph.size(), LaneWays::kNone);
    if (lanes > 1) ways_.lane.assign(ways_.out.size(), 0);
  }

  LaneWays Run() {
    uint32_t turn = 0;
    for (uint32_t t = 0; t < targets_.size(); ++t) {
      if (targets_[t].twin != Target::kNoTwin) continue;
      Find(t, static_cast<uint8_t>(turn++ % lanes_.size()));
      Charge();
      if (budget_.exceeded()) return {};
    }
    for (uint32_t t = 0; t < targets_.size(); ++t)
      if (targets_[t].twin != Target::kNoTwin) ways_.CopyTarget(targets_[t].twin, t);
    return std::move(ways_);
  }

 private:
  void Find(uint32_t t, uint8_t lane) {
    const Target& target = targets_[t];
    uint8_t* out = &ways_.Out(t, 0);
    const std::vector<uint8_t> blocked = SwitchesWithout(graph_, target.lid);
    if (!blocked.empty() && blocked[target.at]) return;
    out[target.at] = LaneWays::kDeliver;
    bool done = Grow(target.at, out, lanes_[lane].order(), blocked, false);
    for (size_t i = 0; !done && blocked.empty() && i < lanes_.size(); ++i) {
      Clear(target.at, out);
      lane = static_cast<uint8_t>((lane + (i > 0)) % lanes_.size());
      done = Grow(target.at, out, lanes_[lane].order(), blocked, true);
    }
    if (!done && blocked.empty()) {
      Clear(target.at, out);
      lanes_[lane].TreeWays(target.at, out, settled_);
    }
    SetLane(t, lane);
    if (target.carries) Weigh(out);
  }
  // The work for one target.
  void Charge() {
    uint64_t steps = grow_steps_;
    for (EscapeLane& lane : lanes_) steps += lane.order().steps();
    budget_.Spend(steps - std::exchange(charged_, steps));
  }
  void Clear(uint32_t at, uint8_t* out) const {
    std::fill_n(out, ways_.switches, LaneWays::kNone);
    out[at] = LaneWays::kDeliver;
  }
  void SetLane(uint32_t t, uint8_t lane) {
    if (ways_.lane.empty()) return;
    std::fill_n(ways_.lane.begin() + static_cast<std::ptrdiff_t>(size_t{t} * ways_.switches),
                ways_.switches, lane);
  }

  // Round by round, so that ways are as short as the lane allows. Whether all were reached.
  // `careful`: by what the lane has already as far as that goes.
  bool Grow(uint32_t at, uint8_t* out, ChannelOrder& order, const std::vector<uint8_t>& blocked,
            bool careful) {
    settled_.assign(1, at);
    cost_[at] = 0;
    size_t begin = 0, reachable = ways_.switches;
    reachable -= static_cast<size_t>(std::count(blocked.begin(), blocked.end(), 1));
    for (; begin < settled_.size() || careful;) {
      if (begin == settled_.size()) careful = false, begin = 0;
      next_.clear();
      for (; begin < settled_.size(); ++begin) {
        grow_steps_ += channels_.out_count(settled_[begin]);
        for (uint32_t c = channels_.begin[settled_[begin]];
             c < channels_.begin[settled_[begin] + 1]; ++c)
          if (const uint32_t y = channels_.head[c];
              out[y] == LaneWays::kNone && (blocked.empty() || !blocked[y]))
            next_.push_back(y);
      }
      SortUnique(next_);
      // All of one round choose among those of the rounds before.
      chosen_.clear();
      for (uint32_t y : next_)
        if (const uint32_t c = Choose(y, out, order, careful); c != kNone) chosen_.push_back(c);
      for (uint32_t c : chosen_) {
        const uint32_t y = channels_.tail[c];
        out[y] = channels_.OutOf(c);
        cost_[y] = cost_[channels_.head[c]] + ways_.load[c];
        settled_.push_back(y);
      }
    }
    return settled_.size() == reachable;
  }
  uint32_t Choose(uint32_t y, const uint8_t* out, ChannelOrder& order, bool careful) {
    candidates_.clear();
    grow_steps_ += channels_.out_count(y);
    for (uint32_t c = channels_.begin[y]; c < channels_.begin[y + 1]; ++c) {
      const uint32_t head = channels_.head[c];
      if (out[head] != LaneWays::kNone &&
          !(out[head] != LaneWays::kDeliver && order.Refuses(c, out[head])))
        candidates_.emplace_back(ways_.load[c] + cost_[head], c);
    }
    std::sort(candidates_.begin(), candidates_.end());
    for (const auto& [cost, c] : candidates_) {
      const uint8_t next = out[channels_.head[c]];
      if (next == LaneWays::kDeliver || order.Has(c, next)) return c;
      if (!careful && order.Add(c, next)) return c;
    }
    return kNone;
  }
  void Weigh(const uint8_t* out) {
    weight_.assign(graph_.hosts.begin(), graph_.hosts.end());
    for (size_t i = settled_.size(); i-- > 1;) {
      const uint32_t c = channels_.Of(settled_[i], out[settled_[i]]);
      weight_[channels_.head[c]] += weight_[settled_[i]];
      ways_.load[c] += weight_[settled_[i]];
    }
  }

  WorkBudget& budget_;
  uint64_t grow_steps_ = 0, charged_ = 0;
  const SwitchGraph& graph_;
  const ChannelGraph& channels_;
  const std::vector<Target>& targets_;
  std::vector<EscapeLane> lanes_;
  LaneWays ways_;
  std::vector<uint32_t> settled_;  // Near to far.
  std::vector<uint32_t> next_, chosen_, weight_;
  std::vector<uint64_t> cost_;  // [switch] Sum of loads on its way.
  std::vector<std::pair<uint64_t, uint32_t>> candidates_;
};

}  // namespace

LaneWays FindEscapeWays(const SwitchGraph& graph, const ChannelGraph& channels,
                        const TargetList& targets, uint8_t lanes, WorkBudget& budget) {
  return Finder(graph, channels, targets, lanes, budget).Run();
}

}  // namespace fabricd::routing
