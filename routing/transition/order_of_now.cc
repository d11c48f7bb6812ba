// SPDX-License-Identifier: Apache-2.0
#include "routing/transition/order_of_now.h"

#include <utility>
#include <vector>

#include "routing/plan/no_index.h"
#include "routing/plan/parallel.h"
#include "routing/transition/channel_dependency_graph.h"

namespace fabricd::routing {

std::unique_ptr<const ChannelOrder> OrderOfNow(const PushInput& push, const PushView& view,
                                               const LinkChannels& channels) {
  Parallel parallel(push.threads);
  std::vector<BlockChange> changes = ChangesByBlock(view);
  for (BlockChange& change : changes) change.fresh = change.lids;
  const ChannelDependencyGraph planned = ChannelDependencyGraph::Of(push, view, changes, parallel);
  ChannelDependencyGraph mixed = planned;
  for (BlockChange& change : changes) {
    change.fresh = 0;
    mixed.AddMoving(change, change.lids);
  }
  auto sorted = mixed.Sorted();
  if (!sorted) sorted = planned.Sorted();
  if (!sorted) return nullptr;
  const ChannelGraph& graph = channels.graph;
  const auto vertex_of = [&](uint32_t c) { return VertexOf(planned, channels, c); };
  auto order = std::make_unique<ChannelOrder>(graph, PlacesBy(*sorted, planned, channels));
  // Those of the plan first. Others may be refused where an earlier push could not avoid a cycle
  // either.
  for (const ChannelDependencyGraph* dependencies : {&planned, &std::as_const(mixed)})
    for (uint32_t c = 0; c < graph.size(); ++c)
      dependencies->ForEachOut(vertex_of(c), [&](uint8_t out) {
        const uint32_t next = channels.Of(graph.head[c], out);
        if (next != kNone) order->AddForNow(c, graph.OutOf(next));
      });
  return order;
}

}  // namespace fabricd::routing
