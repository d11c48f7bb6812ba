// SPDX-License-Identifier: Apache-2.0
#include "routing/slots.h"

#include <algorithm>
#include <limits>
#include <span>

#include <absl/container/flat_hash_map.h>

#include "routing/pieces.h"

namespace fabricd::routing {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
constexpr uint32_t kMaxDivisor = 1u << 30;  // Beyond every index; products stop growing here.

std::span<const Neighbor> NeighborsOf(const SwitchGraph& graph, uint32_t s) {
  return {graph.neighbors.data() + graph.neighbor_begin[s], graph.degree(s)};
}
std::span<const Cable> CablesOf(const SwitchGraph& graph, const Neighbor& neighbor) {
  return {graph.cables.data() + neighbor.first_cable, neighbor.cable_count};
}

// Which neighbour `head` is; kHole: none.
uint8_t FindNeighbor(const SwitchGraph& graph, uint32_t s, uint32_t head) {
  const auto all = NeighborsOf(graph, s);
  const auto found =
      std::lower_bound(all.begin(), all.end(), head,
                       [](const Neighbor& neighbor, uint32_t h) { return neighbor.head < h; });
  return found != all.end() && found->head == head ? static_cast<uint8_t>(found - all.begin())
                                                   : Slots::kHole;
}

// The children of one rank with the parents they share (a connected piece of the links between).
struct Group {
  std::vector<uint32_t> children, parents;  // Switch numbers.
  uint32_t links = 0;                       // Pairs child, parent.
  uint32_t most_cables = 1;
};

// Of the given children, which have the same rank.
std::vector<Group> GroupChildren(const SwitchGraph& graph, const Levels& levels,
                                 const std::vector<uint32_t>& children) {
  Pieces pieces(graph.size());
  std::vector<uint32_t> parents, group_at(graph.size(), kNone);
  std::vector<uint8_t> is_parent(graph.size(), 0);
  const auto for_each_up = [&](uint32_t child, auto&& visit) {
    for (const Neighbor& neighbor : NeighborsOf(graph, child))
      if (levels.rank[neighbor.head] > levels.rank[child]) visit(neighbor);
  };
  for (uint32_t child : children)
    for_each_up(child, [&](const Neighbor& parent) {
      if (!is_parent[parent.head]) parents.push_back(parent.head);
      is_parent[parent.head] = 1;
      pieces.Join(child, parent.head);
    });
  std::sort(parents.begin(), parents.end());
  std::vector<Group> groups;
  for (uint32_t child : children) {
    uint32_t& at = group_at[pieces.Find(child)];
    if (at == kNone) {
      at = static_cast<uint32_t>(groups.size());
      groups.emplace_back();
    }
    Group& group = groups[at];
    group.children.push_back(child);
    for_each_up(child, [&](const Neighbor& parent) {
      ++group.links;
      group.most_cables = std::max<uint32_t>(group.most_cables, parent.cable_count);
    });
  }
  for (uint32_t parent : parents) groups[group_at[pieces.Find(parent)]].parents.push_back(parent);
  return groups;
}

// Gives the cables of one bundle their places. Where some are missing, a sibling whose bundle is
// whole and has the same ports shows which.
void PlaceCables(std::span<const Cable> cables, const std::vector<const uint8_t*>& whole,
                 uint32_t places, uint8_t* ports) {
  const auto has_all = [&](const uint8_t* pattern) {
    return std::all_of(cables.begin(), cables.end(), [&](const Cable& cable) {
      return std::find(pattern, pattern + places, cable.port) != pattern + places;
    });
  };
  const auto sibling = std::find_if(whole.begin(), whole.end(), has_all);
  for (uint32_t i = 0; i < std::min<size_t>(cables.size(), places); ++i) {
    const size_t place =
        sibling == whole.end()
            ? i
            : static_cast<size_t>(std::find(*sibling, *sibling + places, cables[i].port) -
                                  *sibling);
    ports[place] = cables[i].port;
  }
}

void FillPorts(const SwitchGraph& graph, const std::vector<uint32_t>& children,
               const std::vector<uint32_t>& parents, TreeGroup& group) {
  const uint32_t places = group.cables;
  group.ports.assign(children.size() * parents.size() * places, TreeGroup::kNoPort);
  const auto ports_of = [&](size_t child, size_t slot) {
    return &group.ports[(child * parents.size() + slot) * places];
  };
  const auto bundle = [&](size_t child, size_t slot) -> std::span<const Cable> {
    const uint8_t n = FindNeighbor(graph, children[child], parents[slot]);
    if (n == Slots::kHole) return {};
    return CablesOf(graph, graph.neighbor(children[child], n));
  };
  std::vector<const uint8_t*> whole;
  for (size_t slot = 0; slot < parents.size(); ++slot) {
    whole.clear();
    for (const bool complete : {true, false})
      for (size_t child = 0; child < children.size(); ++child) {
        const std::span<const Cable> cables = bundle(child, slot);
        if (cables.empty() || (cables.size() >= places) != complete) continue;
        PlaceCables(cables, complete ? std::vector<const uint8_t*>{} : whole, places,
                    ports_of(child, slot));
        if (complete && places > 1) whole.push_back(ports_of(child, slot));
      }
  }
}

TreeGroup MakeGroup(const SwitchGraph& graph, const std::vector<uint32_t>& children,
                    const std::vector<uint32_t>& parents, uint32_t rank, uint32_t cables) {
  TreeGroup group;
  group.rank = rank;
  for (uint32_t parent : parents) group.parents.push_back(graph.node[parent]);
  for (uint32_t child : children) group.children.push_back(graph.node[child]);
  const auto width = static_cast<uint32_t>(std::max<size_t>(parents.size(), 1));
  group.cables = std::clamp(SlotClass::kMostPlaces / width, 1u, cables);
  FillPorts(graph, children, parents, group);
  return group;
}

void AddNewGroups(const SwitchGraph& graph, const Levels& levels,
                  const std::vector<uint32_t>& children, std::vector<TreeGroup>& groups) {
  for (const Group& group : GroupChildren(graph, levels, children)) {
    const uint32_t rank = levels.rank[group.children[0]];
    // With many pairs missing the design is no complete block: each child numbers its own parents.
    const bool complete =
        4 * uint64_t{group.links} >= 3 * uint64_t{group.parents.size()} * group.children.size() &&
        group.parents.size() <= SlotClass::kMostPlaces;
    if (complete) {
      groups.push_back(MakeGroup(graph, group.children, group.parents, rank, group.most_cables));
      continue;
    }
    for (uint32_t child : group.children) {
      std::vector<uint32_t> own;
      for (const Neighbor& neighbor : NeighborsOf(graph, child))
        if (levels.rank[neighbor.head] > rank) own.push_back(neighbor.head);
      groups.push_back(MakeGroup(graph, {child}, own, rank, group.most_cables));
    }
  }
}

uint32_t Product(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(std::min<uint64_t>(uint64_t{a} * std::max(b, 1u), kMaxDivisor));
}

}  // namespace

std::vector<TreeGroup> FindGroups(const SwitchGraph& graph, const Levels& levels,
                                  const TreeLayout* /*remembered*/) {
  std::vector<std::vector<uint32_t>> of_rank(levels.top + 1);
  for (uint32_t s = 0; s < graph.size(); ++s) of_rank[levels.rank[s]].push_back(s);
  std::vector<TreeGroup> groups;
  for (const std::vector<uint32_t>& children : of_rank)
    AddNewGroups(graph, levels, children, groups);
  return groups;
}

Slots SlotsOf(const SwitchGraph& graph, const std::vector<TreeGroup>& groups) {
  Slots slots;
  slots.of.resize(graph.size());
  for (auto* values : {&slots.first, &slots.first_cable, &slots.sibling, &slots.group})
    values->assign(graph.size(), 0);
  absl::flat_hash_map<NodeIndex, uint32_t> number;
  for (uint32_t s = 0; s < graph.size(); ++s) number[graph.node[s]] = s;
  const auto find = [&](NodeIndex node) {
    const auto found = number.find(node);
    return found == number.end() ? kNone : found->second;
  };
  std::vector<uint32_t> below(graph.size(), 1);  // Parents' choices already taken on the way up.
  uint32_t of_rank = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const TreeGroup& group = groups[g];
    of_rank = g > 0 && groups[g - 1].rank == group.rank ? of_rank + 1 : 0;
    SlotClass shape{1, group.width(), group.cables};
    for (NodeIndex node : group.children)
      if (const uint32_t s = find(node); s != kNone)
        shape.divisor = std::max(shape.divisor, below[s]);
    std::vector<uint32_t> parents;
    for (NodeIndex node : group.parents) {
      parents.push_back(node.IsNone() ? kNone : find(node));
      if (parents.back() != kNone)
        below[parents.back()] =
            std::max(below[parents.back()], Product(shape.divisor, shape.width));
    }
    for (size_t i = 0; i < group.children.size(); ++i) {
      const uint32_t child = find(group.children[i]);
      if (child == kNone) continue;
      slots.of[child] = shape;
      slots.sibling[child] = static_cast<uint32_t>(i);
      slots.group[child] = of_rank;
      slots.first[child] = static_cast<uint32_t>(slots.neighbor.size());
      slots.first_cable[child] = static_cast<uint32_t>(slots.cable.size());
      for (size_t slot = 0; slot < parents.size(); ++slot) {
        const uint8_t n =
            parents[slot] == kNone ? Slots::kHole : FindNeighbor(graph, child, parents[slot]);
        slots.neighbor.push_back(n);
        const auto cables = n == Slots::kHole ? std::span<const Cable>{}
                                              : CablesOf(graph, graph.neighbor(child, n));
        for (uint32_t place = 0; place < group.cables; ++place) {
          const uint8_t port = group.PortsOf(i)[slot * group.cables + place];
          const auto cable = std::find_if(cables.begin(), cables.end(),
                                          [&](const Cable& c) { return c.port == port; });
          slots.cable.push_back(
              cable == cables.end() ? Slots::kHole : static_cast<uint8_t>(cable - cables.begin()));
        }
      }
    }
  }
  return slots;
}

}  // namespace fabricd::routing
