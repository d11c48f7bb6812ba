// SPDX-License-Identifier: Apache-2.0
// LinkChannels: the channels of a LinkMap as a ChannelGraph, for searches among the entries of
// tables that are in use. All channels that there are, also those that no new entry may use.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/graph/channel_order.h"
#include "routing/plan/link_map.h"
#include "routing/transition/channel_dependency_graph.h"

namespace fabricd::routing {

struct LinkChannels {
  explicit LinkChannels(const LinkMap& links);
  // LinkMap::kNone: no cable to a switch.
  uint32_t Of(uint32_t s, uint8_t out_port) const { return by_port[size_t{s} * kPorts + out_port]; }

  static constexpr size_t kPorts = 256;
  ChannelGraph graph;
  std::vector<uint8_t> port;      // [channel] By which it leaves its tail,
  std::vector<uint8_t> far_port;  // and arrives at its head.
  std::vector<uint32_t> by_port;  // [switch * kPorts + port]
};

// The same channel on VL 0 as a vertex of the ChannelDependencyGraph.
inline size_t VertexOf(const ChannelDependencyGraph& graph, const LinkChannels& channels,
                       uint32_t channel) {
  return graph.ChannelOf(0, channels.graph.head[channel], channels.far_port[channel]);
}
// A place for each channel ([channel]) in the order of ChannelDependencyGraph::Sorted().
std::vector<uint32_t> PlacesBy(const std::vector<size_t>& sorted,
                               const ChannelDependencyGraph& graph, const LinkChannels& channels);

}  // namespace fabricd::routing
