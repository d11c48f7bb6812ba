// SPDX-License-Identifier: Apache-2.0
// What an Intent makes of the fabric, and that every engine and the plans of least change obey it.
// The judges walk the tables over the links as they were observed.
#include "routing/plan/usable.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "routing/repair/replan.h"
#include "tests/unit/routing/faults.h"
#include "tests/unit/routing/oracle.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.
using fabric::Intent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two leaves with two hosts each under two spines: switches 0, 1 (leaves), 2, 3 (spines).
TestFabric SmallTree() {
  FabricMaker maker;
  for (int s = 0; s < 4; ++s) maker.AddSwitch(8);
  for (size_t leaf : {0, 1})
    for (int host = 0; host < 2; ++host) maker.Host(leaf);
  for (size_t leaf : {0, 1})
    for (size_t spine : {2, 3}) maker.Cable(leaf, spine);
  return maker.Build();
}
constexpr int kUp = 3;  // A leaf's port to spine 2; the next leads to spine 3.

PortRef End(const TestFabric& fabric, size_t handle, int port) {
  return {fabric.node[handle], PortNum(static_cast<uint8_t>(port))};
}
size_t NotShared(const UsableFabric& usable, const TestFabric& fabric) {
  size_t count = 0;
  usable.snapshot->ForEachNotShared(*fabric.snapshot, [&](NodeIndex) { ++count; });
  return count;
}
bool IsLinked(const UsableFabric& usable, PortRef end) { return LinkIsUp(*usable.snapshot, end); }

TEST(Usable, IsTheSameSnapshotWithoutAnIntent) {
  const TestFabric fabric = SmallTree();
  const UsableFabric usable = MakeUsable(*fabric.snapshot, fabric.lids, {});
  EXPECT_EQ(usable.snapshot.get(), fabric.snapshot.get());
  EXPECT_EQ(usable.lids.get(), &fabric.lids);
}

TEST(Usable, CutsClosedLinksByEitherEndAndSharesTheRest) {
  const TestFabric fabric = SmallTree();
  for (PortRef end : {End(fabric, 0, kUp), End(fabric, 2, 1)}) {
    Intent intent;
    intent.closed_links = {end};
    const UsableFabric usable = MakeUsable(*fabric.snapshot, fabric.lids, intent);
    EXPECT_FALSE(IsLinked(usable, End(fabric, 0, kUp)));
    EXPECT_FALSE(IsLinked(usable, End(fabric, 2, 1)));
    EXPECT_TRUE(IsLinked(usable, End(fabric, 1, kUp)));
    EXPECT_EQ(NotShared(usable, fabric), 2u);
    EXPECT_TRUE(LinkIsUp(*fabric.snapshot, End(fabric, 0, kUp)));
  }
}

TEST(Usable, TakesAnyIntentOfThingsThatAreNotThere) {
  const TestFabric fabric = SmallTree();
  fabric::SnapshotBuilder builder(*fabric.snapshot);
  builder.RemoveNode(fabric.node[3]);
  const auto snapshot = builder.Build();
  const PortRef nowhere{NodeIndex(1000), PortNum(3)}, beyond = End(fabric, 0, 200);
  Intent intent;
  intent.closed_links = intent.avoided_links = intent.isolated =
      intent.disabled = {End(fabric, 3, 1), nowhere, beyond};
  intent.closed_switches = intent.avoided_switches = {fabric.node[3], NodeIndex(1000)};
  const UsableFabric usable = MakeUsable(*snapshot, fabric.lids, intent);
  EXPECT_EQ(usable.snapshot->node_count(), snapshot->node_count());
  EXPECT_THAT(usable.closed, IsEmpty());
  EXPECT_THAT(usable.needed_switches, IsEmpty());
}

TEST(Usable, KeepsOneLinkOfAClosedSwitch) {
  const TestFabric fabric = SmallTree();
  Intent intent;
  intent.closed_switches = {fabric.node[2]};
  const UsableFabric usable = MakeUsable(*fabric.snapshot, fabric.lids, intent);
  EXPECT_THAT(usable.closed, ElementsAre(fabric.node[2]));
  EXPECT_TRUE(IsLinked(usable, End(fabric, 0, kUp)));
  EXPECT_FALSE(IsLinked(usable, End(fabric, 1, kUp)));
  EXPECT_TRUE(IsClosedSwitch(*usable.snapshot->node(fabric.node[2])));
  EXPECT_EQ(usable.lids->Owner(fabric.LidOf(2, 0)), End(fabric, 2, 1));
  EXPECT_EQ(usable.lids->top(), fabric.lids.top());
}

TEST(Usable, ClosesAvoidedLinksThatAreNotNeeded) {
  const TestFabric fabric = SmallTree();
  Intent intent;
  intent.avoided_links = {End(fabric, 0, kUp)};
  UsableFabric usable = MakeUsable(*fabric.snapshot, fabric.lids, intent);
  EXPECT_FALSE(IsLinked(usable, End(fabric, 0, kUp)));
  EXPECT_THAT(usable.needed_links, IsEmpty());
  // The spine has no other link than avoided ones: closed.
  intent.avoided_links = {End(fabric, 0, kUp), End(fabric, 1, kUp)};
  usable = MakeUsable(*fabric.snapshot, fabric.lids, intent);
  EXPECT_THAT(usable.closed, ElementsAre(fabric.node[2]));
  EXPECT_THAT(usable.needed_links, IsEmpty());
  intent = {};
  intent.avoided_switches = {fabric.node[3]};
  usable = MakeUsable(*fabric.snapshot, fabric.lids, intent);
  EXPECT_THAT(usable.closed, ElementsAre(fabric.node[3]));
  EXPECT_THAT(usable.needed_switches, IsEmpty());
}

TEST(Usable, KeepsAvoidedLinksThatAloneConnect) {
  const TestFabric fabric = SmallTree();
  Intent intent;
  intent.avoided_links = {End(fabric, 0, kUp), End(fabric, 0, kUp + 1)};
  UsableFabric usable = MakeUsable(*fabric.snapshot, fabric.lids, intent);
  EXPECT_TRUE(IsLinked(usable, End(fabric, 0, kUp)));
  EXPECT_TRUE(IsLinked(usable, End(fabric, 0, kUp + 1)));
  EXPECT_EQ(usable.needed_links, intent.avoided_links);
  // Both spines, and nothing but spines between the leaves.
  intent = {};
  intent.avoided_switches = {fabric.node[2], fabric.node[3]};
  usable = MakeUsable(*fabric.snapshot, fabric.lids, intent);
  EXPECT_EQ(usable.needed_switches, intent.avoided_switches);
  EXPECT_THAT(usable.needed_links, IsEmpty());
  EXPECT_THAT(usable.closed, IsEmpty());
  // A leaf with hosts is needed whoever avoids it; the other spine does.
  intent.avoided_switches = {fabric.node[0], fabric.node[2]};
  usable = MakeUsable(*fabric.snapshot, fabric.lids, intent);
  EXPECT_THAT(usable.needed_switches, ElementsAre(fabric.node[0]));
  EXPECT_THAT(usable.closed, ElementsAre(fabric.node[2]));
  EXPECT_TRUE(IsLinked(usable, End(fabric, 0, kUp + 1)));
}

// ---- what is made of it

ReplanResult Plan(const TestFabric& fabric, const Intent& intent, const RoutingOptions& options,
                  std::shared_ptr<const RouteState> before, ReplanGoal goal) {
  return Replan({*fabric.snapshot, fabric.lids, intent, options, std::move(before), goal});
}
RoutingOptions Only(const std::string& engine) {
  RoutingOptions options;
  options.chain = {engine};
  return options;
}

template <typename T>
bool Has(const std::vector<T>& list, const T& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}
bool Names(const TestFabric& fabric, const std::vector<PortRef>& list, PortRef end) {
  const fabric::Port* port = fabric.snapshot->port(end);
  return Has(list, end) || (port && Has(list, port->peer));
}

// Follows the tables over what was observed; a closed switch is where a walk ends.
PortRef WhereTo(const TestFabric& fabric, const Intent& intent, const RoutingPlan& plan,
                NodeIndex from, Lid lid) {
  const Walk walk = Follow(*fabric.snapshot, plan, from, lid);
  for (const Channel& channel : walk.channels) {
    EXPECT_FALSE(Names(fabric, intent.closed_links, channel)) << "LID " << lid.value();
    EXPECT_FALSE(Names(fabric, intent.disabled, channel)) << "LID " << lid.value();
  }
  if (walk.channels.empty() || !walk.end.IsNone()) return walk.end;
  const PortRef last = fabric.snapshot->port(walk.channels.back())->peer;
  return plan.HasRow(last.node) ? PortRef{} : PortRef{last.node, PortNum(0)};
}

// What may be passed and reached with nothing but hard closures: a dumb search over switches.
std::set<NodeIndex> AllowedFrom(const TestFabric& fabric, const Intent& intent, NodeIndex start) {
  std::set<NodeIndex> seen{start};
  std::vector<NodeIndex> open{start};
  while (!open.empty()) {
    const fabric::Node& node = *fabric.snapshot->node(open.back());
    open.pop_back();
    for (size_t port = 1; port < node.ports.size(); ++port) {
      const PortRef end{node.index, PortNum(static_cast<uint8_t>(port))};
      if (!LinkIsUp(*fabric.snapshot, end) || Names(fabric, intent.closed_links, end) ||
          Names(fabric, intent.disabled, end))
        continue;
      const NodeIndex peer = node.ports[port].peer.node;
      if (!fabric.snapshot->node(peer)->IsSwitch() || Has(intent.closed_switches, peer)) continue;
      if (seen.insert(peer).second) open.push_back(peer);
    }
  }
  return seen;
}

bool HoldsEndPorts(const TestFabric& fabric, NodeIndex at) {
  const fabric::Node& node = *fabric.snapshot->node(at);
  for (size_t port = 1; port < node.ports.size(); ++port)
    if (LinkIsUp(*fabric.snapshot, {at, PortNum(static_cast<uint8_t>(port))}) &&
        !fabric.snapshot->node(node.ports[port].peer.node)->IsSwitch())
      return true;
  return false;
}

// Every pair of a host's switch and a host that closures leave is served, isolated ones are not,
// and no way leads through a closed switch (it has no table, so a walk would end there).
void ExpectApplies(const TestFabric& fabric, const Intent& intent, const RoutingPlan& plan,
                   bool settled) {
  for (NodeIndex closed : intent.closed_switches) EXPECT_FALSE(plan.HasRow(closed));
  fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch() || !plan.HasRow(node.index) || !HoldsEndPorts(fabric, node.index)) return;
    const std::set<NodeIndex> allowed = AllowedFrom(fabric, intent, node.index);
    for (uint32_t value = 1; value <= fabric.lids.top().value(); ++value) {
      const Lid lid(static_cast<uint16_t>(value));
      const PortRef owner = fabric.lids.Owner(lid);
      const PortRef end = WhereTo(fabric, intent, plan, node.index, lid);
      if (Has(intent.isolated, owner)) {
        EXPECT_NE(end, owner);
        if (settled) {
          EXPECT_EQ(plan.EgressPort(node.index, lid), kNoRoute);
        }
        continue;
      }
      const fabric::Port* port = owner.port.value() ? fabric.snapshot->port(owner) : nullptr;
      const bool host = port && LinkIsUp(*fabric.snapshot, owner) &&
                        !Names(fabric, intent.closed_links, owner) &&
                        !Names(fabric, intent.disabled, owner) && allowed.count(port->peer.node);
      if (host) {
        EXPECT_EQ(end, owner) << "LID " << value << " from " << node.description;
      }
    }
  });
}

struct Case {
  std::string engine;
  TestFabric fabric;
  size_t leaf, spine;  // Handles.
};
std::vector<Case> Cases() {
  const TestFabric tree = MakeFatTree(4, 3).Build();  // Leaves, then 8 above them, then 4 on top.
  return {{"fat_tree", tree, 0, 16},
          {"up_down", tree, 0, 16},
          {"layered", MakeTorus({3, 3}, 2).Build(), 0, 4},
          {"min_hop", MakeFatTree(4, 2).Build(), 0, 4}};
}

TEST(Drain, RoutesAroundALinkAndRestoresEachEntry) {
  for (const Case& test : Cases()) {
    SCOPED_TRACE(test.engine);
    const RoutingOptions options = Only(test.engine);
    const auto ideal = Plan(test.fabric, {}, options, nullptr, ReplanGoal::kIdeal).after;
    ASSERT_NE(ideal, nullptr);
    FaultyFabric faulty(test.fabric, 1);
    for (size_t i = 0; i < faulty.cables().size(); i += 3) {
      Intent intent;
      intent.closed_links = {faulty.cables()[i].second};
      const ReplanResult least = Plan(test.fabric, intent, options, ideal, ReplanGoal::kWhole);
      ASSERT_NE(least.after, nullptr);
      ExpectApplies(test.fabric, intent, *least.after->plan, false);
      const ReplanResult settled =
          Plan(test.fabric, intent, options, least.after, ReplanGoal::kIdeal);
      ASSERT_NE(settled.after, nullptr);
      EXPECT_EQ(settled.reached, ReplanGoal::kIdeal);
      ExpectApplies(test.fabric, intent, *settled.after->plan, true);
      const auto back = Plan(test.fabric, {}, options, settled.after, ReplanGoal::kIdeal).after;
      ASSERT_NE(back, nullptr);
      EXPECT_TRUE(DiffPlans(*back->plan, *ideal->plan).blocks.empty());
    }
  }
}

TEST(Drain, ASwitchKeepsItsLidAndCarriesNoPath) {
  for (const Case& test : Cases()) {
    SCOPED_TRACE(test.engine);
    const RoutingOptions options = Only(test.engine);
    const auto ideal = Plan(test.fabric, {}, options, nullptr, ReplanGoal::kIdeal).after;
    Intent intent;
    intent.closed_switches = {test.fabric.node[test.spine]};
    const Lid lid = test.fabric.LidOf(test.spine, 0);
    auto before = ideal;
    for (ReplanGoal goal : {ReplanGoal::kUrgent, ReplanGoal::kWhole, ReplanGoal::kIdeal}) {
      const ReplanResult result = Plan(test.fabric, intent, options, before, goal);
      ASSERT_NE(result.after, nullptr);
      const RoutingPlan& plan = *result.after->plan;
      ExpectApplies(test.fabric, intent, plan, goal == ReplanGoal::kIdeal);
      test.fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
        if (plan.HasRow(node.index)) {
          EXPECT_EQ(WhereTo(test.fabric, intent, plan, node.index, lid),
                    (PortRef{test.fabric.node[test.spine], PortNum(0)}));
        }
      });
      before = result.after;
    }
    const auto back = Plan(test.fabric, {}, options, before, ReplanGoal::kIdeal).after;
    EXPECT_TRUE(DiffPlans(*back->plan, *ideal->plan).blocks.empty());
    EXPECT_TRUE(back->plan->HasRow(test.fabric.node[test.spine]));
  }
}

// The incremental repair writes one block, and entries of other destinations do not change.
TEST(Isolate, WithdrawsTheRouteAtOnce) {
  for (const Case& test : Cases()) {
    SCOPED_TRACE(test.engine);
    const RoutingOptions options = Only(test.engine);
    const auto ideal = Plan(test.fabric, {}, options, nullptr, ReplanGoal::kIdeal).after;
    const size_t host = test.fabric.node.size() - 3;
    Intent intent;
    intent.isolated = {End(test.fabric, host, 1)};
    const ReplanResult least = Plan(test.fabric, intent, options, ideal, ReplanGoal::kWhole);
    ASSERT_NE(least.after, nullptr);
    ExpectApplies(test.fabric, intent, *least.after->plan, false);
    if (least.reached == ReplanGoal::kWhole) {
      EXPECT_EQ(DiffPlans(*ideal->plan, *least.after->plan).entries, 1u);
    }
    const ReplanResult settled =
        Plan(test.fabric, intent, options, least.after, ReplanGoal::kIdeal);
    ExpectApplies(test.fabric, intent, *settled.after->plan, true);
    if (test.engine == "fat_tree") {
      EXPECT_EQ(DiffPlans(*ideal->plan, *settled.after->plan).destinations, 1u);
    }
    const auto back = Plan(test.fabric, {}, options, settled.after, ReplanGoal::kIdeal).after;
    EXPECT_TRUE(DiffPlans(*back->plan, *ideal->plan).blocks.empty());
  }
}

// Entries of the host stay when its cable is pulled; the cable is plugged again while it is
// isolated.
TEST(Isolate, AppliesToAHostThatReturns) {
  const TestFabric fabric = MakeFatTree(4, 3).Build();
  const RoutingOptions options = Only("fat_tree");
  FaultyFabric faulty(fabric, 7);
  const PortRef host = End(fabric, fabric.node.size() - 3, 1);
  const FaultyFabric::Cable cable{fabric.snapshot->port(host)->peer, host};
  auto state = Plan(fabric, {}, options, nullptr, ReplanGoal::kIdeal).after;
  Intent intent;
  const auto step = [&] {
    faulty.Apply();
    state = Plan(faulty.now(), intent, options, state, ReplanGoal::kWhole).after;
    ASSERT_NE(state, nullptr);
  };
  faulty.Cut(cable);
  step();
  intent.isolated = {host};
  step();
  faulty.Mend(cable);
  step();
  EXPECT_TRUE(LinkIsUp(*faulty.now().snapshot, host));
  ExpectApplies(faulty.now(), intent, *state->plan, false);
  intent = {};
  step();
  ExpectApplies(faulty.now(), intent, *state->plan, false);
}

TEST(Isolate, AlsoASwitchsOwnLid) {
  const TestFabric fabric = MakeFatTree(4, 3).Build();
  const auto ideal = Plan(fabric, {}, Only("fat_tree"), nullptr, ReplanGoal::kIdeal).after;
  for (bool closed : {false, true}) {
    Intent intent;
    intent.isolated = {End(fabric, 16, 0)};
    if (closed) intent.closed_switches = {fabric.node[16]};
    for (ReplanGoal goal : {ReplanGoal::kWhole, ReplanGoal::kIdeal}) {
      const auto after = Plan(fabric, intent, Only("fat_tree"), ideal, goal).after;
      ASSERT_NE(after, nullptr);
      ExpectApplies(fabric, intent, *after->plan, goal == ReplanGoal::kIdeal);
      EXPECT_EQ(after->plan->lid_top, ideal->plan->lid_top);
    }
  }
}

// ---- anything at any time

Intent DrawIntent(const FaultyFabric& faulty, const TestFabric& fabric, Rng& rng) {
  Intent intent;
  const auto links = [&](std::vector<PortRef>& list) {
    for (uint64_t left = rng.Below(3); left > 0 && !faulty.cables().empty(); --left) {
      const auto& cable = faulty.cables()[rng.Below(faulty.cables().size())];
      list.push_back(rng.Chance(0.5) ? cable.first : cable.second);
    }
  };
  const auto switches = [&](std::vector<NodeIndex>& list) {
    if (rng.Chance(0.4)) list.push_back(faulty.switches()[rng.Below(faulty.switches().size())]);
  };
  links(intent.closed_links);
  links(intent.avoided_links);
  links(intent.disabled);
  switches(intent.closed_switches);
  switches(intent.avoided_switches);
  for (uint64_t left = rng.Below(3); left > 0; --left)
    intent.isolated.push_back(
        End(fabric, rng.Below(fabric.node.size()), static_cast<int>(rng.Below(2))));
  const auto sort = [](auto& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  sort(intent.closed_links), sort(intent.avoided_links), sort(intent.disabled);
  sort(intent.closed_switches), sort(intent.avoided_switches), sort(intent.isolated);
  return intent;
}

TEST(Intents, AnyIntentIsAppliedThroughRandomFaults) {
  int least_changes = 0, needed = 0, closed = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const TestFabric fabric =
        seed % 3 == 0   ? MakeFatTree(4, 3).Build()
        : seed % 3 == 1 ? MakeTorus({3, 3}, 1).Build()
                        : MakeRandom(static_cast<int>(4 + rng.Below(8)), 20, 8, seed).Build();
    FaultyFabric faulty(fabric, seed);
    const RoutingOptions options = Only(seed % 2 ? "up_down" : "fat_tree");
    std::shared_ptr<const RouteState> state;
    Intent intent;
    for (int step = 0; step < 8; ++step) {
      SCOPED_TRACE(step);
      if (rng.Chance(0.5)) faulty.RandomStep();
      if (rng.Chance(0.7)) intent = rng.Chance(0.2) ? Intent() : DrawIntent(faulty, fabric, rng);
      const TestFabric& now = faulty.now();
      const ReplanGoal goal = rng.Chance(0.3) ? ReplanGoal::kIdeal : ReplanGoal::kWhole;
      const ReplanResult result = Plan(now, intent, options, state, goal);
      if (!result.after) continue;  // fat_tree does not fit every damage.
      const bool ideal = result.reached == ReplanGoal::kIdeal;
      ExpectApplies(now, intent, *result.after->plan, ideal && !result.steps.empty());
      least_changes += !ideal;
      needed += !result.needed_links.empty() || !result.needed_switches.empty();
      closed += !MakeUsable(*now.snapshot, now.lids, intent).closed.empty();
      state = result.after;
    }
  }
  EXPECT_GT(least_changes, 50);
  EXPECT_GT(needed, 5);
  EXPECT_GT(closed, 50);
}

}  // namespace
}  // namespace fabricd::routing
