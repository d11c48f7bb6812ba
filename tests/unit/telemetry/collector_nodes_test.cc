// SPDX-License-Identifier: Apache-2.0
// What the collector reads of nodes that come, go and take the place of others.
#include <gtest/gtest.h>

#include "tests/unit/telemetry/polled_fabric.h"

namespace fabricd::telemetry {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST(CollectorTest, ReadsANodeThatTookThePlaceOfAnotherInOneChange) {
  PolledFabric polled;
  const auto all = polled.Discover();
  const auto without = [&](const char* name) {
    fabric::SnapshotBuilder builder(*all);
    builder.RemoveNode(polled.Node(name));
    return FabricChanged{builder.Build(), State::kPolling};
  };
  polled.Tell(without(kHca));
  polled.Run(minutes(1));
  polled.Tell(without("node0002 mlx5_0"));
  polled.Run(minutes(1));
  polled.Count(polled.Port(kHca, 1), sim::Counter::kRcvErrors, 4);
  polled.Run(minutes(2));
  EXPECT_EQ(polled.Total(polled.Port(kHca, 1), Counter::kRcvErrors), 4u);
}

TEST(CollectorTest, ADeviceThatReturnsIsProbedFromScratch) {
  PolledFabric polled({}, "unresponsive");
  const auto all = polled.Discover();
  polled.Begin();
  polled.Run(minutes(30));  // By now it would not be asked for more than half an hour.
  fabric::SnapshotBuilder builder(*all);
  builder.RemoveNode(polled.Node(kHca));
  polled.Tell(FabricChanged{builder.Build(), State::kPolling});
  polled.Quirks(polled.Port(kHca, 1), "default");
  polled.Run(seconds(1));
  polled.Tell(FabricChanged{all, State::kPolling});
  polled.Run(minutes(1));
  EXPECT_TRUE(polled.View()->FindDevice(polled.Node(kHca))->responds);
}

TEST(CollectorTest, ANodeThatAppearsAsAnotherLeavesIsPolled) {
  PolledFabric polled;
  const NodeIndex gone = polled.Node("node0004 mlx5_1");
  polled.edit_discovery = [&](fabric::SnapshotBuilder& builder) { builder.RemoveNode(gone); };
  polled.Begin();
  polled.Run(minutes(2));
  const NodeIndex leaves = polled.Node("node0003 mlx5_1");
  polled.edit_discovery = [&](fabric::SnapshotBuilder& builder) {
    const fabric::Node node = *polled.topology->node(gone);
    const fabric::Port& port = node.ports[1];
    builder.RemoveNode(leaves);
    const NodeIndex again = builder.PutNode(node.info);
    builder.SetPortInfo({again, PortNum(1)}, polled.fabric.device(gone)->port(PortNum(1)).info);
    builder.Link({again, PortNum(1)}, port.peer);
  };
  polled.Begin();
  polled.edit_discovery = nullptr;
  const uint64_t before = polled.Asked(Ask::kExtended);
  polled.Run(minutes(2));
  EXPECT_GT(polled.Asked(Ask::kExtended), before);
  const auto view = polled.View();
  size_t fresh = 0, active = 0;
  view->snapshot->ForEachNode([&](const fabric::Node& node) {
    for (size_t i = 1; i < node.ports.size(); ++i) {
      if (node.ports[i].info.port_state != wire::PortState::kActive) continue;
      ++active;
      const PortRecord* record = view->Find({node.index, PortNum(static_cast<uint8_t>(i))});
      fresh += record != nullptr && view->FreshnessOf(*record) == Freshness::kFresh;
    }
  });
  EXPECT_EQ(fresh, active);
}

TEST(CollectorTest, ANodeWithAnotherNumberOfPortsBeginsAgainAndOthersGoOn) {
  PolledFabric polled;
  const PortRef hca = polled.Port(kHca, 1), leaf = polled.Port(kLeaf, 1);
  polled.Begin();
  polled.Run(minutes(1));
  polled.Count(hca, sim::Counter::kRcvErrors, 3);
  polled.Count(leaf, sim::Counter::kRcvErrors, 4);
  polled.Run(minutes(2));
  ASSERT_EQ(polled.Total(hca, Counter::kRcvErrors), 3u);
  polled.edit_discovery = [&](fabric::SnapshotBuilder& builder) {
    wire::NodeInfo info = builder.node(hca.node)->info;
    info.num_ports = 2;
    builder.PutNode(info);
    builder.SetPortInfo(hca, polled.fabric.device(hca.node)->port(hca.port).info);
  };
  polled.Begin();
  EXPECT_EQ(polled.Total(leaf, Counter::kRcvErrors), 4u);
  polled.Run(minutes(2));
  EXPECT_EQ(polled.Total(hca, Counter::kRcvErrors), 0u);
  EXPECT_EQ(polled.View()->FreshnessOf(*polled.View()->Find(hca)), Freshness::kFresh);
}

}  // namespace
}  // namespace fabricd::telemetry
