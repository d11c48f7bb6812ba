// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/layered/lane_targets.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace fabricd::routing {
namespace {

// Every LID once: hosts' by round and order, then aggregation nodes', then switches'.
std::vector<Target> TargetsInOrder(const SwitchGraph& graph, const Levels& levels) {
  struct Place {
    uint32_t kind, offset, round;
    Target target;
  };
  std::vector<Place> places;
  std::vector<uint32_t> seen(graph.size(), 0);  // Hosts of each switch so far.
  std::vector<uint8_t> is_aggregation(0x10000, 0);
  for (const EndPort& end : graph.ends) is_aggregation[end.base_lid] = end.aggregation;
  for (const Destination& to : TopologicalOrder(graph, levels)) {
    const uint32_t kind = to.port == 0 ? 2 : is_aggregation[to.base_lid];
    const uint32_t round = kind == 0 ? seen[to.at]++ : 0;
    for (uint32_t offset = 0; offset < 1u << to.lmc; ++offset)
      places.push_back({kind,
                        offset,
                        round,
                        {to.at, static_cast<uint16_t>(to.base_lid + offset), to.port,
                         Target::kNoTwin, kind != 2}});
  }
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.kind, a.offset, a.round) < std::tie(b.kind, b.offset, b.round);
  });
  std::vector<Target> targets;
  targets.reserve(places.size());
  for (const Place& place : places) targets.push_back(place.target);
  return targets;
}

}  // namespace

TargetList MakeTargets(const SwitchGraph& graph, const Levels& levels) {
  TargetList list;
  list.targets = TargetsInOrder(graph, levels);
  uint32_t highest = 0;
  bool many = false;
  for (const EndPort& end : graph.ends) {
    highest = std::max(highest, end.base_lid + end.lid_count() - 1);
    many |= end.lmc > 0;
  }
  // What goes round a switch with a small table is another way than that of a lower LID.
  const bool may_share = SwitchesWithout(graph, highest).empty();
  std::vector<uint32_t> first_at(graph.size(), Target::kNoTwin);
  std::map<std::pair<uint32_t, uint8_t>, uint32_t> last_of_port;
  if (many) list.sibling.assign(list.targets.size(), Target::kNoTwin);
  for (uint32_t t = 0; t < list.targets.size(); ++t) {
    Target& target = list.targets[t];
    if (target.carries && first_at[target.at] == Target::kNoTwin) first_at[target.at] = t;
    if (!target.carries && may_share) target.twin = first_at[target.at];
    if (!many) continue;
    const auto [last, is_new] = last_of_port.try_emplace({target.at, target.port}, t);
    if (!is_new) list.sibling[t] = std::exchange(last->second, t);
  }
  return list;
}

}  // namespace fabricd::routing
