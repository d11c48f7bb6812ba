// SPDX-License-Identifier: Apache-2.0
// Plans of least change of plans without an order, through one fault after another. The oracles
// follow tables packet by packet and know nothing of channels' places.
#include "routing/repair/channel_repair.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "routing/repair/repair.h"
#include "routing/repair/replan.h"
#include "tests/unit/routing/faults.h"
#include "tests/unit/routing/oracle.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.
using ::testing::HasSubstr;

FabricMaker DrawMaker(uint64_t seed) {
  switch (seed % 6) {
    case 0: return MakeTorus({4, 4}, 2);
    case 1: return MakeTorus({3, 3, 3}, 1);
    case 2: return MakeTorus({5, 4}, 1);
    case 3: return MakeTorus({2, 2, 2, 2}, 1);
    case 4: return MakeTorus({4, 4, 3}, 1);
    default: return MakeRandom(10 + static_cast<int>(seed % 7), 30, 12, seed);
  }
}

// Of `layered`; where that follows an order, the tables alone.
RouteState StateOf(const TestFabric& fabric) {
  RoutingPlan plan = Route(fabric, "layered");
  plan.order.clear();
  return MakeRouteState(*fabric.snapshot, fabric.lids,
                        std::make_shared<const RoutingPlan>(std::move(plan)));
}

uint8_t Entry(const RoutingPlan& plan, NodeIndex at, Lid lid) {
  return plan.HasRow(at) ? plan.EgressPort(at, lid) : kNoRoute;
}
// The next switch; none: a dead port, an end port or no entry.
NodeIndex Next(const TestFabric& fabric, NodeIndex at, uint8_t port) {
  const PortRef out{at, PortNum(port)};
  if (port == 0 || port == kNoRoute || !LinkIsUp(*fabric.snapshot, out)) return NodeIndex::None();
  const NodeIndex peer = fabric.snapshot->port(out)->peer.node;
  return fabric.snapshot->node(peer)->IsSwitch() ? peer : NodeIndex::None();
}

// Channel dependencies of old and new entries together: each old entry followed by an old or a new
// one, each new one by a new one. What is written before a switch because it stands on its new way
// leads there no more when the switch is written.
class JointDependencies {
 public:
  JointDependencies(const TestFabric& fabric, const RoutingPlan& old_plan, const RoutingPlan& plan)
      : fabric_(fabric), plan_(plan) {
    fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
      if (!node.IsSwitch()) return;
      for (uint32_t value = 1; value <= fabric.lids.top().value(); ++value) {
        const Lid lid(static_cast<uint16_t>(value));
        const uint8_t was = Entry(old_plan, node.index, lid), is = Entry(plan, node.index, lid);
        const NodeIndex old_next = Next(fabric, node.index, was);
        const NodeIndex new_next = Next(fabric, node.index, is);
        if (!new_next.IsNone()) Add(node.index, is, new_next, Entry(plan, new_next, lid));
        if (old_next.IsNone()) continue;
        Add(node.index, was, old_next, Entry(old_plan, old_next, lid));
        if (was == is || !Passes(old_next, node.index, lid))
          Add(node.index, was, old_next, Entry(plan, old_next, lid));
      }
    });
  }
  bool HasCircle() {
    for (const auto& [channel, next] : waits_)
      if (Visit(channel)) return true;
    return false;
  }

 private:
  bool Passes(NodeIndex from, NodeIndex by, Lid lid) const {
    for (const Channel& channel : Follow(*fabric_.snapshot, plan_, from, lid).channels)
      if (channel.node == by) return true;
    return false;
  }
  void Add(NodeIndex at, uint8_t out, NodeIndex next, uint8_t then) {
    if (!Next(fabric_, next, then).IsNone())
      waits_[{at, PortNum(out)}].insert({next, PortNum(then)});
  }
  bool Visit(Channel channel) {
    int& state = state_[channel];
    if (state != 0) return state == 1;
    state = 1;
    for (const Channel& next : waits_[channel])
      if (Visit(next)) return true;
    state_[channel] = 2;
    return false;
  }
  const TestFabric& fabric_;
  const RoutingPlan& plan_;
  std::map<Channel, std::set<Channel>> waits_;
  std::map<Channel, int> state_;
};

// Changed entries of switches from which the LID arrives by the old tables.
uint64_t MovedWithoutNeed(const TestFabric& fabric, const RoutingPlan& old_plan,
                          const PlanDiff& diff) {
  uint64_t moved = 0;
  for (const ChangedBlock& changed : diff.blocks)
    for (uint32_t i = 0; i < 64; ++i) {
      const Lid lid(static_cast<uint16_t>(changed.block * 64 + i));
      if (!(changed.lids >> i & 1) || !old_plan.HasRow(changed.node)) continue;
      const PortRef end = Follow(*fabric.snapshot, old_plan, changed.node, lid).end;
      moved += !end.IsNone() && end == fabric.lids.Owner(lid);
    }
  return moved;
}

struct Tally {
  uint64_t repaired = 0, refused = 0, one_stage = 0, entries = 0, moved = 0;
};

// One step of a fabric's life; the state after it.
RouteState Live(const TestFabric& now, const RouteState& state, Tally& tally) {
  const auto repair = RepairPlan(state, *now.snapshot, now.lids, {.urgent = false, .threads = 2});
  if (!repair.ok()) {
    EXPECT_EQ(repair.status().code(), absl::StatusCode::kFailedPrecondition) << repair.status();
    ++tally.refused;
    return StateOf(now);
  }
  ++tally.repaired;
  const RoutingPlan& plan = *repair->after.plan;
  EXPECT_TRUE(plan.order.empty());
  EXPECT_TRUE(plan.pending.empty());
  EXPECT_TRUE(Judge(now, plan).ok);
  EXPECT_EQ(UnreachablePairs(now, plan), 0u);
  EXPECT_FALSE(HasCreditLoop(now, plan));
  tally.entries += repair->diff.entries;
  tally.moved += MovedWithoutNeed(now, *state.plan, repair->diff);
  const AppliedTables held = TablesOf(*state.plan);
  const PushPlan push = OrderPush({repair->after.links, held, state.plan.get(), plan, 1});
  EXPECT_TRUE(push.hitless) << push.why_not;
  if (push.stages == 1) {
    ++tally.one_stage;
    EXPECT_FALSE(JointDependencies(now, *state.plan, plan).HasCircle());
  }
  const auto alone = RepairPlan(state, *now.snapshot, now.lids, {.urgent = false, .threads = 1});
  EXPECT_TRUE(alone.ok() && DiffPlans(*alone->after.plan, plan).blocks.empty());
  return repair->after;
}

TEST(ChannelRepair, KeepsServedPairsThroughSuccessiveFaults) {
  Tally tally;
  for (uint64_t seed = 0; seed < 48; ++seed) {
    SCOPED_TRACE(seed);
    FaultyFabric faulty(DrawMaker(seed).Build(), seed);
    RouteState state = StateOf(faulty.now());
    Rng rng(seed);
    for (int step = 0; step < 4; ++step) {
      SCOPED_TRACE(step);
      faulty.Cut(faulty.cables()[rng.Below(faulty.cables().size())]);
      faulty.Apply();
      state = Live(faulty.now(), state, tally);
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(tally.repaired, 20 * tally.refused);
  EXPECT_GT(tally.one_stage, 3 * tally.repaired / 4);
  EXPECT_LT(50 * tally.moved, tally.entries);
}

// Switches, hosts and cables leave and return.
TEST(ChannelRepair, ServesAllThroughRandomFaults) {
  int repaired = 0, full = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    FaultyFabric faulty(DrawMaker(seed).Build(), seed);
    RouteState state = StateOf(faulty.now());
    for (int step = 0; step < 8; ++step) {
      SCOPED_TRACE(step);
      faulty.RandomStep();
      const TestFabric& now = faulty.now();
      const auto repair = RepairPlan(state, *now.snapshot, now.lids);
      if (repair.ok()) {
        EXPECT_TRUE(Judge(now, *repair->after.plan).ok);
        for (const ExemptPair& pair : repair->after.plan->pending)
          EXPECT_EQ(now.lids.Owner(pair.destination).port, PortNum(0));
      }
      repair.ok() ? ++repaired : ++full;
      state = repair.ok() ? repair->after : StateOf(now);
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(repaired, 3 * full);
}

TEST(ChannelRepair, TheReturnOfALinkChangesNothing) {
  FaultyFabric faulty(MakeTorus({4, 4, 4}, 1).Build(), 1);
  const RouteState state = StateOf(faulty.now());
  faulty.Cut(faulty.cables()[7]);
  faulty.Apply();
  const auto cut = RepairPlan(state, *faulty.now().snapshot, faulty.now().lids);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_FALSE(cut->diff.blocks.empty());
  faulty.MendAll();
  const auto mended = RepairPlan(cut->after, *faulty.now().snapshot, faulty.now().lids);
  ASSERT_TRUE(mended.ok()) << mended.status();
  EXPECT_TRUE(mended->diff.blocks.empty());
}

// Losing each cable of the torus and getting it back are both hitless.
TEST(ChannelRepair, LossAndReturnOfAnyCableOfATorusAreHitless) {
  const TestFabric torus = MakeTorus({4, 4, 4}, 1).Build();
  const RouteState state = StateOf(torus);
  FaultyFabric faulty(torus, 1);
  for (const FaultyFabric::Cable& cable : faulty.cables()) {
    faulty.Cut(cable);
    faulty.Apply();
    const auto repair = RepairPlan(state, *faulty.now().snapshot, torus.lids);
    ASSERT_TRUE(repair.ok()) << repair.status();
    const RoutingPlan& plan = *repair->after.plan;
    const AppliedTables before = TablesOf(*state.plan), after = TablesOf(plan);
    EXPECT_TRUE(OrderPush({repair->after.links, before, state.plan.get(), plan, 1}).hitless);
    EXPECT_TRUE(OrderPush({state.links, after, &plan, *state.plan, 1}).hitless);
    faulty.MendAll();
  }
}

TEST(ChannelRepair, ADrainIsAnIncrementalRepair) {
  const TestFabric torus = MakeTorus({4, 4, 3}, 1).Build();
  const auto before = std::make_shared<const RouteState>(StateOf(torus));
  RoutingOptions options;
  options.chain = {"layered"};
  FaultyFabric faulty(torus, 1);
  int least = 0, all = 0;
  for (size_t c = 0; c < faulty.cables().size(); c += 5, ++all) {
    fabric::Intent intent;
    intent.closed_links = {faulty.cables()[c].first};
    const AppliedTables held = TablesOf(*before->plan);
    ReplanInput input{*torus.snapshot, torus.lids, intent, options, before, ReplanGoal::kWhole};
    input.applied = &held;
    const ReplanResult result = Replan(input);
    ASSERT_NE(result.after, nullptr);
    if (!result.steps.empty()) continue;
    ++least;
    EXPECT_TRUE(result.push->hitless) << result.push->why_not;
    const PortRef end = faulty.cables()[c].first;
    for (uint32_t value = 1; value <= torus.lids.top().value(); ++value)
      EXPECT_NE(Entry(*result.after->plan, end.node, Lid(static_cast<uint16_t>(value))),
                end.port.value());
  }
  EXPECT_GT(4 * least, 3 * all);
}

TEST(ChannelRepair, DeclinesTablesWithADependencyCycle) {
  // A ring in which everybody goes round the same way, and a switch beside it on two cables.
  FabricMaker maker;
  for (int s = 0; s < 6; ++s) maker.AddSwitch(8);
  for (size_t s = 0; s < 6; ++s) maker.Cable(s, (s + 1) % 6);
  const size_t beside = maker.AddSwitch(8);
  for (size_t s = 0; s < 6; ++s) maker.Host(s);
  maker.Cable(0, beside);
  maker.Cable(0, beside);
  maker.Host(beside);
  const TestFabric ring = maker.Build();
  RoutingPlan plan = Route(ring, "up_down");
  plan.order.clear();
  for (size_t s = 0; s < 6; ++s) {
    const NodeIndex at = ring.node[s];
    auto row = std::make_shared<Row>(*plan.rows[at.value()]);
    for (uint8_t port = 1; port < ring.snapshot->node(at)->ports.size(); ++port) {
      if (Next(ring, at, port) != ring.node[(s + 1) % 6]) continue;
      for (uint32_t value = 1; value <= ring.lids.top().value(); ++value) {
        const PortRef owner = ring.lids.Owner(Lid(static_cast<uint16_t>(value)));
        const PortRef end = owner.port == PortNum(0) ? owner : ring.snapshot->port(owner)->peer;
        if (end.node != ring.node[beside] && end.node != at) row->Set(value, port);
      }
    }
    plan.rows[at.value()] = row;
  }
  const RouteState state = MakeRouteState(*ring.snapshot, ring.lids,
                                          std::make_shared<const RoutingPlan>(std::move(plan)));
  FaultyFabric faulty(ring, 1);
  for (const FaultyFabric::Cable& cable : faulty.cables())
    if (cable.first.node == ring.node[beside] || cable.second.node == ring.node[beside]) {
      faulty.Cut(cable);
      break;
    }
  faulty.Apply();
  const auto repair = RepairPlan(state, *faulty.now().snapshot, ring.lids, {.urgent = false});
  EXPECT_THAT(fabricd::Message(repair.status()), HasSubstr("of the old plan make a circle"));
}

}  // namespace
}  // namespace fabricd::routing
