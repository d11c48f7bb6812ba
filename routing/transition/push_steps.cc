// SPDX-License-Identifier: Apache-2.0
#include "routing/transition/push_steps.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "routing/plan/no_index.h"
#include "routing/transition/link_channels.h"

namespace fabricd::routing {
namespace {

constexpr uint64_t Bit(uint32_t i) { return uint64_t{1} << i; }

class StepSearch {
 public:
  StepSearch(const PushInput& input, const PushView& view, const std::vector<BlockChange>& groups,
             const ChannelDependencyGraph& now, uint64_t most, uint64_t& work)
      : links_(input.links),
        view_(view),
        groups_(groups),
        channels_(input.links),
        graph_(channels_.graph),
        order_(graph_, PlacesBy(*now.Sorted(), now, channels_)),
        most_(most),
        work_(work) {
    uint32_t counts = 0;
    for (uint32_t c = 0; c < graph_.size(); ++c) {
      first_count_.push_back(counts);
      counts += graph_.out_count(graph_.head[c]);
    }
    count_.assign(counts, 0);
  }

  PushSteps Run() {
    CountAll();
    CollectOpen();
    PushSteps found;
    while (!open_.empty()) {
      std::vector<Entry> taken = TakeWhatMay();
      if (taken.empty() || work_ > most_) {
        found.steps.clear();
        found.stuck = Writes(open_);
        return found;
      }
      for (const Entry& entry : taken) Leave(entry);
      found.steps.push_back(Writes(taken));
    }
    return found;
  }

 private:
  enum class State : uint8_t { kStays, kOld, kMoving, kNew };
  struct OpenLid {
    size_t group;
    uint32_t block, bit;
    std::vector<State> state;  // [switch]
  };
  struct Entry {
    uint32_t hops, lid, at;  // Of its new path; index of lids_; switch.
  };
  using Channels = std::vector<uint32_t>;

  // ---- what packets wait for

  uint32_t& CountOf(uint32_t channel, uint32_t next) {
    return count_[first_count_[channel] + graph_.OutOf(next)];
  }
  void Count(uint32_t channel, uint32_t next) {
    if (CountOf(channel, next)++ == 0) order_.AddForNow(channel, graph_.OutOf(next));
  }
  void Discount(uint32_t channel, uint32_t next) {
    if (--CountOf(channel, next) == 0) order_.Remove(channel, graph_.OutOf(next));
  }

  // The channels that the entry may lead packets to, each once.
  void AddChannel(uint32_t s, uint8_t out, Channels& to) const {
    const uint32_t channel = channels_.Of(s, out);
    if (channel != kNone && std::find(to.begin(), to.end(), channel) == to.end())
      to.push_back(channel);
  }
  uint8_t New(const OpenLid& lid, uint32_t s) const { return view_.Desired(s, lid.block)[lid.bit]; }
  void AddOld(const BlockChange& group, uint32_t s, uint32_t i, Channels& to) const {
    if (IsCleared(group, s, i)) return;
    view_.ForEachOld(s, group.block, i, [&](uint8_t out) { AddChannel(s, out, to); });
  }
  bool IsCleared(const BlockChange& group, uint32_t s, uint32_t i) const {
    if (!group.dead || !(group.cleared & Bit(i))) return false;
    const auto* one = std::lower_bound(
        group.begin, group.end, s,
        [](const PushView::Changed& changed, uint32_t at) { return changed.at < at; });
    return one != group.end && one->at == s && (group.dead[one - group.begin] & Bit(i));
  }
  void ChannelsOf(const OpenLid& lid, uint32_t s, Channels& to) const {
    to.clear();
    const State state = lid.state[s];
    if (state == State::kOld || state == State::kMoving) AddOld(groups_[lid.group], s, lid.bit, to);
    if (state != State::kOld) AddChannel(s, New(lid, s), to);
  }

  // Of all LIDs as they are.
  void CountAll() {
    std::vector<const BlockChange*> group_of(BlocksOf(view_), nullptr);
    for (const BlockChange& group : groups_) group_of[group.block] = &group;
    std::vector<uint64_t> changed(links_.size(), 0);
    for (uint32_t block = 0; block < group_of.size(); ++block) {
      const BlockChange* group = group_of[block];
      for (auto* one = group ? group->begin : nullptr; group && one != group->end; ++one)
        changed[one->at] = one->lids;
      for (uint32_t i = 0; i < Row::kBlock; ++i) CountLid(group, block, i, changed);
      for (auto* one = group ? group->begin : nullptr; group && one != group->end; ++one)
        changed[one->at] = 0;
    }
  }
  void CountLid(const BlockChange* group, uint32_t block, uint32_t i,
                const std::vector<uint64_t>& changed) {
    const auto channels_of = [&](uint32_t s, Channels& to) {
      to.clear();
      const bool changes = changed[s] & Bit(i);
      if (!changes || (group->fresh & Bit(i)))
        AddChannel(s, view_.Desired(s, block)[i], to);
      else if (!(group->withdrawn & Bit(i)))
        AddOld(*group, s, i, to);
    };
    work_ += links_.size();
    for (uint32_t s = 0; s < links_.size(); ++s) {
      if (!links_.IsAlive(s)) continue;
      channels_of(s, here_);
      for (uint32_t channel : here_) {
        channels_of(graph_.head[channel], there_);
        for (uint32_t next : there_) Count(channel, next);
      }
    }
  }

  // ---- what is to be written

  void CollectOpen() {
    for (size_t g = 0; g < groups_.size(); ++g) {
      const BlockChange& group = groups_[g];
      ForEachBit(group.lids & ~group.fresh & ~group.withdrawn, [&](uint32_t i) {
        OpenLid& lid = lids_.emplace_back();
        lid = {g, group.block, i, std::vector<State>(links_.size(), State::kStays)};
        const auto index = static_cast<uint32_t>(lids_.size() - 1);
        for (const auto* one = group.begin; one != group.end; ++one) {
          if (!(one->lids & Bit(i))) continue;
          lid.state[one->at] = State::kOld;
          open_.push_back({HopsOf(lid, one->at), index, one->at});
        }
      });
    }
    std::sort(open_.begin(), open_.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.hops, a.lid, a.at) < std::tie(b.hops, b.lid, b.at);
    });
  }
  uint32_t HopsOf(const OpenLid& lid, uint32_t s) const {
    uint32_t hops = 0;
    for (; hops <= links_.size(); ++hops) {
      const FarEnd far = links_.far(s, New(lid, s));
      if (!far.IsSwitch()) break;
      s = far.head;
    }
    return hops;
  }

  // The nearest to their owners first: what is being written as well counts as written, for the
  // waves of a step go the same way.
  std::vector<Entry> TakeWhatMay() {
    std::vector<Entry> taken, left;
    for (const Entry& entry : open_)
      (work_ <= most_ && IsNext(entry) && Take(entry) ? taken : left).push_back(entry);
    open_.swap(left);
    return taken;
  }
  bool IsNext(const Entry& entry) {
    const OpenLid& lid = lids_[entry.lid];
    FarEnd far = links_.far(entry.at, New(lid, entry.at));
    for (uint32_t hops = 0; far.IsSwitch() && hops <= links_.size(); ++hops) {
      ++work_;
      if (lid.state[far.head] == State::kOld) return false;
      far = links_.far(far.head, New(lid, far.head));
    }
    return true;
  }
  bool Take(const Entry& entry) {
    OpenLid& lid = lids_[entry.lid];
    const uint32_t s = entry.at, to = channels_.Of(s, New(lid, s));
    ChannelsOf(lid, s, here_);
    const bool known = to == kNone || std::find(here_.begin(), here_.end(), to) != here_.end();
    if (!known && !AddAll(lid, s, to)) return false;
    lid.state[s] = State::kMoving;
    return true;
  }
  bool AddAll(const OpenLid& lid, uint32_t s, uint32_t to) {
    added_.clear();
    ChannelsOf(lid, graph_.head[to], there_);
    for (uint32_t next : there_) added_.emplace_back(to, next);
    ForEachComing(lid, s, [&](uint32_t coming) { added_.emplace_back(coming, to); });
    for (size_t i = 0; i < added_.size(); ++i) {
      const auto [before, next] = added_[i];
      ++work_;
      if (CountOf(before, next) > 0 || order_.AddForNow(before, graph_.OutOf(next))) continue;
      for (size_t j = 0; j < i; ++j)
        if (CountOf(added_[j].first, added_[j].second) == 0)
          order_.Remove(added_[j].first, graph_.OutOf(added_[j].second));
      return false;
    }
    for (const auto& [before, next] : added_) Count(before, next);
    return true;
  }
  template <typename Visit>
  void ForEachComing(const OpenLid& lid, uint32_t s, Visit&& visit) {
    for (uint32_t leaving = graph_.begin[s]; leaving < graph_.begin[s + 1]; ++leaving) {
      const uint32_t coming = graph_.reverse[leaving];
      if (coming == kNone) continue;
      ++work_;
      ChannelsOf(lid, graph_.tail[coming], others_);
      if (std::find(others_.begin(), others_.end(), coming) != others_.end()) visit(coming);
    }
  }
  // The step is done: nothing goes by the old entry.
  void Leave(const Entry& entry) {
    OpenLid& lid = lids_[entry.lid];
    const uint32_t s = entry.at, to = channels_.Of(s, New(lid, s));
    ChannelsOf(lid, s, here_);
    lid.state[s] = State::kNew;
    for (uint32_t old : here_) {
      if (old == to) continue;
      ChannelsOf(lid, graph_.head[old], there_);
      for (uint32_t next : there_) Discount(old, next);
      ForEachComing(lid, s, [&](uint32_t coming) { Discount(coming, old); });
    }
  }
  std::vector<PushView::Changed> Writes(const std::vector<Entry>& entries) const {
    std::vector<PushView::Changed> writes;
    for (const Entry& entry : entries)
      writes.push_back(
          {static_cast<uint16_t>(lids_[entry.lid].block), entry.at, Bit(lids_[entry.lid].bit)});
    std::sort(writes.begin(), writes.end(),
              [](const PushView::Changed& a, const PushView::Changed& b) {
                return std::tie(a.block, a.at, a.lids) < std::tie(b.block, b.at, b.lids);
              });
    size_t kept = 0;
    for (size_t i = 1; i < writes.size(); ++i)
      if (writes[i].block == writes[kept].block && writes[i].at == writes[kept].at)
        writes[kept].lids |= writes[i].lids;
      else
        writes[++kept] = writes[i];
    writes.resize(kept + 1);
    return writes;
  }

  const LinkMap& links_;
  const PushView& view_;
  const std::vector<BlockChange>& groups_;
  const LinkChannels channels_;
  const ChannelGraph& graph_;
  ChannelOrder order_;
  std::vector<uint32_t> first_count_;  // [channel] Into count_, by OutOf() of the next channel.
  std::vector<uint32_t> count_;        // Entries that make packets wait so.
  const uint64_t most_;
  uint64_t& work_;
  std::vector<OpenLid> lids_;
  std::vector<Entry> open_;  // By hops.
  std::vector<std::pair<uint32_t, uint32_t>> added_;
  Channels here_, there_, others_;
};

}  // namespace

PushSteps FindPushSteps(const PushInput& input, const PushView& view,
                        const std::vector<BlockChange>& groups, const ChannelDependencyGraph& now,
                        uint64_t most, uint64_t& work) {
  return StepSearch(input, view, groups, now, most, work).Run();
}

}  // namespace fabricd::routing
