// SPDX-License-Identifier: Apache-2.0
// The closed form that engines start from: free of contention on intact trees, and on damaged ones
// different from the intact tree's tables only where a link is missing.
#include "routing/engines/core/slots.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "routing/engines/core/plan_builder.h"
#include "routing/graph/order.h"
#include "tests/unit/routing/oracle.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.

// Tables as the slots want them, with nothing balanced afterwards, in the order with the first leaf
// on top. `unserved`: whether some pair has no way in that order.
RoutingPlan ClosedForm(const TestFabric& fabric, const RoutingPlan* previous = nullptr,
                       int threads = 0, bool* unserved = nullptr) {
  RoutingOptions options;
  options.threads = threads;
  const RoutingInput input{*fabric.snapshot, fabric.lids, options, previous};
  PlanBuilder builder(input, "closed_form");
  for (const SwitchGraph& graph : builder.graphs()) {
    const Levels levels = builder.FindLevels(graph);
    // An isolated switch keeps the rank that it had, so there may be no leaf.
    const auto found = std::find(levels.rank.begin(), levels.rank.end(), 0u);
    const auto leaf = found == levels.rank.end() ? 0 : found - levels.rank.begin();
    const Order order = ConeOrder(graph, levels, static_cast<uint32_t>(leaf));
    const HopCosts costs = OrderedCosts(graph, order, {}, builder.parallel());
    if (unserved && UnservedPairs(graph, costs) > 0) *unserved = true;
    builder.AddTables(graph, levels, order, costs);
  }
  return builder.Finish();
}

std::vector<size_t> Hosts(const FabricMaker& maker) {
  std::vector<size_t> hosts;
  for (size_t handle = 0; handle < maker.size(); ++handle)
    if (!maker.IsSwitch(handle)) hosts.push_back(handle);
  return hosts;
}

std::vector<size_t> SwitchCables(const FabricMaker& maker) {
  std::vector<size_t> cables;
  for (size_t cable = 0; cable < maker.cable_count(); ++cable)
    if (maker.IsSwitchCable(cable)) cables.push_back(cable);
  return cables;
}

void Damage(FabricMaker& maker, double share, uint64_t seed) {
  Rng rng(seed);
  for (size_t cable = maker.cable_count(); cable-- > 0;)
    if (maker.IsSwitchCable(cable) && rng.Chance(share)) maker.RemoveCable(cable);
}

// Removes all cables of a switch, hosts included, or only those to switches.
void Isolate(FabricMaker& maker, size_t handle, bool keep_hosts) {
  for (size_t cable = maker.cable_count(); cable-- > 0;)
    if (maker.HasEnd(cable, handle) && (maker.IsSwitchCable(cable) || !keep_hosts))
      maker.RemoveCable(cable);
}

struct Changes {
  int needless = 0;  // Entries that changed although their way was whole.
  int needed = 0;
  std::set<size_t> switches;
};

// Entries for hosts, of all switches that reach them in both fabrics.
Changes Compare(const FabricMaker& maker, const TestFabric& before, const RoutingPlan& ideal,
                const TestFabric& after, const RoutingPlan& plan) {
  Changes changes;
  for (size_t sw = 0; sw < maker.size(); ++sw) {
    if (!maker.IsSwitch(sw)) continue;
    for (size_t host : Hosts(maker)) {
      const Lid lid = before.LidOf(host, 1);
      if (Follow(*after.snapshot, plan, after.node[sw], lid).end.IsNone()) continue;
      if (plan.EgressPort(after.node[sw], lid) == ideal.EgressPort(before.node[sw], lid)) continue;
      const Walk way = Follow(*before.snapshot, ideal, before.node[sw], lid);
      const bool whole =
          std::all_of(way.channels.begin(), way.channels.end(),
                      [&](const Channel& channel) { return LinkIsUp(*after.snapshot, channel); });
      ++(whole ? changes.needless : changes.needed);
      changes.switches.insert(sw);
    }
  }
  return changes;
}

// The most flows on one cable when every host sends to the one `shift` places on.
int MostFlows(const TestFabric& fabric, const RoutingPlan& plan, const std::vector<size_t>& hosts,
              size_t shift) {
  std::map<Channel, int> flows;
  int most = 0;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const PortRef leaf = fabric.snapshot->port({fabric.node[hosts[i]], PortNum(1)})->peer;
    const Lid to = fabric.LidOf(hosts[(i + shift) % hosts.size()], 1);
    const Walk way = Follow(*fabric.snapshot, plan, leaf.node, to);
    EXPECT_FALSE(way.end.IsNone());
    for (const Channel& channel : way.channels) most = std::max(most, ++flows[channel]);
  }
  return most;
}

// All shifts of small trees, some of large ones.
std::vector<size_t> Shifts(size_t hosts) {
  std::vector<size_t> shifts;
  const size_t step = hosts <= 300 ? 1 : hosts / (hosts <= 1000 ? 12 : 3) - 1;
  for (size_t shift = 1; shift < hosts; shift += step) shifts.push_back(shift);
  return shifts;
}

TEST(ClosedForm, EveryShiftOfIntactTreesIsFreeOfContention) {
  std::vector<std::pair<std::string, FabricMaker>> trees;
  for (int radix : {8, 12, 18, 24, 36}) {
    trees.emplace_back("2 levels " + std::to_string(radix), MakeFatTree(radix, 2));
    trees.emplace_back("3 levels " + std::to_string(radix), MakeFatTree(radix, 3));
  }
  trees.emplace_back("4 units", MakeTree({{32, 1}, {32, 16, 2}}));
  trees.emplace_back("16 units", MakeTree({{32, 1}, {8, 8, 4}, {16, 8, 4}}));
  trees.emplace_back("parallel at the top", MakeTree({{4, 1}, {4, 4}, {6, 2, 2}}));
  for (auto& [name, maker] : trees) {
    const TestFabric fabric = maker.Build();
    const RoutingPlan plan = ClosedForm(fabric);
    const std::vector<size_t> hosts = Hosts(maker);
    for (size_t shift : Shifts(hosts.size()))
      ASSERT_EQ(MostFlows(fabric, plan, hosts, shift), 1) << name << ", shift " << shift;
  }
}

TEST(ClosedForm, OnlyEntriesThatLostTheirLinkDiffer) {
  const std::vector<std::vector<TreeLevel>> shapes = {{{4, 1}, {8, 4}},
                                                      {{4, 1}, {4, 4}, {8, 4}},
                                                      {{6, 1}, {4, 3, 2}, {6, 3, 2}},
                                                      {{8, 1}, {4, 2, 4}}};
  int compared = 0, needed = 0;
  for (const auto& shape : shapes)
    for (uint64_t seed : {1, 2, 3, 4, 5, 6}) {
      FabricMaker maker = MakeTree(shape);
      const TestFabric before = maker.Build();
      const RoutingPlan ideal = ClosedForm(before);
      Damage(maker, 0.06, seed);
      const TestFabric after = maker.Build();
      bool unserved = false;
      const RoutingPlan plan = ClosedForm(after, &ideal, 0, &unserved);
      if (unserved) continue;  // Engines would take another order, and with it other ways.
      ASSERT_EQ(UnreachablePairs(after, plan), 0u);
      const Changes changes = Compare(maker, before, ideal, after, plan);
      EXPECT_EQ(changes.needless, 0) << shape.size() << " levels, seed " << seed;
      needed += changes.needed;
      ++compared;
    }
  EXPECT_GT(compared, 12);
  EXPECT_GT(needed, 500);
}

TEST(ClosedForm, ReturnsToTheIdealTables) {
  FabricMaker maker = MakeTree({{6, 1}, {4, 3, 2}, {6, 3, 2}});
  const TestFabric before = maker.Build();
  const RoutingPlan ideal = ClosedForm(before);
  FabricMaker damaged = maker;
  Damage(damaged, 0.1, 5);
  Isolate(damaged, 1, false);   // A leaf,
  Isolate(damaged, 30, false);  // a switch above,
  Isolate(damaged, 45, false);  // and a core.
  const RoutingPlan plan = ClosedForm(damaged.Build(), &ideal);
  const RoutingPlan healed = ClosedForm(maker.Build(), &plan);
  EXPECT_EQ(healed.rows.size(), ideal.rows.size());
  for (size_t i = 0; i < ideal.rows.size(); ++i) {
    ASSERT_EQ(healed.rows[i] != nullptr, ideal.rows[i] != nullptr);
    if (!ideal.rows[i]) continue;
    EXPECT_TRUE(*healed.rows[i] == *ideal.rows[i]) << i;
  }
}

TEST(ClosedForm, OneOfParallelCablesTouchesTwoSwitches) {
  for (const bool knows_before : {true, false}) {
    FabricMaker maker = MakeTree({{8, 1}, {4, 4, 4}, {4, 2, 2}});
    const TestFabric before = maker.Build();
    const RoutingPlan ideal = ClosedForm(before);
    const std::vector<size_t> cables = SwitchCables(maker);
    for (size_t pick : {size_t{1}, size_t{40}, cables.size() - 2}) {
      FabricMaker damaged = maker;
      damaged.RemoveCable(cables[pick]);
      const TestFabric after = damaged.Build();
      const RoutingPlan plan = ClosedForm(after, knows_before ? &ideal : nullptr);
      const Changes changes = Compare(damaged, before, ideal, after, plan);
      EXPECT_EQ(changes.needless, 0);
      EXPECT_GT(changes.needed, 0);
      EXPECT_LE(changes.switches.size(), 2u);
    }
  }
}

// Without a previous plan, the other groups or the port numbers show that a parent is missing.
TEST(ClosedForm, DeadParentIsInferred) {
  struct Case {
    FabricMaker maker;
    size_t dead;
  };
  const std::vector<Case> cases = {{MakeFatTree(8, 3), 64 + 5},  // A core in the middle,
                                   {MakeFatTree(8, 3), 64},      // the first of a plane,
                                   {MakeFatTree(8, 3), 32 + 2},  // a switch of a pod.
                                   {MakeFatTree(16, 2), 16 + 3}};
  for (const Case& c : cases) {
    FabricMaker maker = c.maker;
    const TestFabric before = maker.Build();
    const RoutingPlan ideal = ClosedForm(before);
    Isolate(maker, c.dead, false);
    const TestFabric after = maker.Build();
    const Changes changes = Compare(maker, before, ideal, after, ClosedForm(after));
    EXPECT_EQ(changes.needless, 0) << c.dead;
    EXPECT_GT(changes.needed, 0) << c.dead;
  }
}

TEST(ClosedForm, DeadParentKeepsItsSlot) {
  // Which spine of two levels was the first, only the plan before can tell.
  for (size_t dead : {size_t{16}, size_t{20}, size_t{23}}) {
    FabricMaker maker = MakeFatTree(16, 2);
    const TestFabric before = maker.Build();
    const RoutingPlan ideal = ClosedForm(before);
    Isolate(maker, dead, false);
    const TestFabric after = maker.Build();
    const RoutingPlan first = ClosedForm(after, &ideal);
    EXPECT_EQ(Compare(maker, before, ideal, after, first).needless, 0);
    // And the plan after the next still knows.
    const RoutingPlan second = ClosedForm(after, &first);
    EXPECT_EQ(second.rows, first.rows);
    EXPECT_EQ(second.layout, first.layout);
  }
}

TEST(ClosedForm, MissingHostsChangeNoEntriesOfOthers) {
  const FabricMaker maker = MakeFatTree(8, 3);
  const TestFabric before = maker.Build();
  const RoutingPlan ideal = ClosedForm(before);
  Rng rng(3);
  FabricMaker damaged = maker;
  for (size_t cable = damaged.cable_count(); cable-- > 0;)
    if (!damaged.IsSwitchCable(cable) && rng.Chance(0.1)) damaged.RemoveCable(cable);
  const TestFabric after = damaged.Build();
  for (const RoutingPlan* previous : {static_cast<const RoutingPlan*>(nullptr), &ideal}) {
    const Changes changes = Compare(damaged, before, ideal, after, ClosedForm(after, previous));
    EXPECT_EQ(changes.needless + changes.needed, 0);
  }
}

TEST(ClosedForm, DeadLeafChangesNoEntriesOfOthers) {
  for (const bool keep_hosts : {true, false}) {
    FabricMaker maker = MakeFatTree(8, 3);
    const TestFabric before = maker.Build();
    const RoutingPlan ideal = ClosedForm(before);
    Isolate(maker, 9, keep_hosts);
    const TestFabric after = maker.Build();
    const Changes changes = Compare(maker, before, ideal, after, ClosedForm(after, &ideal));
    EXPECT_EQ(changes.needless + changes.needed, 0);
  }
}

// All sources together must not move a destination to one other link.
TEST(ClosedForm, MovedDestinationsPartAgain) {
  FabricMaker maker = MakeFatTree(16, 2);
  const TestFabric before = maker.Build();
  const RoutingPlan ideal = ClosedForm(before);
  maker.RemoveCable(SwitchCables(maker)[3]);  // Of leaf 0.
  const TestFabric after = maker.Build();
  const RoutingPlan plan = ClosedForm(after, &ideal);
  std::map<uint8_t, int> ports;  // Of the other leaves, for what they all had to move.
  for (size_t leaf = 1; leaf < 16; ++leaf)
    for (size_t host : Hosts(maker)) {
      const Lid lid = after.LidOf(host, 1);
      if (plan.EgressPort(after.node[leaf], lid) != ideal.EgressPort(before.node[leaf], lid))
        ++ports[plan.EgressPort(after.node[leaf], lid)];
    }
  EXPECT_EQ(ports.size(), 7u);                                               // Every other spine,
  for (const auto& [port, count] : ports) EXPECT_LE(count, 3) << int{port};  // of 15 leaves.
}

TEST(ClosedForm, ThreadsAndInputOrderChangeNothing) {
  FabricMaker maker = MakeTree({{6, 1}, {4, 3, 2}, {6, 3, 2}});
  Damage(maker, 0.1, 9);
  const TestFabric fabric = maker.Build(1), shuffled = maker.Build(1, 77);
  const auto expected = ByGuid(fabric, ClosedForm(fabric, nullptr, 1));
  EXPECT_EQ(ByGuid(fabric, ClosedForm(fabric, nullptr, 2)), expected);
  EXPECT_EQ(ByGuid(shuffled, ClosedForm(shuffled)), expected);
}

}  // namespace
}  // namespace fabricd::routing
