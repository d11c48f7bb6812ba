// SPDX-License-Identifier: Apache-2.0
#include "routing/transition/trees_fit.h"

#include <set>

#include "routing/multicast/multicast_channels.h"
#include "routing/multicast/multicast_graph.h"
#include "routing/plan/parallel.h"
#include "routing/transition/channel_dependency_graph.h"

namespace fabricd::routing {

bool TreesFit(const PushInput& input, const MulticastPlan& trees) {
  const PushView view(input);
  Parallel parallel(input.threads);
  ChannelDependencyGraph graph = ChannelDependencyGraph::OfAnyTime(input, view, parallel);
  std::set<PortRef> ports;
  for (const auto& tree : trees.trees) ports.insert(tree->ports.begin(), tree->ports.end());
  for (auto in = ports.begin(); in != ports.end(); ++in)
    for (auto out = ports.lower_bound({in->node, PortNum(0)});
         out != ports.end() && out->node == in->node; ++out)
      if (in->port != out->port) graph.AddTurn(in->node, in->port, out->port);
  return graph.IsFreeOfCycles();
}

bool HasRoomForTrees(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
                     const RoutingPlan& plan) {
  if (!plan.order.empty()) return true;
  return FindForest(MulticastGraph(snapshot), lids, plan, 0, {}).joins_all;
}

}  // namespace fabricd::routing
