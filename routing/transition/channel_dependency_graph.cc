// SPDX-License-Identifier: Apache-2.0
#include "routing/transition/channel_dependency_graph.h"

#include <utility>

namespace fabricd::routing {

std::vector<BlockChange> ChangesByBlock(const PushView& view) {
  const std::vector<PushView::Changed>& changed = view.changed();
  std::vector<BlockChange> changes;
  for (size_t begin = 0, end; begin < changed.size(); begin = end) {
    BlockChange& change = changes.emplace_back();
    change.block = changed[begin].block;
    for (end = begin; end < changed.size() && changed[end].block == change.block; ++end)
      change.lids |= changed[end].lids;
    change.begin = changed.data() + begin;
    change.end = changed.data() + end;
  }
  return changes;
}

size_t BlocksOf(const PushView& view) {
  const size_t blocks = view.links().lid_end() / Row::kBlock + 1;
  if (view.changed().empty()) return blocks;
  return std::max<size_t>(blocks, view.changed().back().block + size_t{1});
}

ChannelDependencyGraph::ChannelDependencyGraph(const PushInput& input, const PushView& view)
    : input_(&input), view_(&view), links_(&view.links()) {
  for (uint32_t s = 0; s < links_->size(); ++s) ports_ = std::max(ports_, links_->ports(s));
  words_ = (ports_ + 63) / 64;
  lanes_ = input.desired.lanes;
  if (input.before) lanes_ = std::max(lanes_, input.before->lanes);
  bits_.assign(size_t{lanes_} * links_->size() * ports_ * words_, 0);
  changed_.assign(links_->size(), 0);
  cleared_.assign(links_->size(), 0);
  on_.resize(links_->size());
}

// Calls add(graph, change) for blocks in which something changes.
template <typename AddBlock>
ChannelDependencyGraph ChannelDependencyGraph::Sum(const PushInput& input, const PushView& view,
                                                   const std::vector<BlockChange>& changes,
                                                   Parallel& parallel, AddBlock&& add) {
  const size_t parts = 2 * static_cast<size_t>(std::max(parallel.concurrency(), 1));
  std::vector<ChannelDependencyGraph> found(parts, ChannelDependencyGraph(input, view));
  const size_t blocks = BlocksOf(view);
  std::vector<const BlockChange*> change_of(blocks, nullptr);
  for (const BlockChange& change : changes) change_of[change.block] = &change;
  parallel.For(parts, [&](size_t part) {
    for (size_t block = part; block < blocks; block += parts)
      if (change_of[block])
        add(found[part], *change_of[block]);
      else
        found[part].Add(static_cast<uint32_t>(block));
  });
  for (size_t part = 1; part < parts; ++part) found[0].Merge(found[part]);
  return std::move(found[0]);
}

ChannelDependencyGraph ChannelDependencyGraph::Of(const PushInput& input, const PushView& view,
                                                  const std::vector<BlockChange>& changes,
                                                  Parallel& parallel) {
  return Sum(input, view, changes, parallel,
             [](ChannelDependencyGraph& graph, const BlockChange& change) { graph.Add(change); });
}

ChannelDependencyGraph ChannelDependencyGraph::OfAnyTime(const PushInput& input,
                                                         const PushView& view, Parallel& parallel) {
  return Sum(input, view, ChangesByBlock(view), parallel,
             [](ChannelDependencyGraph& graph, const BlockChange& change) {
               graph.Add(change, ~change.lids, [](uint32_t) { return Phase::kNew; });
               graph.AddMoving(change, change.lids);
             });
}

void ChannelDependencyGraph::AddTurn(NodeIndex node, PortNum in, PortNum out) {
  const uint32_t s = links_->number(node);
  const auto leads_on = [&](PortNum port) {
    return port != PortNum(0) && links_->far(s, port.value()).IsSwitch();
  };
  if (s == LinkMap::kNone || !leads_on(in) || !leads_on(out)) return;
  for (uint32_t lane = 0; lane < lanes_; ++lane)
    bits_[ChannelOf(lane, s, in.value()) * words_ + out.value() / 64] |= Bit(out.value() % 64);
}

void ChannelDependencyGraph::Add(uint32_t block) {
  for (uint32_t i = 0; i < Row::kBlock; ++i) AddLid(block, i, Phase::kNew);
}

void ChannelDependencyGraph::Merge(const ChannelDependencyGraph& other) {
  for (size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
}

std::optional<std::vector<size_t>> ChannelDependencyGraph::Sorted() const {
  const size_t channels = bits_.size() / words_;
  std::vector<uint32_t> unsorted(channels, 0);  // Channels that depend on this one.
  for (size_t c = 0; c < channels; ++c) ForEachNext(c, [&](size_t next) { ++unsorted[next]; });
  std::vector<size_t> free;
  for (size_t c = 0; c < channels; ++c)
    if (unsorted[c] == 0) free.push_back(c);
  for (size_t done = 0; done < free.size(); ++done)
    ForEachNext(free[done], [&](size_t next) {
      if (--unsorted[next] == 0) free.push_back(next);
    });
  if (free.size() < channels) return std::nullopt;
  return free;
}

bool ChannelDependencyGraph::IsOld(uint32_t s, uint32_t block, uint32_t i, uint8_t out) const {
  bool is_old = false;
  view_->ForEachOld(s, block, i, [&](uint8_t old) { is_old |= old == out; });
  return is_old;
}

// Whether the plan's path from one switch passes another.
bool ChannelDependencyGraph::IsAhead(uint32_t s, uint32_t from, uint32_t block, uint32_t i) const {
  for (uint32_t hops = 0; from != s && hops < links_->size(); ++hops) {
    const FarEnd far = links_->far(from, view_->Desired(from, block)[i]);
    if (!far.IsSwitch()) return false;
    from = far.head;
  }
  return from == s;
}

void ChannelDependencyGraph::AddLid(uint32_t block, uint32_t i, Phase phase) {
  FindLanes(block, i, phase);
  const auto changes = [&](uint32_t s) {
    return phase == Phase::kMixed && (changed_[s] & Bit(i)) != 0;
  };
  // Written, and not what it was before.
  const auto is_new = [&](uint32_t s, uint8_t out) {
    return changes(s) && ((cleared_[s] & Bit(i)) != 0 || !IsOld(s, block, i, out));
  };
  for (uint32_t s = 0; s < links_->size(); ++s) {
    if (!links_->IsAlive(s)) continue;
    ForEachValue(s, block, i, phase, [&](uint8_t out) {
      const FarEnd far = links_->far(s, out);
      if (!far.IsSwitch()) return;
      // A new entry is followed by no old one: it was written after them.
      const Phase then = is_new(s, out) ? Phase::kNew : phase;
      ForEachValue(far.head, block, i, then, [&](uint8_t next) {
        if (!links_->far(far.head, next).IsSwitch()) return;
        // Nor is an old entry by a new one if it had to be written before that.
        if (then == Phase::kMixed && changes(s) && is_new(far.head, next) &&
            IsAhead(s, far.head, block, i))
          return;
        ForEachBit(on_[s], [&](uint32_t lane) {
          const size_t channel = ChannelOf(lane, far.head, static_cast<uint8_t>(far.port));
          bits_[channel * words_ + next / 64] |= Bit(next % 64);
        });
      });
    });
  }
}

// On which VLs packets to this LID may pass each switch.
void ChannelDependencyGraph::FindLanes(uint32_t block, uint32_t i, Phase phase) {
  if (lanes_ == 1) return std::fill(on_.begin(), on_.end(), 1);
  const Lid lid(static_cast<uint16_t>(block * Row::kBlock + i));
  std::vector<uint32_t> open;
  for (uint32_t s = 0; s < links_->size(); ++s) {
    on_[s] = uint64_t{1} << input_->desired.ServiceLevel(links_->node(s), lid) % lanes_;
    if (input_->before)
      on_[s] |= uint64_t{1} << input_->before->ServiceLevel(links_->node(s), lid) % lanes_;
    open.push_back(s);
  }
  while (!open.empty()) {
    const uint32_t s = open.back();
    open.pop_back();
    ForEachValue(s, block, i, phase, [&](uint8_t out) {
      const FarEnd far = links_->far(s, out);
      if (!far.IsSwitch() || (on_[s] & ~on_[far.head]) == 0) return;
      on_[far.head] |= on_[s];
      open.push_back(far.head);
    });
  }
}

}  // namespace fabricd::routing
