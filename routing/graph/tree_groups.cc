// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/tree_groups.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>

#include <absl/container/flat_hash_map.h>

#include "routing/graph/union_find.h"
#include "routing/plan/no_index.h"

namespace fabricd::routing {
namespace {

constexpr uint32_t kMostPlaces = TreeGroup::kMostPlaces;

// The children of one rank with the parents they share (a connected piece of the links between).
struct Group {
  std::vector<uint32_t> children, parents;  // Switch numbers.
  uint32_t links = 0;                       // Pairs child, parent.
  uint32_t most_cables = 1;
};

// Of the given children, which have the same rank.
std::vector<Group> GroupChildren(const SwitchGraph& graph, const Levels& levels,
                                 const std::vector<uint32_t>& children) {
  UnionFind sets(graph.size());
  std::vector<uint32_t> parents, group_at(graph.size(), kNone);
  std::vector<uint8_t> is_parent(graph.size(), 0);
  const auto for_each_up = [&](uint32_t child, auto&& visit) {
    for (const Neighbor& neighbor : graph.NeighborsOf(child))
      if (levels.rank[neighbor.head] > levels.rank[child]) visit(neighbor);
  };
  for (uint32_t child : children)
    for_each_up(child, [&](const Neighbor& parent) {
      if (!is_parent[parent.head]) parents.push_back(parent.head);
      is_parent[parent.head] = 1;
      sets.Join(child, parent.head);
    });
  std::sort(parents.begin(), parents.end());
  std::vector<Group> groups;
  for (uint32_t child : children) {
    uint32_t& at = group_at[sets.Find(child)];
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
  for (uint32_t parent : parents) groups[group_at[sets.Find(parent)]].parents.push_back(parent);
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
    const uint8_t n = graph.FindNeighbor(children[child], parents[slot]);
    if (n == SwitchGraph::kNotFound) return {};
    return graph.CablesOf(graph.neighbor(children[child], n));
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
  group.cables = std::clamp(kMostPlaces / width, 1u, cables);
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
        group.parents.size() <= kMostPlaces;
    if (complete) {
      groups.push_back(MakeGroup(graph, group.children, group.parents, rank, group.most_cables));
      continue;
    }
    for (uint32_t child : group.children) {
      std::vector<uint32_t> own;
      for (const Neighbor& neighbor : graph.NeighborsOf(child))
        if (levels.rank[neighbor.head] > rank) own.push_back(neighbor.head);
      groups.push_back(MakeGroup(graph, {child}, own, rank, group.most_cables));
    }
  }
}

// The groups of a previous plan, of which those are kept that explain every cable there is now.
class Memory {
 public:
  Memory(const SwitchGraph& graph, const Levels& levels, const TreeLayout& layout)
      : graph_(graph), levels_(levels), layout_(layout), fits_(layout.groups.size(), true) {
    for (uint32_t g = 0; g < layout.groups.size(); ++g) {
      const TreeGroup& group = layout.groups[g];
      for (uint32_t i = 0; i < group.children.size(); ++i)
        place_.emplace(group.children[i], Place{g, i});
    }
    seen_.assign(layout.groups.size(), false);
    for (uint32_t s = 0; s < graph.size(); ++s) {
      const auto place = place_.find(graph.node[s]);
      if (place == place_.end()) continue;
      seen_[place->second.group] = true;
      if (!Explains(place->second, s)) fits_[place->second.group] = false;
    }
  }
  bool Knows(uint32_t s) const {
    const auto place = place_.find(graph_.node[s]);
    return place != place_.end() && fits_[place->second.group];
  }
  void AddGroups(uint32_t rank, std::vector<TreeGroup>& groups) const {
    for (uint32_t g = 0; g < layout_.groups.size(); ++g)
      if (fits_[g] && seen_[g] && layout_.groups[g].rank == rank)
        groups.push_back(layout_.groups[g]);
  }

 private:
  struct Place {
    uint32_t group, child;
  };
  bool Explains(const Place& place, uint32_t s) const {
    const TreeGroup& group = layout_.groups[place.group];
    if (group.rank != levels_.rank[s]) return false;
    for (const Neighbor& parent : graph_.NeighborsOf(s)) {
      if (levels_.rank[parent.head] <= group.rank) continue;
      const auto known =
          std::find(group.parents.begin(), group.parents.end(), graph_.node[parent.head]);
      if (known == group.parents.end()) return false;
      const uint8_t* ports = group.PortsOf(place.child) +
                             static_cast<size_t>(known - group.parents.begin()) * group.cables;
      for (const Cable& cable : graph_.CablesOf(parent))
        if (std::find(ports, ports + group.cables, cable.port) == ports + group.cables)
          return false;
    }
    return true;
  }

  const SwitchGraph& graph_;
  const Levels& levels_;
  const TreeLayout& layout_;
  absl::flat_hash_map<NodeIndex, Place> place_;
  std::vector<uint8_t> fits_, seen_;  // [group]
};

// The port by which every child reaches that slot's parent; kNoPort: they differ.
std::vector<uint8_t> CommonPorts(const TreeGroup& group) {
  std::vector<uint8_t> common(group.width(), TreeGroup::kNoPort);
  for (uint32_t slot = 0; slot < group.width(); ++slot)
    for (size_t child = 0; child < group.children.size(); ++child) {
      const uint8_t port = group.PortsOf(child)[slot * group.cables];
      if (port == TreeGroup::kNoPort) continue;
      if (common[slot] != TreeGroup::kNoPort && common[slot] != port) return {};
      common[slot] = port;
    }
  const bool all = std::find(common.begin(), common.end(), TreeGroup::kNoPort) == common.end();
  return all ? common : std::vector<uint8_t>{};
}

// Puts each slot where `to` says among `width`, the others vacant.
void SpreadSlots(const std::vector<uint32_t>& to, uint32_t width, TreeGroup& group) {
  TreeGroup spread = group;
  spread.parents.assign(width, NodeIndex::None());
  spread.ports.assign(group.children.size() * width * group.cables, TreeGroup::kNoPort);
  for (uint32_t slot = 0; slot < group.width(); ++slot) {
    spread.parents[to[slot]] = group.parents[slot];
    for (size_t child = 0; child < group.children.size(); ++child)
      std::copy_n(group.PortsOf(child) + slot * group.cables, group.cables,
                  &spread.ports[(child * width + to[slot]) * group.cables]);
  }
  group = std::move(spread);
}

// A group with a few parents less than most of its rank has lost some. Where the children of the
// others use one port per slot, the ports tell which; else the last.
void InferFromOthers(std::vector<TreeGroup>& groups, size_t begin) {
  std::map<uint32_t, size_t> count;  // By width.
  for (size_t g = begin; g < groups.size(); ++g) ++count[groups[g].width()];
  uint32_t usual = 0;
  for (const auto& [width, times] : count)
    if (usual == 0 || times >= count[usual]) usual = width;
  if (count[usual] < 2) return;
  std::vector<uint8_t> ports;
  for (size_t g = begin; g < groups.size() && ports.empty(); ++g)
    if (groups[g].width() == usual) ports = CommonPorts(groups[g]);
  for (size_t g = begin; g < groups.size(); ++g) {
    TreeGroup& group = groups[g];
    if (group.children.size() < 2 || group.width() >= usual || group.width() * 4 < usual * 3 ||
        usual * group.cables > kMostPlaces)
      continue;
    std::vector<uint32_t> to;
    for (uint8_t port : CommonPorts(group))
      to.push_back(
          static_cast<uint32_t>(std::find(ports.begin(), ports.end(), port) - ports.begin()));
    if (to.empty() || std::find(to.begin(), to.end(), ports.size()) != to.end()) {
      to.clear();
      for (uint32_t slot = 0; slot < group.width(); ++slot) to.push_back(slot);
    }
    SpreadSlots(to, usual, group);
  }
}

// All children use the same port for the same parent, in steps of the cables, but here and there a
// step is missing on all of them: that parent is gone. A few such gaps only, or it is the design.
void InferFromPorts(const SwitchGraph& graph, TreeGroup& group) {
  const std::vector<uint8_t> ports = CommonPorts(group);
  if (ports.size() < 2 || group.children.size() < 2) return;
  std::vector<uint32_t> to;
  for (uint8_t port : ports) {
    const int distance = port - ports[0];
    if (distance < 0 || static_cast<uint32_t>(distance) % group.cables != 0) return;
    to.push_back(static_cast<uint32_t>(distance) / group.cables);
    if (to.size() > 1 && to.back() <= to[to.size() - 2]) return;
  }
  const uint32_t width = to.back() + 1;
  if (width == group.width() || (width - group.width()) * 8 > width ||
      width * group.cables > kMostPlaces)
    return;
  std::vector<uint8_t> is_step(256, 0);
  for (size_t slot = 0; slot < to.size(); ++slot)
    for (uint32_t i = 0; i < group.cables; ++i) is_step[ports[0] + to[slot] * group.cables + i] = 1;
  const auto used_otherwise = [&](unsigned port) {
    return port > ports.front() && port < ports.back() && !is_step[port];
  };
  absl::flat_hash_map<NodeIndex, uint32_t> number;
  for (uint32_t s = 0; s < graph.size(); ++s) number[graph.node[s]] = s;
  for (NodeIndex child : group.children) {
    const uint32_t s = number[child];
    for (uint32_t e = graph.end_begin[s]; e < graph.end_begin[s + 1]; ++e)
      if (used_otherwise(graph.ends[e].port)) return;
    for (const Neighbor& neighbor : graph.NeighborsOf(s))
      for (const Cable& cable : graph.CablesOf(neighbor))
        if (used_otherwise(cable.port)) return;
  }
  SpreadSlots(to, width, group);
}

}  // namespace

std::vector<TreeGroup> FindGroups(const SwitchGraph& graph, const Levels& levels,
                                  const TreeLayout* remembered) {
  const TreeLayout nothing;
  const Memory memory(graph, levels, remembered ? *remembered : nothing);
  std::vector<std::vector<uint32_t>> of_rank(levels.top + 1);
  for (uint32_t s = 0; s < graph.size(); ++s)
    if (!memory.Knows(s)) of_rank[levels.rank[s]].push_back(s);
  std::vector<TreeGroup> groups;
  for (uint32_t rank = 0; rank <= levels.top; ++rank) {
    memory.AddGroups(rank, groups);
    const size_t begin = groups.size();
    AddNewGroups(graph, levels, of_rank[rank], groups);
    InferFromOthers(groups, begin);
    if (groups.size() == begin + 1) InferFromPorts(graph, groups.back());
  }
  return groups;
}

}  // namespace fabricd::routing
