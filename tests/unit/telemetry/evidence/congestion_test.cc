// SPDX-License-Identifier: Apache-2.0
#include "telemetry/evidence/congestion.h"

#include <gtest/gtest.h>

#include "tests/unit/routing/run.h"
#include "tests/unit/telemetry/evidence/view_maker.h"
#include "tests/unit/telemetry/polled_fabric.h"

namespace fabricd::telemetry {
namespace {

using testing::FabricMaker;
using testing::TestFabric;

// A fabric with its tables, on which ports wait as a test says.
class Waits {
 public:
  explicit Waits(TestFabric of, const char* engine = "up_down")
      : fabric(WithLids(std::move(of))),
        plan(testing::Route(fabric, engine)),
        view(fabric.snapshot) {}

  PortRef Port(size_t handle, int port) const {
    return {fabric.node[handle], PortNum(static_cast<uint8_t>(port))};
  }
  // The egress of `handle` that leads to `peer`.
  PortRef Towards(size_t handle, size_t peer) const {
    const fabric::Node& node = *fabric.snapshot->node(fabric.node[handle]);
    for (size_t i = 1; i < node.ports.size(); ++i) {
      const PortRef port{node.index, PortNum(static_cast<uint8_t>(i))};
      if (node.ports[i].peer.node == fabric.node[peer]) return port;
    }
    ADD_FAILURE() << "no link";
    return {};
  }
  // The egresses from one host to another, by the tables.
  std::vector<PortRef> Path(size_t from, size_t to) const {
    std::vector<PortRef> path{Port(from, 1)};
    const Lid lid = fabric.LidOf(to, 1);
    while (path.size() < 10) {
      const PortRef peer = fabric.snapshot->port(path.back())->peer;
      if (peer.node == fabric.node[to]) return path;
      path.push_back({peer.node, PortNum(plan.EgressPort(peer.node, lid))});
    }
    ADD_FAILURE() << "no path";
    return path;
  }
  Congestion Find(const CongestionLimits& limits = {}) const {
    return FindCongestion(view.view, *fabric.snapshot, plan, limits);
  }

  // Switches have their LIDs in the snapshot too.
  static TestFabric WithLids(TestFabric fabric) {
    fabric::SnapshotBuilder builder(*fabric.snapshot);
    fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
      const PortRef port{node.index, PortNum(0)};
      wire::PortInfo info;
      info.lid = fabric.lids.Of(port).base;
      if (node.IsSwitch()) builder.SetPortInfo(port, info);
    });
    fabric.snapshot = builder.Build();
    return fabric;
  }

  TestFabric fabric;
  routing::RoutingPlan plan;
  ViewMaker view;
};

// Two leaves with two hosts each, on two spines.
struct TwoLeaves {
  TwoLeaves() {
    for (size_t leaf : {leaf1, leaf2}) {
      for (size_t spine : {spine1, spine2}) maker.Cable(leaf, spine);
    }
    for (size_t i = 0; i < 4; ++i) host.push_back(maker.Host(i < 2 ? leaf1 : leaf2));
  }
  FabricMaker maker;
  size_t leaf1 = maker.AddSwitch(4), leaf2 = maker.AddSwitch(4);
  size_t spine1 = maker.AddSwitch(2), spine2 = maker.AddSwitch(2);
  std::vector<size_t> host;
};

TEST(CongestionTest, WithoutWaitThereIsNoCongestion) {
  const Waits waits(TwoLeaves().maker.Build());
  EXPECT_TRUE(waits.Find().roots.empty());
}

TEST(CongestionTest, AHostThatReturnsNoCreditsOnAnIdleLinkIsASlowReceiver) {
  const TwoLeaves of;
  Waits waits(of.maker.Build());
  const PortRef egress = waits.Towards(of.leaf1, of.host[0]);
  waits.view.Wait(egress, 0.4, 0.2);
  waits.view.Wait(waits.Port(of.host[1], 1), 0.3, 0.2);
  const Congestion found = waits.Find();
  ASSERT_EQ(found.roots.size(), 1u);
  EXPECT_EQ(found.roots[0].port, egress);
  EXPECT_EQ(found.roots[0].kind, CongestionKind::kSlowReceiver);
  EXPECT_NEAR(found.roots[0].wait.share, 0.4, 1e-3);
  ASSERT_EQ(found.roots[0].victims.size(), 1u);
  EXPECT_EQ(found.roots[0].victims[0].port, waits.Port(of.host[1], 1));
  EXPECT_EQ(found.roots[0].victims[0].towards, egress);
  EXPECT_EQ(found.roots[0].victims[0].hops, 1u);
}

TEST(CongestionTest, AFullHostLinkIsIncast) {
  const TwoLeaves of;
  Waits waits(of.maker.Build());
  waits.view.Wait(waits.Towards(of.leaf1, of.host[0]), 0.4, 0.9);
  ASSERT_EQ(waits.Find().roots.size(), 1u);
  EXPECT_EQ(waits.Find().roots[0].kind, CongestionKind::kIncast);
  // Between the two nothing is decided.
  waits.view.Wait(waits.Towards(of.leaf1, of.host[0]), 0.3, 0.7);
  EXPECT_EQ(waits.Find().roots[0].kind, CongestionKind::kNone);
}

TEST(CongestionTest, AFullHostLinkWithoutOwnWaitIsIncastToo) {
  const TwoLeaves of;
  Waits waits(of.maker.Build());
  const auto path = waits.Path(of.host[2], of.host[0]);
  ASSERT_EQ(path.size(), 4u);
  waits.view.Wait(path[2], 0.3, 0.5);
  waits.view.Wait(path[3], 0.0, 0.99);
  const Congestion found = waits.Find();
  ASSERT_EQ(found.roots.size(), 1u);
  EXPECT_EQ(found.roots[0].port, path[3]);
  EXPECT_EQ(found.roots[0].kind, CongestionKind::kIncast);
  EXPECT_EQ(found.roots[0].victims.size(), 1u);
}

TEST(CongestionTest, OfTwoFullLinksInARowTheSecondIsTheRootIfAllTrafficUsesIt) {
  const TwoLeaves of;
  Waits waits(of.maker.Build());
  const auto path = waits.Path(of.host[2], of.host[0]);
  ASSERT_EQ(path.size(), 4u);
  const PortRef sibling = waits.Towards(of.leaf1, of.host[1]);
  waits.view.Wait(path[1], 0.5, 0.5);
  waits.view.Wait(path[2], 0.0, 0.99);
  waits.view.Wait(path[3], 0.0, 0.99);
  waits.view.Wait(sibling, 0.0, 0.05);
  ASSERT_EQ(waits.Find().roots.size(), 1u);
  EXPECT_EQ(waits.Find().roots[0].port, path[3]);
  EXPECT_EQ(waits.Find().roots[0].kind, CongestionKind::kIncast);
  // Half of it may go elsewhere: then the trunk itself is too narrow.
  waits.view.Wait(sibling, 0.0, 0.5);
  ASSERT_EQ(waits.Find().roots.size(), 1u);
  EXPECT_EQ(waits.Find().roots[0].port, path[2]);
  EXPECT_EQ(waits.Find().roots[0].kind, CongestionKind::kHotLink);
}

// For the LID of one spine, the path from the other leads down to a leaf and up again.
TEST(CongestionTest, EgressesThatOnlyLeadToASwitchAreNotFollowed) {
  const TwoLeaves of;
  Waits waits(of.maker.Build());
  const std::set<PortRef> trunks = {waits.Towards(of.spine1, of.leaf1),
                                    waits.Towards(of.spine1, of.leaf2)};
  for (PortRef trunk : trunks) waits.view.Wait(trunk, 0.3, 0.6);
  for (size_t leaf : {of.leaf1, of.leaf2}) {
    waits.view.Wait(waits.Towards(leaf, of.spine2), 0.9, 0.1);
  }
  std::set<PortRef> hot;
  for (const CongestionRoot& root : waits.Find().roots) {
    if (root.kind == CongestionKind::kHotLink) hot.insert(root.port);
  }
  EXPECT_TRUE(std::ranges::includes(hot, trunks));
}

TEST(CongestionTest, ATrunkBehindWhichNothingWaitsIsAHotLink) {
  const TwoLeaves of;
  Waits waits(of.maker.Build());
  const PortRef trunk = waits.Towards(of.spine1, of.leaf1);
  waits.view.Wait(trunk, 0.3, 0.6);
  const Congestion found = waits.Find();
  ASSERT_EQ(found.roots.size(), 1u);
  EXPECT_EQ(found.roots[0].port, trunk);
  EXPECT_EQ(found.roots[0].kind, CongestionKind::kHotLink);
}

TEST(CongestionTest, WhereAnEgressBehindATrunkIsNotKnownNothingIsDecided) {
  const TwoLeaves of;
  Waits waits(of.maker.Build());
  waits.view.Wait(waits.Towards(of.spine1, of.leaf1), 0.3, 0.6);
  for (size_t host : {of.host[0], of.host[1]})
    waits.view.Port(waits.Towards(of.leaf1, host)).wait_windows = {};
  ASSERT_EQ(waits.Find().roots.size(), 1u);
  EXPECT_EQ(waits.Find().roots[0].kind, CongestionKind::kNone);
}

TEST(CongestionTest, AStalePortIsNotKnown) {
  const TwoLeaves of;
  Waits waits(of.maker.Build());
  const PortRef egress = waits.Towards(of.leaf1, of.host[0]);
  waits.view.Wait(egress, 0.4, 0.2);
  waits.view.Port(egress).read_at = {};
  EXPECT_TRUE(waits.Find().roots.empty());
}

TEST(CongestionTest, ASaturatedTreeOverThreeTiersIsOneFinding) {
  Waits waits(testing::MakeFatTree(4, 3).Build());
  const size_t hosts = waits.fabric.node.size() - 16;
  const auto path = waits.Path(hosts + 15, hosts), other = waits.Path(hosts + 5, hosts);
  ASSERT_EQ(path.size(), 6u);
  for (size_t i = 0; i < path.size(); ++i) {
    waits.view.Wait(path[i], 0.2 + 0.1 * static_cast<double>(i), 0.3);
    waits.view.Wait(other[i], 0.2 + 0.1 * static_cast<double>(i), 0.3);
  }
  // Something else, elsewhere.
  const auto apart = waits.Path(hosts + 8, hosts + 9);
  ASSERT_EQ(apart.size(), 2u);
  waits.view.Wait(apart[1], 0.5, 0.95);
  const Congestion found = waits.Find();
  ASSERT_EQ(found.roots.size(), 2u);
  EXPECT_TRUE(found.without_root.empty());
  const bool is_first = found.roots[0].port == path[5];
  const CongestionRoot& root = found.roots[is_first ? 0 : 1];
  EXPECT_EQ(root.port, path[5]);
  EXPECT_EQ(root.kind, CongestionKind::kSlowReceiver);
  EXPECT_EQ(found.roots[is_first ? 1 : 0].port, apart[1]);
  EXPECT_EQ(found.roots[is_first ? 1 : 0].kind, CongestionKind::kIncast);
  const std::set<PortRef> ports(path.begin(), path.end());
  std::set<PortRef> all = ports;
  all.insert(other.begin(), other.end());
  EXPECT_EQ(root.victims.size(), all.size() - 1);
  for (const WaitingPort& victim : root.victims) {
    EXPECT_TRUE(all.contains(victim.port));
    EXPECT_TRUE(all.contains(victim.towards));
    const auto at = std::ranges::find(path, victim.port);
    if (at == path.end()) continue;
    EXPECT_EQ(victim.towards, *(at + 1));
    EXPECT_EQ(victim.hops, static_cast<size_t>(path.end() - at) - 1);
  }
}

TEST(CongestionTest, APathThatIsLongerThanTheLimitHasNoRoot) {
  Waits waits(testing::MakeFatTree(4, 3).Build());
  const size_t hosts = waits.fabric.node.size() - 16;
  const auto path = waits.Path(hosts + 15, hosts);
  for (PortRef port : path) waits.view.Wait(port, 0.5, 0.3);
  CongestionLimits limits;
  limits.max_depth = 4;
  const Congestion found = waits.Find(limits);
  ASSERT_EQ(found.roots.size(), 1u);
  EXPECT_EQ(found.roots[0].victims.size(), 3u);
  EXPECT_EQ(found.without_root.size(), 2u);
}

// Ports wait for each other around a ring: packets take two hops.
TEST(CongestionTest, ARingOfWaitsIsOneFindingAndEnds) {
  Waits waits(testing::MakeTorus({5}, 1).Build(), "min_hop");
  std::vector<PortRef> ring;
  for (size_t i = 0; i < 5; ++i) {
    ring.push_back(waits.Towards(i, (i + 1) % 5));
    waits.view.Wait(ring.back(), i == 3 ? 0.6 : 0.5, 0.3);
  }
  const Congestion found = waits.Find();
  ASSERT_EQ(found.roots.size(), 1u);
  EXPECT_TRUE(found.roots[0].is_cycle);
  EXPECT_EQ(found.roots[0].kind, CongestionKind::kNone);
  EXPECT_EQ(found.roots[0].port, ring[3]);
  EXPECT_EQ(found.roots[0].victims.size(), 4u);
  EXPECT_TRUE(found.without_root.empty());
}

TEST(CongestionTest, TheOrderOfDiscoveryChangesNothing) {
  using Finding = std::pair<Guid, std::vector<std::tuple<Guid, PortNum, Guid, uint32_t>>>;
  const auto findings = [](uint64_t shuffle) {
    Waits waits(testing::MakeFatTree(4, 3).Build(0, shuffle));
    const size_t hosts = waits.fabric.node.size() - 16;
    for (const auto& [from, to] : {std::pair(15, 0), std::pair(5, 0), std::pair(9, 4)}) {
      for (PortRef port : waits.Path(hosts + from, hosts + to)) waits.view.Wait(port, 0.5, 0.3);
    }
    const auto guid = [&](PortRef port) { return waits.fabric.snapshot->node(port.node)->guid(); };
    std::vector<Finding> found;
    for (const CongestionRoot& root : waits.Find().roots) {
      found.push_back({guid(root.port), {}});
      for (const WaitingPort& victim : root.victims) {
        found.back().second.emplace_back(guid(victim.port), victim.port.port, guid(victim.towards),
                                         victim.hops);
      }
    }
    return found;
  };
  EXPECT_FALSE(findings(0).empty());
  EXPECT_EQ(findings(0), findings(7));
}

// ---- of a simulated fabric

// The tables that the devices have.
routing::RoutingPlan PlanOf(PolledFabric& polled, Lid top) {
  routing::RoutingPlan plan;
  plan.lid_top = top;
  plan.rows.resize(polled.topology->node_index_end());
  polled.topology->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch()) return;
    routing::Row row((top.value() / routing::Row::kBlock + 1) * routing::Row::kBlock,
                     routing::kNoRoute);
    for (uint16_t lid = 1; lid <= top.value(); ++lid)
      row.Set(lid, polled.fabric.device(node.index)->LftPort(Lid(lid)));
    plan.rows[node.index.value()] = std::make_shared<const routing::Row>(std::move(row));
  });
  return plan;
}

TEST(CongestionOfSimulatorTest, JobsThatAllSendToOneHostAreIncastAtItsLeaf) {
  PolledFabric polled({}, "", "fat-tree:radix=4,levels=2");
  ASSERT_TRUE(polled.up);
  std::vector<std::string> hosts;
  polled.topology->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch()) hosts.push_back(node.description.substr(0, node.description.find(' ')));
  });
  ASSERT_EQ(hosts.size(), 8u);
  polled.Begin();
  polled.Run(std::chrono::minutes(2));
  for (size_t i = 2; i < 6; ++i) {
    sim::TrafficJob job;
    job.name = hosts[i];
    job.hosts = {hosts[i], hosts[0]};
    ASSERT_TRUE(polled.fabric.StartTraffic(polled.client.now, job).ok());
  }
  polled.Run(std::chrono::minutes(12));
  const auto view = polled.View();
  Lid top;
  for (const auto& [guid, lid] : polled.lids) top = std::max(top, lid);
  const Congestion found = FindCongestion(*view, *view->snapshot, PlanOf(polled, top));
  PortRef receiver;
  polled.topology->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch() && node.description.starts_with(hosts[0] + " "))
      receiver = node.ports[1].peer;
  });
  ASSERT_EQ(found.roots.size(), 1u);
  EXPECT_EQ(found.roots[0].port, receiver);
  EXPECT_EQ(found.roots[0].kind, CongestionKind::kIncast);
  EXPECT_FALSE(found.roots[0].victims.empty());
  EXPECT_TRUE(found.without_root.empty());
}

}  // namespace
}  // namespace fabricd::telemetry
