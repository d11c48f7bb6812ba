// SPDX-License-Identifier: Apache-2.0
#include "routing/transition/link_channels.h"

#include <algorithm>

namespace fabricd::routing {

LinkChannels::LinkChannels(const LinkMap& links)
    : by_port(size_t{links.size()} * kPorts, LinkMap::kNone) {
  for (uint32_t s = 0; s < links.size(); ++s) {
    graph.begin.push_back(graph.size());
    for (uint32_t out = 1; links.IsAlive(s) && out < links.ports(s); ++out) {
      const FarEnd far = links.Ports(s)[out];
      if (!far.IsSwitch()) continue;
      by_port[size_t{s} * kPorts + out] = graph.size();
      graph.tail.push_back(s), graph.head.push_back(far.head);
      port.push_back(static_cast<uint8_t>(out));
      far_port.push_back(static_cast<uint8_t>(far.port));
    }
  }
  graph.begin.push_back(graph.size());
  for (uint32_t c = 0; c < graph.size(); ++c)
    graph.reverse.push_back(Of(graph.head[c], far_port[c]));
}

std::vector<uint32_t> PlacesBy(const std::vector<size_t>& sorted,
                               const ChannelDependencyGraph& graph, const LinkChannels& channels) {
  const uint32_t size = channels.graph.size();
  std::vector<uint32_t> place_of(sorted.size()), by_place(size), places(size);
  for (size_t i = 0; i < sorted.size(); ++i) place_of[sorted[i]] = static_cast<uint32_t>(i);
  for (uint32_t c = 0; c < size; ++c) by_place[c] = c;
  std::sort(by_place.begin(), by_place.end(), [&](uint32_t a, uint32_t b) {
    return place_of[VertexOf(graph, channels, a)] < place_of[VertexOf(graph, channels, b)];
  });
  for (uint32_t i = 0; i < size; ++i) places[by_place[i]] = i;
  return places;
}

}  // namespace fabricd::routing
