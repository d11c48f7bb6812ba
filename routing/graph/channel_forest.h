// SPDX-License-Identifier: Apache-2.0
// ChannelForest: links in which a packet may turn from any link to any other and back, beside the
// dependencies that a ChannelOrder holds, and nothing waits in a circle. Multicast trees that go
// with routes without an order of the switches are parts of one such forest. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "routing/graph/channel_order.h"

namespace fabricd::routing {

class ChannelForest {
 public:
  // `channels` must outlive this, and `order` be of them.
  ChannelForest(const ChannelGraph& channels, ChannelOrder order);

  // Adds the link of this channel if it joins two parts and all its turns fit.
  bool Try(uint32_t channel);
  // From this switch outwards, as far as it goes, by links that are not closed ([channel]; empty:
  // none is).
  void Grow(uint32_t root, std::span<const uint8_t> closed);
  // By whatever links still fit.
  void JoinParts(std::span<const uint8_t> closed);

  uint32_t links() const { return links_count_; }
  // Channels of the forest that leave a switch.
  const std::vector<uint32_t>& LinksOf(uint32_t s) const { return links_[s]; }
  // The dependencies that were given, with all turns of the forest.
  ChannelOrder TakeOrder() && { return std::move(order_); }

 private:
  using Turns = std::vector<std::pair<uint32_t, uint8_t>>;

  uint32_t PartOf(uint32_t s);
  bool TurnsFit(uint32_t channel, Turns& added);

  const ChannelGraph* channels_;
  ChannelOrder order_;
  std::vector<std::vector<uint32_t>> links_;  // [switch]
  std::vector<uint32_t> part_;                // [switch]
  uint32_t links_count_ = 0;
};

struct ForestInput {
  const ChannelGraph& channels;
  const ChannelOrder& order;
  std::span<const uint32_t> kept = {};   // Channels that are tried first, so that they stay.
  std::span<const uint8_t> closed = {};  // [channel] Links not to be used; empty: none is.
  uint32_t lane = 0, lanes = 1;          // Another lane tries another root first.
};
struct FoundForest {
  ChannelForest forest;
  bool joins_all;  // Whatever links that are not closed connect.
};
// The largest of several. `kept` may stand in the way of one that joins all; then it is given up.
FoundForest FindForest(const ForestInput& input);

}  // namespace fabricd::routing
