// SPDX-License-Identifier: Apache-2.0
// Multicast trees: walked through their tables by a walk that knows nothing of trees, judged
// together with the unicast plan, and compared from one generation to the next.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "routing/multicast/multicast_rows.h"
#include "routing/multicast/multicast_shape.h"
#include "routing/multicast/multicast_trees.h"
#include "routing/proof/multicast_proof.h"
#include "routing/repair/replan.h"
#include "tests/unit/routing/faults.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.
using fabric::MulticastGroup;
using fabric::MulticastGroups;
using ::testing::ElementsAre;

std::vector<Guid> HostPorts(const fabric::FabricSnapshot& snapshot) {
  std::vector<Guid> guids;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    for (size_t port = 1; port < node.ports.size() && !node.IsSwitch(); ++port)
      guids.push_back(node.ports[port].guid);
  });
  return guids;
}

MulticastGroup Group(uint16_t number, const std::vector<Guid>& members) {
  MulticastGroup group;
  group.mlid = Lid(static_cast<uint16_t>(0xC000 + number));
  for (Guid guid : members) group.members.push_back({guid, true});
  std::sort(group.members.begin(), group.members.end());
  return group;
}

// Joins and leaves of one group.
void Shuffle(MulticastGroup& group, const std::vector<Guid>& ports, Rng& rng) {
  std::map<Guid, bool> members;
  for (const auto& member : group.members) members[member.port_guid] = member.receives;
  for (uint64_t left = 1 + rng.Below(3); left > 0; --left) {
    const Guid guid = ports[rng.Below(ports.size())];
    if (rng.Chance(0.4))
      members.erase(guid);
    else
      members[guid] = rng.Chance(0.8);
  }
  group.members.clear();
  for (const auto& [guid, receives] : members) group.members.push_back({guid, receives});
}

struct Walk {
  std::set<PortRef> delivered;  // Switch ports by which it left the switches.
  bool loops = false;
};
// A packet that enters a switch by a port.
Walk Follow(const fabric::FabricSnapshot& snapshot, const MulticastPlan& plan, Lid mlid,
            PortRef entered) {
  Walk walk;
  std::vector<PortRef> open{entered};
  size_t steps = 0;
  while (!open.empty()) {
    const PortRef in = open.back();
    open.pop_back();
    if (++steps > 10'000) return walk.loops = true, walk;
    const MulticastRow* row = plan.Row(in.node);
    if (row == nullptr) continue;
    for (PortNum out : row->PortsOf(mlid)) {
      if (out == in.port) continue;
      const fabric::Port& port = snapshot.node(in.node)->port(out);
      const fabric::Node* peer = port.peer.IsNone() ? nullptr : snapshot.node(port.peer.node);
      if (out != PortNum(0) && peer != nullptr && peer->IsSwitch())
        open.push_back(port.peer);
      else if (!walk.delivered.insert({in.node, out}).second)
        walk.loops = true;
    }
  }
  return walk;
}

const UnservedMember* FindUnserved(const MulticastTree& tree, Guid guid) {
  for (const auto& member : tree.unserved)
    if (member.port_guid == guid) return &member;
  return nullptr;
}

// From each member that is served to all others that are and receive, and nobody else.
void ExpectServed(const fabric::FabricSnapshot& snapshot, const MulticastGroups& groups,
                  const MulticastPlan& plan) {
  ASSERT_EQ(plan.trees.size(), groups.groups.size());
  for (size_t i = 0; i < groups.groups.size(); ++i) {
    const MulticastTree& tree = *plan.trees[i];
    std::set<PortRef> receivers, all;
    for (const auto& member : groups.groups[i].members) {
      if (FindUnserved(tree, member.port_guid) != nullptr) continue;
      const PortRef at = snapshot.port(snapshot.FindPort(member.port_guid))->peer;
      all.insert(at);
      if (member.receives) receivers.insert(at);
    }
    for (PortRef from : all) {
      const Walk walk = Follow(snapshot, plan, tree.mlid, from);
      std::set<PortRef> wanted = receivers;
      wanted.erase(from);
      EXPECT_FALSE(walk.loops);
      EXPECT_EQ(walk.delivered, wanted);
    }
  }
}

// Makes the trees and judges them.
MulticastPlan Make(const TestFabric& fabric, const RoutingPlan& plan, const MulticastGroups& groups,
                   const MulticastPlan* before = nullptr) {
  MulticastPlan trees = MakeTrees({*fabric.snapshot, fabric.lids, plan, groups, before});
  const VerifyReport report = VerifyMulticast(*fabric.snapshot, fabric.lids, plan, groups, trees);
  EXPECT_TRUE(report.ok) << ::testing::PrintToString(report.faults);
  EXPECT_TRUE(report.deadlock_free);
  ExpectServed(*fabric.snapshot, groups, trees);
  return trees;
}

size_t CountUnserved(const MulticastPlan& plan, Unserved reason) {
  size_t count = 0;
  for (const auto& tree : plan.trees)
    for (const auto& member : tree->unserved) count += member.reason == reason;
  return count;
}

std::shared_ptr<const RoutingPlan> ChainPlan(const TestFabric& fabric, uint8_t lanes) {
  RoutingOptions options;
  options.lanes_max = lanes;
  return RunChain({*fabric.snapshot, fabric.lids, options, nullptr}).plan;
}

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
// Members that no tree reaches: by the plans of least change, and by those that are settled for.
struct Refused {
  size_t least = 0, settled = 0;
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
    if (now > 0) refused.settled += replan(ReplanGoal::kIdealIfHitless);
  }
}

TEST(MulticastTrees, IncrementalRepairsLeaveRoomForTrees) {
  Refused refused, without_room;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    LiveOn(seed, true, refused);
    LiveOn(seed, false, without_room);
  }
  EXPECT_EQ(refused.settled, 0u);
  EXPECT_GT(without_room.settled, 0u) << "nothing was to be shown";
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

struct Tree8 {
  TestFabric fabric = MakeFatTree(8, 3).Build();
  std::vector<Guid> ports = HostPorts(*fabric.snapshot);
  std::shared_ptr<const RoutingPlan> plan = ChainPlan(fabric, 1);
  MulticastGroups groups;

  explicit Tree8(int count) {
    Rng rng(3);
    for (uint16_t g = 0; g < count; ++g) {
      groups.groups.push_back(Group(g, {}));
      for (int i = 0; i < 8; ++i) Shuffle(groups.groups.back(), ports, rng);
    }
  }
};

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

// Four switches in a row, a host on each by port 1, the next switch by port 3.
TEST(MulticastShape, StartsAtTheMiddleOfTheTree) {
  FabricMaker maker;
  for (int number = 0; number < 4; ++number) maker.AddSwitch(4);
  for (size_t number = 0; number < 4; ++number) maker.Cable(number, 1, maker.AddHost(), 1);
  for (size_t number = 0; number < 3; ++number) maker.Cable(number, 3, number + 1, 2);
  const TestFabric fabric = maker.Build();
  const auto port = [&](size_t handle, uint8_t number) {
    return PortRef{fabric.node[handle], PortNum(number)};
  };
  MulticastTree tree;
  for (size_t number = 0; number < 4; ++number) {
    tree.ports.push_back(port(number, 1));
    if (number > 0) tree.ports.push_back(port(number, 2));
    if (number < 3) tree.ports.push_back(port(number, 3));
  }
  tree.ports.push_back(port(3, 0));
  std::sort(tree.ports.begin(), tree.ports.end());
  using Place = MulticastShape::Place;
  const auto ports = [](std::initializer_list<uint8_t> numbers) {
    std::vector<PortNum> made;
    for (uint8_t number : numbers) made.push_back(PortNum(number));
    return made;
  };
  const auto place = [&](size_t handle, uint32_t depth, uint8_t up, std::vector<PortNum> down,
                         std::vector<PortNum> ends) {
    return Place{fabric.node[handle], depth, PortNum(up), std::move(down), std::move(ends)};
  };
  // Of the two in the middle, that of the lower GUID; what is behind its lowest port first.
  EXPECT_THAT(
      ShapeOf(tree, *fabric.snapshot).places,
      ElementsAre(place(1, 0, 0, ports({2, 3}), ports({1})), place(0, 1, 3, {}, ports({1})),
                  place(2, 1, 2, ports({3}), ports({1})), place(3, 2, 2, {}, ports({0, 1}))));
  // The last cable has gone: the last switch is a part by itself, and the ports lead nowhere.
  maker.RemoveCable(maker.cable_count() - 1);
  const TestFabric cut = maker.Build();
  ASSERT_EQ(cut.node, fabric.node);
  EXPECT_THAT(ShapeOf(tree, *cut.snapshot).places,
              ElementsAre(place(1, 0, 0, ports({2, 3}), ports({1})), place(0, 1, 3, {}, ports({1})),
                          place(2, 1, 2, ports({3}), ports({1})),
                          place(3, 0, 0, ports({2}), ports({0, 1}))));
}

// The verifier must find each wrong entry.
TEST(MulticastProof, FindsEveryWrongEntry) {
  Tree8 test(4);
  const MulticastPlan good = Make(test.fabric, *test.plan, test.groups);
  const auto judge = [&](const std::vector<std::shared_ptr<const MulticastTree>>& trees) {
    return VerifyMulticast(*test.fabric.snapshot, test.fabric.lids, *test.plan, test.groups,
                           PlanOfTrees(trees, nullptr))
        .ok;
  };
  ASSERT_TRUE(judge(good.trees));
  for (size_t i = 0; i < good.trees[1]->ports.size(); ++i) {
    auto trees = good.trees;
    MulticastTree tree = *trees[1];
    tree.ports.erase(tree.ports.begin() + static_cast<std::ptrdiff_t>(i));
    trees[1] = std::make_shared<const MulticastTree>(tree);
    EXPECT_FALSE(judge(trees)) << "without entry " << i;
  }
  test.fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    for (size_t port = 0; node.IsSwitch() && port < node.ports.size(); ++port) {
      auto trees = good.trees;
      MulticastTree tree = *trees[1];
      const PortRef more{node.index, PortNum(static_cast<uint8_t>(port))};
      if (std::binary_search(tree.ports.begin(), tree.ports.end(), more)) continue;
      tree.ports.push_back(more);
      std::sort(tree.ports.begin(), tree.ports.end());
      trees[1] = std::make_shared<const MulticastTree>(tree);
      EXPECT_FALSE(judge(trees)) << node.description << " port " << port;
    }
  });
}

// Down and up again within one tree: legal as a tree, but not beside the unicast routes.
TEST(MulticastProof, RefusesTreesThatTurnBack) {
  FabricMaker maker;
  const size_t low = maker.AddSwitch(4), left = maker.AddSwitch(4), right = maker.AddSwitch(4),
               top = maker.AddSwitch(4);
  for (size_t side : {left, right}) maker.Cable(low, side), maker.Cable(side, top);
  const size_t a = maker.Host(left), b = maker.Host(right);
  const TestFabric fabric = maker.Build();
  RoutingPlan plan = Route(fabric, "up_down");
  const auto port = [&](size_t at, int p) {
    return PortRef{fabric.node[at], PortNum(static_cast<uint8_t>(p))};
  };
  const auto guid = [&](size_t host) {
    return fabric.snapshot->node(fabric.node[host])->ports[1].guid;
  };
  const MulticastGroups groups{{Group(0, {guid(a), guid(b)})}};
  const auto by = [&](size_t middle, int first) {
    std::vector<PortRef> ports{port(left, middle == low ? 1 : 2),
                               port(right, middle == low ? 1 : 2),
                               port(middle, first),
                               port(middle, first + 1),
                               port(left, 3),
                               port(right, 3)};
    std::sort(ports.begin(), ports.end());
    return PlanOfTrees(
        {std::make_shared<const MulticastTree>(MulticastTree{Lid(0xC000), std::move(ports), {}})},
        nullptr);
  };
  plan.order.assign(plan.rows.size(), 0);
  plan.order[fabric.node[left].value()] = 1;
  plan.order[fabric.node[right].value()] = 2;
  plan.order[fabric.node[top].value()] = 3;
  const auto judge = [&](const MulticastPlan& trees) {
    return VerifyMulticast(*fabric.snapshot, fabric.lids, plan, groups, trees);
  };
  EXPECT_TRUE(judge(by(top, 1)).ok) << ::testing::PrintToString(judge(by(top, 1)).faults);
  EXPECT_FALSE(judge(by(low, 1)).deadlock_free);
}

// A plan without an order: a ring on one VL, in which no path takes some of the turns.
TEST(MulticastProof, FindsACycleWithUnicastWhereThereIsNoOrder) {
  const TestFabric fabric = MakeRing(5, 1).Build();
  const auto plan = ChainPlan(fabric, 1);
  ASSERT_TRUE(plan);
  RoutingPlan bare = *plan;
  bare.order.clear();
  const std::vector<Guid> ports = HostPorts(*fabric.snapshot);
  const MulticastGroups groups{{Group(0, ports)}};
  const MulticastPlan trees = Make(fabric, bare, groups);
  EXPECT_THAT(trees.trees[0]->unserved, ::testing::IsEmpty());
  // The one link of the ring that the tree leaves out; turned round, some tree closes the ring.
  int refused = 0;
  for (int gap = 0; gap < 5; ++gap) {
    std::vector<PortRef> all;
    fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
      for (size_t p = 1; node.IsSwitch() && p < node.ports.size(); ++p)
        all.push_back({node.index, PortNum(static_cast<uint8_t>(p))});
    });
    const PortRef out{fabric.node[static_cast<size_t>(gap)], PortNum(1)};
    const PortRef peer = fabric.snapshot->port(out)->peer;
    std::erase_if(all, [&](PortRef p) { return p == out || p == peer; });
    const MulticastPlan other = PlanOfTrees(
        {std::make_shared<const MulticastTree>(MulticastTree{Lid(0xC000), all, {}})}, nullptr);
    const VerifyReport report = VerifyMulticast(*fabric.snapshot, fabric.lids, bare, groups, other);
    refused += !report.deadlock_free;
    EXPECT_EQ(report.ok, report.deadlock_free) << ::testing::PrintToString(report.faults);
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 5);
}

}  // namespace
}  // namespace fabricd::routing
