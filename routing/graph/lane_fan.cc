// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/lane_fan.h"

#include <algorithm>

namespace fabricd::routing {
namespace {

template <typename Visit>
void ForEachHead(const SwitchGraph& graph, uint32_t s, Visit&& visit) {
  for (uint32_t n = graph.neighbor_begin[s]; n < graph.neighbor_begin[s + 1]; ++n)
    visit(n, graph.neighbors[n].head);
}

bool Has(const std::vector<uint8_t>& marks, uint32_t s) { return !marks.empty() && marks[s]; }

}  // namespace

bool Fan::Start(const SwitchGraph& graph, uint32_t destination,
                const std::vector<uint8_t>& blocked) {
  at = destination;
  distance.assign(graph.size(), kNone);
  order.clear(), first.clear(), candidates.clear();
  if (Has(blocked, at)) return false;
  order.push_back(at);
  distance[at] = 0;
  return true;
}

void Fan::MakeShortest(const SwitchGraph& graph, uint32_t destination,
                       const std::vector<uint8_t>& blocked) {
  if (!Start(graph, destination, blocked)) return;
  for (size_t next = 0; next < order.size(); ++next) {
    const uint32_t s = order[next];
    first.push_back(static_cast<uint32_t>(candidates.size()));
    ForEachHead(graph, s, [&](uint32_t n, uint32_t head) {
      if (distance[head] == kNone) {
        if (Has(blocked, head)) return;
        distance[head] = distance[s] + 1;
        order.push_back(head);
      } else if (distance[head] + 1 == distance[s]) {
        candidates.push_back(n);
      }
    });
  }
  first.push_back(static_cast<uint32_t>(candidates.size()));
}

void Fan::MakeUpDown(const SwitchGraph& graph, const Order& position,
                     const std::vector<uint32_t>& from_top, uint32_t destination,
                     const std::vector<uint8_t>& blocked) {
  if (!Start(graph, destination, blocked)) return;
  for (size_t next = 0; next < order.size(); ++next) {
    const uint32_t s = order[next];
    ForEachHead(graph, s, [&](uint32_t, uint32_t above) {
      if (position[above] < position[s] || distance[above] != kNone || Has(blocked, above)) return;
      distance[above] = distance[s] + 1;
      order.push_back(above);
    });
  }
  is_falling_.assign(graph.size(), 0);
  for (uint32_t s : order) is_falling_[s] = 1;
  for (uint32_t s : from_top) {
    if (distance[s] != kNone || Has(blocked, s)) continue;
    uint32_t least = kNone;
    ForEachHead(graph, s, [&](uint32_t, uint32_t head) {
      if (position[head] > position[s]) least = std::min(least, distance[head]);
    });
    if (least == kNone) continue;
    distance[s] = least + 1;
    order.push_back(s);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return distance[a] < distance[b]; });
  for (uint32_t s : order) {
    first.push_back(static_cast<uint32_t>(candidates.size()));
    ForEachHead(graph, s, [&](uint32_t n, uint32_t head) {
      const bool falls = position[head] < position[s];
      if (falls == (is_falling_[s] != 0) && (!falls || is_falling_[head]) &&
          distance[head] != kNone && distance[head] + 1 == distance[s])
        candidates.push_back(n);
    });
  }
  first.push_back(static_cast<uint32_t>(candidates.size()));
}

}  // namespace fabricd::routing
