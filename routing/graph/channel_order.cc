// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/channel_order.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace fabricd::routing {
namespace {

// What a channel that a search finds costs, beside its neighbours: it is marked and put in order.
constexpr uint64_t kStepsOfSort = 8;

}  // namespace

ChannelGraph::ChannelGraph(const SwitchGraph& graph) {
  const size_t count = graph.cables.size();
  tail.resize(count), head.resize(count), reverse.resize(count), neighbor.resize(count);
  begin.reserve(graph.size() + size_t{1});
  std::vector<uint32_t> by_port(size_t{graph.size()} * 256);
  uint32_t next = 0;
  for (uint32_t s = 0; s < graph.size(); ++s) {
    begin.push_back(next);
    for (uint32_t n = graph.neighbor_begin[s]; n < graph.neighbor_begin[s + 1]; ++n)
      for (uint32_t i = 0; i < graph.neighbors[n].cable_count; ++i, ++next) {
        tail[next] = s, head[next] = graph.neighbors[n].head, neighbor[next] = n;
        by_port[size_t{s} * 256 + graph.cables[next].port] = next;
      }
  }
  begin.push_back(next);
  for (uint32_t c = 0; c < count; ++c)
    reverse[c] = by_port[size_t{head[c]} * 256 + graph.cables[c].head_port];
}

std::vector<uint32_t> UpDownPlaces(const ChannelGraph& channels, const Order& order) {
  const auto key = [&](uint32_t c) {
    const uint32_t tail = order[channels.tail[c]];
    const bool up = order[channels.head[c]] > tail;
    return std::make_tuple(!up, up ? tail : ~tail, c);
  };
  std::vector<uint32_t> sorted(channels.size()), places(channels.size());
  std::iota(sorted.begin(), sorted.end(), 0u);
  std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  for (uint32_t i = 0; i < sorted.size(); ++i) places[sorted[i]] = i;
  return places;
}

ChannelOrder::ChannelOrder(const ChannelGraph& channels, std::vector<uint32_t> places)
    : channels_(&channels), place_(std::move(places)), seen_(channels.size(), 0) {
  uint32_t most = 0;
  for (size_t s = 0; s + 1 < channels.begin.size(); ++s)
    most = std::max(most, channels.out_count(static_cast<uint32_t>(s)));
  words_ = (most + 63) / 64;
  exists_.assign(channels.size() * words_, 0);
  refused_.assign(channels.size() * words_, 0);
}

bool ChannelOrder::Insert(uint32_t channel, uint8_t out, bool remember) {
  const uint32_t next = channels_->Of(channels_->head[channel], out);
  if (place_[channel] >= place_[next]) {
    ++searches_;
    const bool closes = !FindAhead(next, place_[channel], channel);
    if (!closes) FindBehind(channel, place_[next]);
    steps_ += 1 + kStepsOfSort * (ahead_.size() + behind_.size());
    for (uint32_t c : ahead_) seen_[c] = 0;
    for (uint32_t c : behind_) seen_[c] = 0;
    if (!closes) Rearrange();
    ahead_.clear(), behind_.clear();
    if (closes) {
      if (remember) refused_[Word(channel, out)] |= Bit(out);
      return false;
    }
    moved_ = true;
  }
  exists_[Word(channel, out)] |= Bit(out);
  return true;
}

// All that wait behind `from` up to a place; false: `forbidden` is among them.
bool ChannelOrder::FindAhead(uint32_t from, uint32_t last_place, uint32_t forbidden) {
  if (from == forbidden) return false;
  open_.assign(1, from);
  seen_[from] = 1;
  ahead_.push_back(from);
  while (!open_.empty()) {
    const uint32_t c = open_.back();
    open_.pop_back();
    for (size_t word = 0; word < words_; ++word)
      for (uint64_t left = exists_[c * words_ + word]; left; left &= left - 1) {
        const auto out = static_cast<uint8_t>(word * 64 + __builtin_ctzll(left));
        const uint32_t next = channels_->Of(channels_->head[c], out);
        if (next == forbidden) return false;
        if (seen_[next] || place_[next] > last_place) continue;
        seen_[next] = 1;
        ahead_.push_back(next);
        open_.push_back(next);
      }
  }
  return true;
}

void ChannelOrder::FindBehind(uint32_t from, uint32_t first_place) {
  open_.assign(1, from);
  seen_[from] = 1;
  behind_.push_back(from);
  while (!open_.empty()) {
    const uint32_t c = open_.back();
    open_.pop_back();
    const uint8_t out = channels_->OutOf(c);
    const uint32_t at = channels_->tail[c];
    steps_ += channels_->out_count(at);
    for (uint32_t leaving = channels_->begin[at]; leaving < channels_->begin[at + 1]; ++leaving) {
      const uint32_t before = channels_->reverse[leaving];
      if (seen_[before] || place_[before] < first_place || !Has(before, out)) continue;
      seen_[before] = 1;
      behind_.push_back(before);
      open_.push_back(before);
    }
  }
}

// The places of both sets together go to those behind first, each set in its old order.
void ChannelOrder::Rearrange() {
  const auto by_place = [&](uint32_t a, uint32_t b) { return place_[a] < place_[b]; };
  std::sort(ahead_.begin(), ahead_.end(), by_place);
  std::sort(behind_.begin(), behind_.end(), by_place);
  free_.clear();
  for (uint32_t c : behind_) free_.push_back(place_[c]);
  for (uint32_t c : ahead_) free_.push_back(place_[c]);
  std::sort(free_.begin(), free_.end());
  size_t next = 0;
  for (uint32_t c : behind_) place_[c] = free_[next++];
  for (uint32_t c : ahead_) place_[c] = free_[next++];
}

}  // namespace fabricd::routing
