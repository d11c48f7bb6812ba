// SPDX-License-Identifier: Apache-2.0
#include "routing/transition/common_order.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace fabricd::routing {
namespace {

// [NodeIndex] Switches that stand higher, next to it.
using Above = std::vector<std::vector<uint32_t>>;

void AddLinks(const RouteState& state, Above& above) {
  const std::vector<uint32_t>& order = state.plan->order;
  const LinkMap& links = state.links;
  for (uint32_t s = 0; s < links.size(); ++s) {
    const uint32_t low = links.node(s).value();
    if (!links.IsAlive(s) || low >= order.size()) continue;
    if (low >= above.size()) above.resize(low + size_t{1});
    for (uint32_t port = 1; port < links.ports(s); ++port) {
      const FarEnd& far = links.Ports(s)[port];
      if (!far.IsSwitch()) continue;
      const uint32_t high = links.node(far.head).value();
      if (high < order.size() && order[high] > order[low]) above[low].push_back(high);
    }
  }
}

}  // namespace

bool HaveCommonOrder(const RouteState& before, const RouteState& after) {
  if (before.plan == after.plan) return true;
  if (before.plan->order.empty() || after.plan->order.empty()) return false;
  Above above;
  AddLinks(before, above);
  AddLinks(after, above);
  size_t size = above.size();
  for (const auto& heads : above)
    for (uint32_t head : heads) size = std::max<size_t>(size, head + size_t{1});
  above.resize(size);
  std::vector<uint32_t> below(size, 0), open;
  for (const auto& heads : above)
    for (uint32_t head : heads) ++below[head];
  for (uint32_t i = 0; i < size; ++i)
    if (below[i] == 0) open.push_back(i);
  size_t placed = 0;
  for (; !open.empty(); ++placed) {
    const uint32_t i = open.back();
    open.pop_back();
    for (uint32_t head : above[i])
      if (--below[head] == 0) open.push_back(head);
  }
  return placed == size;
}

}  // namespace fabricd::routing
