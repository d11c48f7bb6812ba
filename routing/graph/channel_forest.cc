// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/channel_forest.h"

#include <algorithm>

namespace fabricd::routing {
namespace {

constexpr uint32_t kMostRoots = 8;  // Tried where the first forest does not join all.

bool IsClosed(std::span<const uint8_t> closed, uint32_t channel) {
  return !closed.empty() && closed[channel];
}

// The switches that are connected with each other, ascending.
std::vector<std::vector<uint32_t>> ComponentsOf(const ChannelGraph& channels,
                                                std::span<const uint8_t> closed) {
  std::vector<std::vector<uint32_t>> components;
  const auto size = static_cast<uint32_t>(channels.begin.size() - 1);
  std::vector<uint8_t> seen(size, 0);
  for (uint32_t first = 0; first < size; ++first) {
    if (seen[first]) continue;
    seen[first] = 1;
    std::vector<uint32_t> component{first};
    for (size_t i = 0; i < component.size(); ++i)
      for (uint32_t c = channels.begin[component[i]]; c < channels.begin[component[i] + 1]; ++c)
        if (!IsClosed(closed, c) && !std::exchange(seen[channels.head[c]], uint8_t{1}))
          component.push_back(channels.head[c]);
    std::sort(component.begin(), component.end());
    components.push_back(std::move(component));
  }
  return components;
}

}  // namespace

ChannelForest::ChannelForest(const ChannelGraph& channels, ChannelOrder order)
    : channels_(&channels), order_(std::move(order)) {
  const auto size = static_cast<uint32_t>(channels.begin.size() - 1);
  links_.resize(size);
  for (uint32_t s = 0; s < size; ++s) part_.push_back(s);
}

bool ChannelForest::Try(uint32_t channel) {
  const uint32_t tail = channels_->tail[channel], head = channels_->head[channel];
  const uint32_t reverse = channels_->reverse[channel];
  if (PartOf(tail) == PartOf(head)) return false;
  Turns added;
  if (!TurnsFit(channel, added) || !TurnsFit(reverse, added)) {
    for (const auto& [from, out] : added) order_.Remove(from, out);
    return false;
  }
  links_[tail].push_back(channel);
  links_[head].push_back(reverse);
  ++links_count_;
  part_[PartOf(tail)] = PartOf(head);
  return true;
}

void ChannelForest::Grow(uint32_t root, std::span<const uint8_t> closed) {
  std::vector<uint8_t> reached(links_.size(), 0);
  std::vector<uint32_t> queue{root};
  reached[root] = 1;
  for (size_t i = 0; i < queue.size(); ++i)
    for (uint32_t c = channels_->begin[queue[i]]; c < channels_->begin[queue[i] + 1]; ++c) {
      const uint32_t head = channels_->head[c];
      if (reached[head] || IsClosed(closed, c)) continue;
      if (PartOf(head) != PartOf(root) && !Try(c)) continue;
      reached[head] = 1;
      queue.push_back(head);
    }
}

void ChannelForest::JoinParts(std::span<const uint8_t> closed) {
  for (bool more = true; more;) {
    more = false;
    for (uint32_t c = 0; c < channels_->size(); ++c)
      if (!IsClosed(closed, c)) more |= Try(c);
  }
}

uint32_t ChannelForest::PartOf(uint32_t s) {
  while (part_[s] != s) s = part_[s] = part_[part_[s]];
  return s;
}

// At the tail of `channel`: from all links there to it, and from it to all of them.
bool ChannelForest::TurnsFit(uint32_t channel, Turns& added) {
  const auto fits = [&](uint32_t from, uint32_t to) {
    const uint8_t out = channels_->OutOf(to);
    if (order_.Has(from, out)) return true;
    if (!order_.AddForNow(from, out)) return false;
    added.emplace_back(from, out);
    return true;
  };
  const std::vector<uint32_t>& links = links_[channels_->tail[channel]];
  return std::all_of(links.begin(), links.end(), [&](uint32_t other) {
    return fits(channels_->reverse[other], channel) && fits(channels_->reverse[channel], other);
  });
}

FoundForest FindForest(const ForestInput& input) {
  const std::vector<std::vector<uint32_t>> components = ComponentsOf(input.channels, input.closed);
  const size_t wanted = input.channels.begin.size() - 1 - components.size();
  ChannelForest best(input.channels, input.order);
  for (uint32_t channel : input.kept)
    if (!IsClosed(input.closed, channel)) best.Try(channel);
  for (const auto& component : components) best.Grow(component.front(), input.closed);
  best.JoinParts(input.closed);
  // The first root is that by which ways grown within the lanes have a tree whose waits all fit
  // (escape_paths.h).
  for (uint32_t turn = 0; turn <= kMostRoots && best.links() < wanted; ++turn) {
    ChannelForest other(input.channels, input.order);
    for (const auto& component : components)
      other.Grow(component[turn == 0 ? input.lane * component.size() / input.lanes
                                     : (turn - 1) * component.size() / kMostRoots],
                 input.closed);
    other.JoinParts(input.closed);
    if (other.links() > best.links()) best = std::move(other);
  }
  const bool joins_all = best.links() == wanted;
  return {std::move(best), joins_all};
}

}  // namespace fabricd::routing
