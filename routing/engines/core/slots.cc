// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/core/slots.h"

#include <algorithm>
#include <limits>
#include <span>

#include <absl/container/flat_hash_map.h>

#include "routing/plan/no_index.h"

namespace fabricd::routing {
namespace {

constexpr uint32_t kMaxDivisor = 1u << 30;  // Beyond every index; products stop growing here.

uint32_t Product(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(std::min<uint64_t>(uint64_t{a} * std::max(b, 1u), kMaxDivisor));
}

}  // namespace

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
            parents[slot] == kNone ? Slots::kHole : graph.FindNeighbor(child, parents[slot]);
        slots.neighbor.push_back(n);
        const auto cables =
            n == Slots::kHole ? std::span<const Cable>{} : graph.CablesOf(graph.neighbor(child, n));
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
