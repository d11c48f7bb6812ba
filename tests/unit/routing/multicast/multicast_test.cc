// SPDX-License-Identifier: Apache-2.0
// Multicast trees: walked through their tables by a walk that knows nothing of trees, judged
// together with the unicast plan, and compared from one generation to the next.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "routing/multicast/multicast_rows.h"
#include "routing/repair/replan.h"
#include "tests/unit/routing/faults.h"
#include "tests/unit/routing/multicast/made_trees.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.
using fabric::MulticastGroup;
using fabric::MulticastGroups;

FabricMaker SomeFabric(uint64_t seed) {
  switch (seed % 6) {
    case 0: return MakeFatTree(4, 3);
    case 1: return MakeFatTree(8, 2);
    case 2: return MakeTorus({3, 3, 3}, 1);
    case 3: return MakeTorus({4, 5}, 2);
    case 4: return MakeTree({{3, 1}, {4, 2, 2}, {2, 2}});
    default: return MakeRandom(12, 30, 20, seed);
  }
}

TEST(MulticastTrees, ServeAllThroughFaultsJoinsAndLeaves) {
  size_t members = 0, absent = 0, without_order = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Rng rng(seed);
    FaultyFabric fabric(SomeFabric(seed).Build(), seed);
    const std::vector<Guid> ports = HostPorts(*fabric.now().snapshot);
    MulticastGroups groups;
    for (uint16_t g = 0; g < 40; ++g) {
      groups.groups.push_back(Group(g, {}));
      groups.groups.back().sl = ServiceLevel(static_cast<uint8_t>(rng.Below(16)));
    }
    MulticastPlan before;
    for (int step = 0; step < 6; ++step) {
      for (MulticastGroup& group : groups.groups)
        for (uint64_t n = rng.Below(4); n > 0; --n) Shuffle(group, ports, rng);
      if (step > 0) fabric.RandomStep();
      const auto plan = ChainPlan(fabric.now(), static_cast<uint8_t>(1 + 3 * (seed / 6 % 2)));
      if (!plan) continue;
      before = Make(fabric.now(), *plan, groups, &before);
      if (::testing::Test::HasFailure()) return;
      // One lane always has a tree; several may be full of unicast.
      const size_t refused = CountUnserved(before, Unserved::kNoOrder);
      EXPECT_TRUE(refused == 0 || plan->lanes > 1) << plan->engine;
      without_order += refused;
      absent += CountUnserved(before, Unserved::kAbsent) + CountUnserved(before, Unserved::kCutOff);
      for (const auto& group : groups.groups) members += group.members.size();
    }
  }
  EXPECT_GT(members, 50'000u);
  EXPECT_LE(absent * 2, members) << absent << " of " << members;
  EXPECT_LE(without_order * 50, members) << without_order << " of " << members;
}

// A torus, whose plans have no order, through one fault after another, and a group of all hosts.
// Members that no tree reaches: by the plans of least change, and by the ideal ones.
struct Refused {
  size_t least = 0, ideal = 0;
};
void LiveOn(uint64_t seed, bool leaves_room, Refused& refused) {
  FaultyFabric fabric(MakeTorus({3, 3, 3}, 1).Build(), seed);
  const MulticastGroups groups{{Group(0, HostPorts(*fabric.now().snapshot))}};
  const fabric::Intent intent;
  RoutingOptions options;
  options.chain = {"layered"};
  std::shared_ptr<const RouteState> state;
  MulticastPlan trees;
  const auto replan = [&](ReplanGoal goal) {
    const AppliedTables held = state ? TablesOf(*state->plan) : AppliedTables();
    ReplanInput input{*fabric.now().snapshot, fabric.now().lids, intent, options, state, goal};
    input.wants_push = false;
    input.applied = &held;
    input.trees = leaves_room ? &trees : nullptr;
    state = Replan(input).after;
    trees = Make(fabric.now(), *state->plan, groups, &trees);
    return CountUnserved(trees, Unserved::kNoOrder);
  };
  ASSERT_EQ(replan(ReplanGoal::kIdeal), 0u);
  for (int step = 0; step < 12; ++step) {
    fabric.RandomStep();
    const size_t now = replan(ReplanGoal::kWhole);
    refused.least += now;
    if (now > 0) refused.ideal += replan(ReplanGoal::kIdealIfHitless);
  }
}

TEST(MulticastTrees, IncrementalRepairsLeaveRoomForTrees) {
  Refused refused, without_room;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    LiveOn(seed, true, refused);
    LiveOn(seed, false, without_room);
  }
  EXPECT_EQ(refused.ideal, 0u);
  EXPECT_GT(without_room.ideal, 0u) << "nothing was to be shown";
  EXPECT_LE(5 * refused.least, without_room.least);
}

// A torus that has lost so many links that its shortest paths need only one VL.
TEST(MulticastTrees, EnginesLeaveRoomForTreesOnDamagedGrids) {
  const fabric::Intent intent;
  RoutingOptions options;
  options.threads = 1;
  size_t without_order = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const bool flat = seed % 2 == 0;
    FaultyFabric fabric(flat ? MakeTorus({3, 4}, 2).Build() : MakeTorus({3, 3, 2}, 1).Build(),
                        seed);
    for (uint64_t step = 0; step <= seed % 6; ++step) fabric.RandomStep();
    for (const std::string_view engine : kEngineNames) {
      SCOPED_TRACE(engine);
      options.chain = {std::string(engine)};
      const auto state = Replan({*fabric.now().snapshot, fabric.now().lids, intent, options}).after;
      if (!state || state->plan->lanes > 1) continue;
      without_order += state->plan->order.empty();
      const MulticastGroups groups{{Group(0, HostPorts(*fabric.now().snapshot))}};
      const MulticastPlan trees = Make(fabric.now(), *state->plan, groups, nullptr);
      EXPECT_EQ(CountUnserved(trees, Unserved::kNoOrder), 0u);
    }
  }
  EXPECT_GT(without_order, 20u);
}

// Entries that only one of two plans has.
std::set<PortRef> Only(const MulticastTree& of, const MulticastTree& other) {
  std::set<PortRef> only;
  std::set_difference(of.ports.begin(), of.ports.end(), other.ports.begin(), other.ports.end(),
                      std::inserter(only, only.end()));
  return only;
}

TEST(MulticastTrees, JoinTouchesOnlyItsBranchAndLeaveTakesItBack) {
  Tree8 test(64);
  const MulticastPlan before = Make(test.fabric, *test.plan, test.groups);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    MulticastGroups groups = test.groups;
    const size_t which = rng.Below(64);
    auto& members = groups.groups[which].members;
    const Guid guid = test.ports[rng.Below(test.ports.size())];
    if (std::any_of(members.begin(), members.end(),
                    [&](const auto& member) { return member.port_guid == guid; }))
      continue;
    members.push_back({guid, true});
    std::sort(members.begin(), members.end());
    const MulticastPlan joined = Make(test.fabric, *test.plan, groups, &before);
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(joined.trees[i] == before.trees[i], i != which);
    EXPECT_THAT(Only(*before.trees[which], *joined.trees[which]), ::testing::IsEmpty());
    // A way up of at most 4 links, and the port itself.
    EXPECT_LE(Only(*joined.trees[which], *before.trees[which]).size(), 9u);
    for (size_t i = 0; i < before.rows.size(); ++i) {
      if (before.rows[i] == nullptr || joined.rows[i] == before.rows[i]) continue;
      for (const auto& [place, block] : before.rows[i]->blocks)
        EXPECT_TRUE(place.block == which / 32 || &joined.rows[i]->At(place) == block.get());
    }
    const MulticastPlan left = Make(test.fabric, *test.plan, test.groups, &joined);
    EXPECT_THAT(Only(*left.trees[which], *joined.trees[which]), ::testing::IsEmpty());
  }
}

TEST(MulticastTrees, FaultMovesOnlyTheTreesThatUsedTheLink) {
  size_t moved = 0, anew = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Tree8 test(100);
    FaultyFabric fabric(test.fabric, seed);
    const MulticastPlan before = Make(test.fabric, *test.plan, test.groups);
    Rng rng(seed);
    const auto cable = fabric.cables()[rng.Below(fabric.cables().size())];
    fabric.Cut(cable);
    fabric.Apply();
    // The order stands, as in a repaired plan.
    const MulticastPlan after = Make(fabric.now(), *test.plan, test.groups, &before);
    for (size_t i = 0; i < 100; ++i) {
      const auto& ports = before.trees[i]->ports;
      const bool used = std::binary_search(ports.begin(), ports.end(), cable.first) &&
                        std::binary_search(ports.begin(), ports.end(), cable.second);
      EXPECT_EQ(after.trees[i] != before.trees[i], used);
      EXPECT_THAT(after.trees[i]->unserved, ::testing::IsEmpty());
      moved += used;
      // More than the branch of one switch, or a top: what was kept was in the way.
      anew += Only(*before.trees[i], *after.trees[i]).size() > 4;
    }
  }
  EXPECT_GT(moved, 100u);
  EXPECT_LE(anew * 8, moved) << anew << " of " << moved;
}

TEST(MulticastTrees, TreesAreReconstructedFromTheTables) {
  Tree8 test(100);
  MulticastPlan grown = Make(test.fabric, *test.plan, test.groups);
  Rng rng(9);
  for (auto& group : test.groups.groups) Shuffle(group, test.ports, rng);
  grown = Make(test.fabric, *test.plan, test.groups, &grown);
  const MulticastPlan read = PlanOfRows(grown.rows);
  const MulticastPlan again = Make(test.fabric, *test.plan, test.groups, &read);
  EXPECT_EQ(again.rows, grown.rows) << "the very same objects";
  EXPECT_EQ(again.top, Lid(0xC07F));
}

TEST(MulticastTrees, SpreadOverTheFabric) {
  Tree8 test(0);
  for (uint16_t g = 0; g < 64; ++g) test.groups.groups.push_back(Group(g, test.ports));
  const MulticastPlan trees = Make(test.fabric, *test.plan, test.groups);
  std::map<PortRef, int> load;
  for (const auto& tree : trees.trees)
    for (PortRef port : tree->ports) {
      const PortRef peer = test.fabric.snapshot->port(port)->peer;
      if (test.fabric.snapshot->node(peer.node)->IsSwitch()) ++load[port];
    }
  // Each leaf has 4 links up, 16 trees a link.
  int most = 0;
  for (const auto& [port, count] : load) most = std::max(most, count);
  EXPECT_LE(most, 24);
}

TEST(MulticastTrees, NoEntriesForAGroupWithoutASenderReceiverPair) {
  Tree8 test(0);
  test.groups.groups = {Group(0, {}), Group(1, {test.ports[0]}),
                        Group(2, {test.ports[0], test.ports[50]})};
  for (auto& member : test.groups.groups[2].members) member.receives = false;
  const MulticastPlan trees = Make(test.fabric, *test.plan, test.groups);
  EXPECT_TRUE(trees.rows.empty());
  EXPECT_EQ(trees.top, kNoMulticastTop);
}

TEST(MulticastTrees, SendOnlyMembersReachAllAndReceiveNothing) {
  Tree8 test(0);
  test.groups.groups = {Group(0, {test.ports[0], test.ports[1], test.ports[100]})};
  for (auto& member : test.groups.groups[0].members)
    member.receives = member.port_guid == test.ports[100];
  const MulticastPlan trees = Make(test.fabric, *test.plan, test.groups);
  const auto port_of = [&](size_t i) {
    return test.fabric.snapshot->port(test.fabric.snapshot->FindPort(test.ports[i]))->peer;
  };
  const Walk walk = Follow(*test.fabric.snapshot, trees, Lid(0xC000), port_of(1));
  EXPECT_THAT(walk.delivered, ::testing::ElementsAre(port_of(100)));
}

TEST(MulticastTrees, RoutesAroundSlowLinksAndSmallTables) {
  Tree8 test(0);
  fabric::SnapshotBuilder builder(*test.fabric.snapshot);
  // Member 0 hangs on a slow link; the first core's table is too small.
  const PortRef slow = test.fabric.snapshot->FindPort(test.ports[0]);
  wire::PortInfo info = test.fabric.snapshot->port(slow)->info;
  info.mtu_cap = 3;
  builder.SetPortInfo(slow, info);
  NodeIndex core;
  test.fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (node.description == "L2-0") core = node.index;
  });
  wire::SwitchInfo small = *test.fabric.snapshot->node(core)->switch_info;
  small.multicast_fdb_cap = 5;
  builder.SetSwitchInfo(core, small);
  test.fabric.snapshot = builder.Build();
  for (uint16_t g = 0; g < 32; ++g) test.groups.groups.push_back(Group(g, test.ports));
  const MulticastPlan trees = Make(test.fabric, *test.plan, test.groups);
  for (const auto& tree : trees.trees)
    EXPECT_THAT(tree->unserved,
                ::testing::ElementsAre(UnservedMember{test.ports[0], Unserved::kTooSlow}));
  const MulticastRow nothing;
  const MulticastRow& row = trees.Row(core) != nullptr ? *trees.Row(core) : nothing;
  for (uint16_t entry = 5; entry < 32; ++entry)
    EXPECT_TRUE(row.PortsOf(Lid(static_cast<uint16_t>(0xC000 + entry))).empty());
}

}  // namespace
}  // namespace fabricd::routing
