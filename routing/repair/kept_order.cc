// SPDX-License-Identifier: Apache-2.0
#include "routing/repair/kept_order.h"

#include <algorithm>

namespace fabricd::routing {
namespace {

std::vector<uint32_t> ByDistance(const LinkMap& links, const std::vector<uint32_t>& homeless) {
  std::vector<uint32_t> sorted, left = homeless;
  std::vector<uint8_t> placed(links.size(), 0);
  for (uint32_t s = 0; s < links.size(); ++s)
    placed[s] = links.IsAlive(s) && !std::binary_search(homeless.begin(), homeless.end(), s);
  while (!left.empty()) {
    const auto next = std::find_if(left.begin(), left.end(), [&](uint32_t s) {
      for (uint32_t port = 1; port < links.ports(s); ++port)
        if (links.Ports(s)[port].IsSwitch() && placed[links.Ports(s)[port].head]) return true;
      return false;
    });
    const auto taken = next == left.end() ? left.begin() : next;
    placed[*taken] = 1;
    sorted.push_back(*taken);
    left.erase(taken);
  }
  return sorted;
}

}  // namespace

std::vector<uint32_t> OrderWith(const std::vector<uint32_t>& come,
                                const std::vector<uint32_t>& old_order, const LinkMap& links,
                                const std::vector<const Row*>& rows) {
  std::vector<uint32_t> order = old_order;
  if (order.size() < links.snapshot().node_index_end())
    order.resize(links.snapshot().node_index_end(), 0);
  if (!come.empty()) {
    std::vector<uint32_t> taken, homeless;
    for (uint32_t s = 0; s < links.size(); ++s)
      if (links.IsAlive(s) && rows[s]) taken.push_back(order[links.node(s).value()]);
    std::sort(taken.begin(), taken.end());
    for (uint32_t s : come) {
      const uint32_t index = links.node(s).value();
      const auto at = std::lower_bound(taken.begin(), taken.end(), order[index]);
      if (index >= old_order.size() || (at != taken.end() && *at == order[index]))
        homeless.push_back(s);
      else
        taken.insert(at, order[index]);
    }
    for (uint32_t& position : order) position += static_cast<uint32_t>(homeless.size());
    // Nearest to the old ones first, so that each has one above it.
    auto lowest = static_cast<uint32_t>(homeless.size());
    for (uint32_t s : ByDistance(links, homeless)) order[links.node(s).value()] = --lowest;
  }
  return order;
}

}  // namespace fabricd::routing
