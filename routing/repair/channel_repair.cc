// SPDX-License-Identifier: Apache-2.0
#include "routing/repair/channel_repair.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "common/status.h"
#include "routing/graph/channel_forest.h"
#include "routing/graph/channel_order.h"
#include "routing/plan/no_index.h"
#include "routing/plan/node_name.h"
#include "routing/plan/parallel.h"
#include "routing/transition/channel_dependency_graph.h"
#include "routing/transition/link_channels.h"

namespace fabricd::routing {
namespace {

constexpr int kMostAttempts = 12;

// The dependencies of the paths that packets may take now, in an order compatible with them.
std::unique_ptr<const ChannelOrder> OrderOfNow(const PushInput& push, const PushView& view,
                                               const LinkChannels& channels) {
  Parallel parallel(push.threads);
  std::vector<BlockChange> changes = ChangesByBlock(view);
  for (BlockChange& change : changes) change.fresh = change.lids;
  const ChannelDependencyGraph planned = ChannelDependencyGraph::Of(push, view, changes, parallel);
  ChannelDependencyGraph mixed = planned;
  for (BlockChange& change : changes) {
    change.fresh = 0;
    mixed.AddMoving(change, change.lids);
  }
  auto sorted = mixed.Sorted();
  if (!sorted) sorted = planned.Sorted();
  if (!sorted) return nullptr;
  const ChannelGraph& graph = channels.graph;
  const auto vertex_of = [&](uint32_t c) { return VertexOf(planned, channels, c); };
  auto order = std::make_unique<ChannelOrder>(graph, PlacesBy(*sorted, planned, channels));
  // Those of the plan first. Others may be refused where an earlier push could not avoid a cycle
  // either.
  for (const ChannelDependencyGraph* dependencies : {&planned, &std::as_const(mixed)})
    for (uint32_t c = 0; c < graph.size(); ++c)
      dependencies->ForEachOut(vertex_of(c), [&](uint8_t out) {
        const uint32_t next = channels.Of(graph.head[c], out);
        if (next != kNone) order->AddForNow(c, graph.OutOf(next));
      });
  return order;
}

// The ways to one LID after another.
class ChannelRepair {
 public:
  ChannelRepair(const ChannelRepairInput& input, const std::vector<const BlockTask*>& tasks)
      : input_(input),
        links_(*input.view.links),
        tasks_(tasks),
        applied_(input.applied),
        plan_(input.old_plan),
        channels_(input.observed),
        graph_(channels_.graph) {
    // A switch that is new and may not be used has channels, but no number in links_.
    const uint32_t switches = input.observed.size();
    entry_.resize(switches), hops_.resize(switches), state_.resize(switches, State::kEnds);
    children_.resize(switches);
    view_.emplace(Tables());
  }

  absl::StatusOr<std::vector<BlockResult>> Run() {
    CollectLids();
    for (int attempt = 1;; ++attempt) {
      const bool all = MendAll();
      if (circle_) return FailedPrecondition("the dependencies of the old plan make a circle");
      if (all) return Results();
      for (const Destination& to : lids_) {
        if (to.served || (attempt < kMostAttempts && TryHarder(to))) continue;
        return FailedPrecondition(
            "no way from switch {} to LID {} without a circle of dependencies",
            NodeName(links_.snapshot(), links_.node(to.pending[0])), LidOf(to));
      }
      std::stable_partition(lids_.begin(), lids_.end(),
                            [](const Destination& to) { return !to.served; });
    }
  }

 private:
  struct Destination {
    size_t task;
    uint32_t bit;
    std::vector<std::pair<uint32_t, uint8_t>> changed = {};  // Switch and its new entry.
    std::vector<uint32_t> pending = {};                      // Switches.
    bool stale = false, served = true;
  };
  // kAstray: it goes in a circle, or is delivered to somebody else. What leads there just ends.
  enum class State : uint8_t { kUnknown, kUnderWay, kArrives, kEnds, kAstray };
  // An entry that a switch may take; the best first.
  struct Choice {
    uint32_t hops, moved, turn, channel;
    bool operator>(const Choice& other) const {
      return std::tie(hops, moved, turn, channel) >
             std::tie(other.hops, other.moved, other.turn, other.channel);
    }
  };

  // What is tried for one LID, one after another.
  enum class Effort : uint8_t {
    kMend,     // Broken entries change,
    kFirst,    // with all dependencies still to choose from,
    kCleared,  // with those that broken entries make taken away;
    kDetour,   // and neighbours that still arrive may take another way.
  };
  Effort EffortFor(uint32_t lid) const {
    const auto found = effort_.find(lid);
    return found == effort_.end() ? Effort::kMend : found->second;
  }
  bool TryHarder(const Destination& to) {
    Effort& effort = effort_[LidOf(to)];
    if (effort == Effort::kDetour) return false;
    effort = static_cast<Effort>(static_cast<uint8_t>(effort) + 1);
    if (effort == Effort::kCleared) Clear(to);
    return true;
  }

  uint32_t LidOf(const Destination& to) const {
    return tasks_[to.task]->block * static_cast<uint32_t>(Row::kBlock) + to.bit;
  }

  void CollectLids() {
    for (size_t t = 0; t < tasks_.size(); ++t) {
      uint64_t wanted = tasks_[t]->anywhere;
      for (const BlockTask::Broken& broken : tasks_[t]->broken) wanted |= broken.lids;
      ForEachBit(wanted, [&](uint32_t bit) {
        if (!links_.place(LidOf({t, bit})).IsNowhere()) lids_.push_back({t, bit});
      });
    }
    std::stable_partition(lids_.begin(), lids_.end(), [&](const Destination& to) {
      return !links_.place(LidOf(to)).IsSwitch();
    });
  }

  // Whether each has a way.
  bool MendAll() {
    moved_.assign(graph_.size(), 0);
    order_.reset();
    bool all = true;
    for (Destination& to : lids_) {
      to.changed.clear(), to.pending.clear();
      to.served = Mend(to);
      all &= to.served;
      if (circle_) break;
    }
    return all;
  }

  bool Mend(Destination& to) {
    lid_ = LidOf(to);
    place_ = links_.place(lid_);
    FindBroken(to);
    if (broken_.empty()) return true;
    if (!order_ && !StartOrder()) return true;
    best_ = {};
    if (state_[place_.at] != State::kArrives) Settle(to, place_.at, place_.port, 0);
    size_t first = 0;
    do {
      // Those that may choose now, and then whoever led to one that found nothing.
      const size_t end = tried_.size();
      for (; first < end; ++first)
        if (state_[tried_[first]] != State::kArrives) Offer(tried_[first]);
      Choose(to);
      for (size_t i = 0; i < end; ++i)
        if (state_[tried_[i]] != State::kArrives)
          for (uint32_t child : children_[tried_[i]])
            if (std::exchange(is_tried_[child], 1) == 0) tried_.push_back(child);
    } while (first < tried_.size() || (EffortFor(lid_) == Effort::kDetour && Detour(to)));
    return LeftServed(to);
  }

  // Circles of dependencies in the tables as they are cannot be told from those that would be made.
  bool StartOrder() {
    if (!base_) {
      base_ = OrderOfNow(Tables(), *view_, channels_);
      if (base_ && input_.trees) LeaveRoomForTrees(*input_.trees);
    }
    circle_ = !base_;
    if (base_) order_.emplace(*base_);
    return !circle_;
  }

  void LeaveRoomForTrees(const MulticastPlan& trees) {
    std::vector<uint8_t> closed(graph_.size());
    for (uint32_t c = 0; c < graph_.size(); ++c) closed[c] = !IsUsable(c);
    std::vector<uint32_t> kept;
    for (const auto& tree : trees.trees)
      for (PortRef port : tree->ports)
        if (const uint32_t s = links_.number(port.node); s != LinkMap::kNone)
          if (const uint32_t c = channels_.Of(s, port.port.value()); c != kNone) kept.push_back(c);
    FoundForest found = FindForest({graph_, *base_, kept, closed});
    base_ = std::make_unique<const ChannelOrder>(std::move(found.forest).TakeOrder());
  }

  bool LeftServed(Destination& to) {
    for (uint32_t s : broken_)
      if (state_[s] != State::kArrives) to.pending.push_back(s);
    return to.pending.empty() || (input_.view.urgent && place_.IsSwitch());
  }

  // ---- what is broken

  PushInput Tables() const { return {input_.observed, applied_, nullptr, plan_, input_.threads}; }
  uint8_t OldEntry(uint32_t s) const {
    const NodeIndex node = links_.node(s);
    return plan_.HasRow(node) ? plan_.EgressPort(node, Lid(static_cast<uint16_t>(lid_))) : kNoRoute;
  }

  // Entries that bring nothing home can be taken away before anything else is written: then nothing
  // waits for what they lead to.
  void Clear(const Destination& to) {
    lid_ = LidOf(to);
    place_ = links_.place(lid_);
    Destination unused = to;
    FindBroken(unused);
    std::vector<uint8_t> arrives;
    view_->FindArriving(lid_ / Row::kBlock, lid_ % Row::kBlock, true, arrives);
    for (uint32_t s : broken_) {
      const NodeIndex node = links_.node(s);
      if (arrives[s]) continue;
      if (node.value() < applied_.rows.size() && lid_ < applied_.rows[node.value()].size())
        applied_.rows[node.value()].Set(lid_, kNoRoute);
      for (AppliedTables::Unsure& unsure : applied_.unsure)
        if (unsure.node == node && unsure.block == lid_ / Row::kBlock)
          unsure.maybe[lid_ % Row::kBlock] = kNoRoute;
      if (!plan_.HasRow(node)) continue;
      auto row = std::make_shared<Row>(*plan_.rows[node.value()]);
      row->Set(lid_, kNoRoute);
      plan_.rows[node.value()] = std::move(row);
    }
    view_.emplace(Tables());
    base_.reset();
  }

  // Follows all entries: who does not arrive although there is a way.
  void FindBroken(Destination& to) {
    broken_.clear();
    tried_.clear();
    is_tried_.assign(state_.size(), 0);
    for (uint32_t s = 0; s < links_.size(); ++s) {
      entry_[s] = OldEntry(s);
      state_[s] = links_.IsAlive(s) ? State::kUnknown : State::kEnds;
      children_[s].clear();
    }
    for (uint32_t s = 0; s < links_.size(); ++s)
      if (state_[s] == State::kUnknown) Follow(s);
    const std::vector<uint32_t>& components = input_.view.components;
    for (uint32_t s = 0; s < links_.size(); ++s) {
      if (!links_.IsAlive(s) || state_[s] == State::kArrives) continue;
      if (components[s] == components[place_.at]) {
        broken_.push_back(s);
        continue;
      }
      to.stale = true;
      if (state_[s] == State::kAstray) to.changed.emplace_back(s, kNoRoute);
    }
    for (uint32_t s : broken_) {
      const FarEnd far = links_.far(s, entry_[s]);
      const bool led = state_[s] == State::kEnds && far.IsSwitch();
      if (led) children_[far.head].push_back(s);
      if (led) continue;
      is_tried_[s] = 1;
      tried_.push_back(s);
    }
  }
  void Follow(uint32_t from) {
    way_.clear();
    uint32_t s = from, hops = 0;
    FarEnd far{};
    while (state_[s] == State::kUnknown) {
      state_[s] = State::kUnderWay;
      way_.push_back(s);
      if (s == place_.at && entry_[s] == place_.port) break;
      far = links_.far(s, entry_[s]);
      if (!far.IsSwitch()) break;
      s = far.head;
    }
    State end = State::kEnds;
    size_t last = way_.size();  // Of the way: from there on it goes in a circle, or astray.
    if (s == place_.at && entry_[s] == place_.port) {
      end = State::kArrives;
    } else if (state_[s] == State::kArrives) {
      end = State::kArrives;
      hops = hops_[s] + 1;
    } else if (state_[s] == State::kUnderWay && far.IsSwitch()) {
      last = static_cast<size_t>(std::find(way_.begin(), way_.end(), s) - way_.begin());
    } else if (state_[s] == State::kUnderWay && (far.head == FarEnd::kEndPort || entry_[s] == 0)) {
      --last;
    }
    for (size_t i = way_.size(); i-- > 0;) {
      state_[way_[i]] = i >= last ? State::kAstray : end;
      hops_[way_[i]] = hops++;
    }
  }

  // ---- what mends it

  // By all neighbours from which the LID arrives.
  void Offer(uint32_t s) {
    for (uint32_t c = graph_.begin[s]; c < graph_.begin[s + 1]; ++c)
      if (state_[graph_.head[c]] == State::kArrives) OfferBy(c);
  }
  void OfferBy(uint32_t c) {
    const uint32_t s = graph_.tail[c], count = graph_.out_count(s);
    if (!IsUsable(c)) return;
    const uint32_t turn = (graph_.OutOf(c) + count - lid_ % count) % count;
    best_.push({hops_[graph_.head[c]] + 1, moved_[c], turn, c});
  }

  bool IsUsable(uint32_t c) const {
    const uint32_t s = graph_.tail[c];
    return s < links_.size() && graph_.head[c] != s &&
           links_.far(s, channels_.port[c]).head == graph_.head[c];
  }

  // What was refused once is refused as long as dependencies are only added.
  void Choose(Destination& to) {
    while (!best_.empty()) {
      const uint32_t c = best_.top().channel, s = graph_.tail[c];
      best_.pop();
      if (state_[s] == State::kArrives || !TakeDependencies(s, c)) continue;
      ++moved_[c];
      Settle(to, s, channels_.port[c], hops_[graph_.head[c]] + 1);
    }
  }

  // What leads to it arrives as well.
  void Settle(Destination& to, uint32_t s, uint8_t port, uint32_t hops) {
    entry_[s] = port;
    to.changed.emplace_back(s, port);
    way_.assign(1, s);
    state_[s] = State::kArrives;
    hops_[s] = hops;
    for (size_t i = 0; i < way_.size(); ++i) {
      for (uint32_t child : children_[way_[i]]) {
        if (state_[child] == State::kArrives) continue;
        state_[child] = State::kArrives;
        hops_[child] = hops_[way_[i]] + 1;
        way_.push_back(child);
      }
    }
    for (uint32_t at : way_)
      for (uint32_t c = graph_.begin[at]; c < graph_.begin[at + 1]; ++c) {
        const uint32_t before = graph_.head[c];
        if (state_[before] != State::kArrives && is_tried_[before]) OfferBy(graph_.reverse[c]);
      }
  }

  // Where no neighbour will do as it is, one that arrives may take another way. Whether some did.
  bool Detour(Destination& to) {
    detours_.clear();
    for (uint32_t s : tried_) {
      if (state_[s] == State::kArrives) continue;
      for (uint32_t c = graph_.begin[s]; c < graph_.begin[s + 1]; ++c) {
        const uint32_t y = graph_.head[c];
        if (!IsUsable(c) || state_[y] != State::kArrives || y == place_.at) continue;
        for (uint32_t onward = graph_.begin[y]; onward < graph_.begin[y + 1]; ++onward) {
          const uint32_t z = graph_.head[onward];
          if (IsUsable(onward) && state_[z] == State::kArrives && !IsAhead(y, z))
            detours_.push_back({hops_[z] + 2, c, onward});
        }
      }
    }
    std::sort(detours_.begin(), detours_.end());
    for (const auto& [hops, c, onward] : detours_) {
      const uint32_t s = graph_.tail[c], y = graph_.head[c];
      added_.clear();
      if (!TakeFor(y, onward) || !Take(c, onward)) {
        TakeBack();
        continue;
      }
      const uint8_t was = std::exchange(entry_[y], channels_.port[onward]);
      if (!TakeFor(s, c)) {
        entry_[y] = was;
        TakeBack();
        continue;
      }
      to.changed.emplace_back(y, entry_[y]);
      hops_[y] = hops - 1;
      Settle(to, s, channels_.port[c], hops);
      return true;
    }
    return false;
  }

  bool TakeDependencies(uint32_t s, uint32_t c) {
    added_.clear();
    if (TakeFor(s, c)) return true;
    TakeBack();
    return false;
  }
  void TakeBack() {
    for (const auto& [before, next] : added_) order_->Remove(before, graph_.OutOf(next));
  }
  // Those of everything that may lead to the switch, and of the way on.
  bool TakeFor(uint32_t s, uint32_t c) {
    const uint32_t head = graph_.head[c];
    if (head != place_.at && !Take(c, channels_.Of(head, entry_[head]))) return false;
    for (uint32_t leaving = graph_.begin[s]; leaving < graph_.begin[s + 1]; ++leaving) {
      const uint32_t coming = graph_.reverse[leaving], before = graph_.tail[coming];
      if (IsAhead(before, head)) continue;
      const uint8_t port = channels_.port[coming];
      const bool leads = state_[before] == State::kArrives && entry_[before] == port;
      if ((leads || MayUse(before, port)) && !Take(coming, c)) return false;
    }
    return true;
  }
  // Who stands on the new way leads back no more when the switch is written.
  bool IsAhead(uint32_t s, uint32_t from) const {
    while (from != s && from != place_.at) from = links_.far(from, entry_[from]).head;
    return from == s;
  }
  bool Take(uint32_t before, uint32_t next) {
    const uint8_t out = graph_.OutOf(next);
    if (order_->Has(before, out)) return true;
    if (!order_->AddForNow(before, out)) return false;
    added_.emplace_back(before, next);
    return true;
  }
  // Whether its entry was this one at any time that still counts.
  bool MayUse(uint32_t s, uint8_t port) const {
    const uint32_t block = lid_ / Row::kBlock, i = lid_ % Row::kBlock;
    bool may = view_->Desired(s, block)[i] == port;
    view_->ForEachOld(s, block, i, [&](uint8_t old) { may |= old == port; });
    return may;
  }

  // ---- what came of it

  std::vector<BlockResult> Results() const {
    std::vector<std::map<uint32_t, BlockResult::Entries>> changed(tasks_.size());
    std::vector<std::map<uint32_t, uint64_t>> pending(tasks_.size());
    std::vector<BlockResult> results(tasks_.size());
    const auto set = [&](size_t task, uint32_t s, uint32_t bit, uint8_t value) {
      const auto [found, added] = changed[task].try_emplace(s);
      if (added) found->second = OldEntries(s, tasks_[task]->block);
      found->second[bit] = value;
    };
    for (size_t t = 0; t < tasks_.size(); ++t)
      for (const BlockTask::Write& write : tasks_[t]->writes)
        set(t, write.at, write.lid, write.value);
    for (const Destination& to : lids_) {
      for (const auto& [s, port] : to.changed) set(to.task, s, to.bit, port);
      for (uint32_t s : to.pending) pending[to.task][s] |= uint64_t{1} << to.bit;
      if (to.stale) results[to.task].stale |= uint64_t{1} << to.bit;
    }
    for (size_t t = 0; t < tasks_.size(); ++t) {
      results[t].changed.assign(changed[t].begin(), changed[t].end());
      results[t].pending.assign(pending[t].begin(), pending[t].end());
    }
    return results;
  }
  BlockResult::Entries OldEntries(uint32_t s, uint32_t block) const {
    BlockResult::Entries entries;
    entries.fill(kNoRoute);
    const Row* row = input_.view.rows[s];
    if (row && block < row->blocks())
      std::copy_n(row->block(block), entries.size(), entries.data());
    return entries;
  }

  const ChannelRepairInput& input_;
  const LinkMap& links_;
  const std::vector<const BlockTask*>& tasks_;
  // What packets may go by, without what was cleared.
  AppliedTables applied_;
  RoutingPlan plan_;
  std::optional<PushView> view_;
  const LinkChannels channels_;
  const ChannelGraph& graph_;
  std::vector<Destination> lids_;             // In the order in which they are served.
  std::unique_ptr<const ChannelOrder> base_;  // Null: not needed so far.
  std::optional<ChannelOrder> order_;         // With what was added.
  std::map<uint32_t, Effort> effort_;         // By LID; others: kMend.
  bool circle_ = false;
  std::vector<uint32_t> moved_;  // [channel] LIDs that were given to it.
  // Of one LID.
  uint32_t lid_ = 0;
  LidPlace place_;
  std::vector<uint8_t> entry_;  // [switch]
  std::vector<uint32_t> hops_;  // [switch] Of its way, where it arrives.
  std::vector<State> state_;    // [switch]
  std::vector<uint32_t> broken_;
  std::vector<std::vector<uint32_t>> children_;  // [switch] Broken ones whose entry leads to it.
  std::vector<uint8_t> is_tried_;                // [switch]
  std::vector<uint32_t> tried_;                  // May take another entry.
  std::priority_queue<Choice, std::vector<Choice>, std::greater<>> best_;
  std::vector<std::pair<uint32_t, uint32_t>> added_;
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> detours_;  // Hops, channel, the next one.
  std::vector<uint32_t> way_;
};

}  // namespace

absl::StatusOr<std::vector<BlockResult>> MendByChannels(
    const ChannelRepairInput& input, const std::vector<const BlockTask*>& tasks) {
  auto results = ChannelRepair(input, tasks).Run();
  if (results.ok() || input.trees == nullptr) return results;
  ChannelRepairInput without_trees = input;
  without_trees.trees = nullptr;
  return ChannelRepair(without_trees, tasks).Run();
}

}  // namespace fabricd::routing
