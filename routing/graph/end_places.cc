// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/end_places.h"

#include <algorithm>
#include <limits>

#include "routing/graph/positions.h"
#include "routing/plan/no_index.h"

namespace fabricd::routing {
namespace {

// [end] New indices of those for which wanted(end); empty: not all are remembered.
template <typename Wanted>
std::vector<uint32_t> Remembered(const SwitchGraph& graph, const TreeLayout& layout,
                                 Wanted&& wanted) {
  std::vector<uint32_t> index(graph.ends.size(), kNone);
  for (size_t e = 0; e < graph.ends.size(); ++e) {
    const EndPort& end = graph.ends[e];
    if (!wanted(end)) continue;
    const EndPlace key{graph.node[end.at], end.port, 0};
    const auto place = std::lower_bound(layout.ends.begin(), layout.ends.end(), key);
    if (place == layout.ends.end() || place->at != key.at || place->port != key.port) return {};
    index[e] = place->index;
  }
  return index;
}

std::vector<uint32_t> ByPosition(const SwitchGraph& graph, const Levels& levels) {
  const std::vector<uint32_t> positions = FindPositions(graph, levels);
  const auto holes =
      static_cast<size_t>(std::count(positions.begin(), positions.end(), routing::kHole));
  std::vector<uint32_t> index(graph.ends.size(), kNone);
  if (4 * holes > positions.size()) return index;
  for (uint32_t p = 0; p < positions.size(); ++p)
    if (positions[p] != routing::kHole) index[positions[p]] = p;
  return index;
}

}  // namespace

void NumberByPlace(const SwitchGraph& graph, const Levels& levels, const TreeLayout* remembered,
                   std::vector<Destination>& destinations) {
  const auto is_host = [](const EndPort& end) { return end.IsHost(); };
  const auto is_other = [](const EndPort& end) { return !end.IsHost(); };
  std::vector<uint32_t> hosts, others;
  if (remembered) {
    hosts = Remembered(graph, *remembered, is_host);
    others = Remembered(graph, *remembered, is_other);
  }
  if (hosts.empty()) hosts = ByPosition(graph, levels);
  std::vector<uint32_t> of_lid(size_t{0x10000}, kNone);
  for (size_t e = 0; e < graph.ends.size(); ++e) {
    const std::vector<uint32_t>& index = graph.ends[e].IsHost() ? hosts : others;
    if (!index.empty()) of_lid[graph.ends[e].base_lid] = index[e];
  }
  for (Destination& to : destinations)
    if (of_lid[to.base_lid] != kNone) to.index = of_lid[to.base_lid];
}

std::vector<EndPlace> PlacesOf(const SwitchGraph& graph,
                               const std::vector<Destination>& destinations) {
  std::vector<EndPlace> places;
  places.reserve(destinations.size());
  for (const Destination& to : destinations)
    places.push_back({graph.node[to.at], to.port, to.index});
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace fabricd::routing
