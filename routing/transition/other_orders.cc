// SPDX-License-Identifier: Apache-2.0
#include "routing/transition/other_orders.h"

#include <algorithm>
#include <utility>

#include "common/sort_unique.h"
#include "routing/graph/fitted_order.h"
#include "routing/plan/no_index.h"
#include "routing/plan/parallel.h"
#include "routing/transition/channel_dependency_graph.h"
#include "routing/transition/push_view.h"

namespace fabricd::routing {
namespace {

// Between switches that `usable` knows: others are there, but only closed.
SwitchTurns TurnsOf(const PushInput& tables, const LinkMap& usable) {
  const LinkMap& links = tables.links;
  const PushView view(tables);
  Parallel parallel(tables.threads);
  const ChannelDependencyGraph graph = ChannelDependencyGraph::OfAnyTime(tables, view, parallel);
  SwitchTurns turns(usable.size());
  for (uint32_t s = 0; s < std::min(links.size(), usable.size()); ++s) {
    for (uint32_t in = 1; in < links.ports(s); ++in) {
      const FarEnd from = links.Ports(s)[in];
      if (!from.IsSwitch()) continue;
      graph.ForEachOut(graph.ChannelOf(0, s, static_cast<uint8_t>(in)), [&](uint8_t out) {
        const uint32_t a = from.head, b = links.far(s, out).head;
        if (std::max(a, b) >= usable.size()) return;
        turns[s].emplace_back(std::min(a, b), std::max(a, b));
      });
    }
    SortUnique(turns[s]);
  }
  return turns;
}

// By distance from `top`, which is highest; what it does not reach stands below, component by
// component.
std::vector<uint32_t> ByDistance(const LinkMap& links, uint32_t top) {
  std::vector<uint8_t> seen(links.size(), 0);
  std::vector<uint32_t> queue;
  const auto grow = [&](uint32_t from) {
    if (std::exchange(seen[from], 1)) return;
    queue.push_back(from);
    for (size_t next = queue.size() - 1; next < queue.size(); ++next)
      for (uint32_t port = 1; port < links.ports(queue[next]); ++port)
        if (const FarEnd far = links.Ports(queue[next])[port];
            far.IsSwitch() && !std::exchange(seen[far.head], 1))
          queue.push_back(far.head);
  };
  grow(top);
  for (uint32_t s = 0; s < links.size(); ++s) grow(s);
  std::vector<uint32_t> position(links.size());
  for (size_t i = 0; i < queue.size(); ++i)
    position[queue[i]] = static_cast<uint32_t>(queue.size() - i);
  return position;
}

uint64_t Forbidden(const SwitchTurns& turns, const std::vector<uint32_t>& position) {
  uint64_t forbidden = 0;
  for (uint32_t s = 0; s < turns.size(); ++s)
    for (const auto& [a, b] : turns[s])
      forbidden += position[s] < position[a] && position[s] < position[b];
  return forbidden;
}

class OrderFinder {
 public:
  OrderFinder(const PushInput& tables, const LinkMap& usable)
      : usable_(usable),
        turns_(TurnsOf(tables, usable)),
        held_(usable.size(), 0),
        old_(usable.size(), 0) {
    const std::vector<uint32_t>& order = tables.desired.order;
    for (uint32_t s = 0; s < usable.size(); ++s) {
      held_[s] = s < tables.links.size() && tables.links.IsAlive(s);
      if (usable.node(s).value() < order.size()) old_[s] = order[usable.node(s).value()];
    }
    has_order_ = !order.empty();
  }

  // Two of each switch that may be highest, of at most `most` of them: by distance, and that or the
  // old order changed so that it forbids the fewest turns.
  std::vector<FittedOrder> Find(size_t most) {
    if (has_order_) Fit(old_, kNone);
    size_t tops = 0;
    for (uint32_t top = 0; top < usable_.size() && tops < most; ++top) {
      if (!usable_.IsAlive(top)) continue;
      ++tops;
      std::vector<uint32_t> position = ByDistance(usable_, top);
      Fit(has_order_ ? old_ : position, top);
      const uint64_t forbidden = Forbidden(turns_, position);
      found_.push_back({std::move(position), forbidden});
    }
    std::stable_sort(found_.begin(), found_.end(), [](const FittedOrder& a, const FittedOrder& b) {
      return a.forbidden < b.forbidden;
    });
    return std::move(found_);
  }

 private:
  void Fit(const std::vector<uint32_t>& position, uint32_t top) {
    if (auto fitted = FitOrder(usable_, held_, turns_, position, top))
      found_.push_back(*std::move(fitted));
  }

  const LinkMap& usable_;
  const SwitchTurns turns_;
  std::vector<uint8_t> held_;  // [switch]
  std::vector<uint32_t> old_;  // [switch]
  bool has_order_ = false;
  std::vector<FittedOrder> found_;
};

}  // namespace

std::vector<std::vector<uint32_t>> OtherOrders(const PushInput& tables, const LinkMap& usable,
                                               size_t most) {
  std::vector<std::vector<uint32_t>> orders;
  for (const FittedOrder& found : OrderFinder(tables, usable).Find(most)) {
    if (orders.size() == most) break;
    std::vector<uint32_t>& order = orders.emplace_back(usable.snapshot().node_index_end(), 0);
    for (uint32_t s = 0; s < usable.size(); ++s)
      if (usable.node(s).value() < order.size()) order[usable.node(s).value()] = found.position[s];
  }
  return orders;
}

}  // namespace fabricd::routing
