// SPDX-License-Identifier: Apache-2.0
// What is left of faults and holds when they have ended: nothing. The plan that a long life of
// least changes and settling leads to is that of a manager which has just started.
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rng.h"
#include "routing/repair/replan.h"
#include "sim/generate/generate.h"
#include "tests/unit/routing/faults.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.
using fabric::Intent;

using Chain = std::vector<std::string>;
const Chain kDefaultChain = {"rail", "fat_tree", "layered", "up_down"};
const Chain kChains[] = {kDefaultChain, {"rail"},    {"fat_tree"},
                         {"layered"},   {"up_down"}, {"min_hop"}};

TestFabric Generate(const std::string& spec) {
  TestFabric fabric;
  fabric.snapshot = *sim::Generate(spec);
  uint16_t lid = 0;
  fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    for (size_t port = 0; port < node.ports.size(); ++port)
      if (node.IsSwitch() ? port == 0 : !node.ports[port].peer.IsNone())
        fabric.lids.Assign({node.index, PortNum(static_cast<uint8_t>(port))}, {Lid(++lid), 0});
  });
  return fabric;
}

// Switch by switch, LID by LID.
bool SameTables(const RoutingPlan& a, const RoutingPlan& b) {
  for (size_t node = 0; node < std::max(a.rows.size(), b.rows.size()); ++node) {
    const Row* one = node < a.rows.size() ? a.rows[node].get() : nullptr;
    const Row* other = node < b.rows.size() ? b.rows[node].get() : nullptr;
    if ((one == nullptr) != (other == nullptr) || (one && !(*one == *other))) return false;
  }
  return true;
}

// A fabric, what is wanted of it, and the plans that a core would ask for.
class Life {
 public:
  Life(const std::string& spec, Chain chain, uint64_t seed)
      : intact_(Generate(spec)), faulty_(intact_, seed), rng_(seed + 1) {
    options_.chain = std::move(chain);
    options_.threads = 1;
    Take(Fresh());
  }

  // False: the engines do not fit this fabric.
  bool HasPlan() const { return state_ != nullptr; }
  const RoutingPlan& plan() const { return *state_->plan; }
  FaultyFabric& faulty() { return faulty_; }
  Rng& rng() { return rng_; }
  Intent intent;

  NodeIndex Switch(const std::string& name) const {
    for (NodeIndex node : faulty_.switches())
      if (intact_.snapshot->node(node)->description == name) return node;
    return NodeIndex::None();
  }
  const FaultyFabric::Cable& AnyCable() {
    return faulty_.cables()[rng_.Below(faulty_.cables().size())];
  }
  NodeIndex AnySwitch() { return faulty_.switches()[rng_.Below(faulty_.switches().size())]; }

  void HurtByChance() {
    for (uint64_t left = 1 + rng_.Below(2); left > 0; --left) switch (rng_.Below(6)) {
        case 0:
        case 1: faulty_.Cut(AnyCable()); break;
        case 2: faulty_.Kill(AnySwitch()); break;
        case 3: intent.closed_switches = {AnySwitch()}; break;
        case 4: intent.avoided_links = {AnyCable().first}; break;
        default: Flap(AnyCable()); break;
      }
    faulty_.Apply();
  }
  // It is avoided for a while, and may be down at the moment.
  void Flap(const FaultyFabric::Cable& cable) {
    intent.flapping_links = {
        {std::min(cable.first, cable.second), std::max(cable.first, cable.second)}};
    intent.avoided_links = {intent.flapping_links[0].a};
    if (rng_.Chance(0.5)) faulty_.Cut(cable);
  }
  void HealAll() {
    faulty_.MendAll();
    intent = {};
  }

  // At once, then what that left pending.
  void React() {
    for (const ReplanGoal goal : {ReplanGoal::kUrgent, ReplanGoal::kWhole}) {
      const ReplanResult result = Ask(goal);
      Take(result);
      if (result.reached != ReplanGoal::kUrgent) return;
    }
  }
  // What the core asks for when that has stood for a while.
  ReplanResult Settle() {
    ReplanResult result = Ask(ReplanGoal::kIdealIfHitless);
    Take(result);
    return result;
  }
  // Of a manager that has just started.
  ReplanResult Fresh() const {
    return Replan({*faulty_.now().snapshot, intact_.lids, intent, options_, nullptr});
  }
  ReplanResult Ask(ReplanGoal goal) const {
    return Replan({*faulty_.now().snapshot, intact_.lids, intent, options_, state_, goal, &held_});
  }
  // Of a manager that has just started, and reads what its predecessor has left.
  ReplanResult Restarted() const {
    return Replan({*faulty_.now().snapshot, intact_.lids, intent, options_, nullptr,
                   ReplanGoal::kIdealIfHitless, &held_, true, nullptr, Fresh().after});
  }
  PushPlan PushTo(const RouteState& after) const {
    return OrderPush({after.links, held_, state_->plan.get(), *after.plan, 1});
  }

 private:
  // Switches that the plan has no table for keep what they hold.
  void Take(const ReplanResult& result) {
    if (!result.after) return;
    state_ = result.after;
    held_.rows.resize(state_->plan->rows.size());
    for (size_t node = 0; node < held_.rows.size(); ++node)
      if (state_->plan->rows[node]) held_.rows[node] = *state_->plan->rows[node];
  }

  const TestFabric intact_;
  FaultyFabric faulty_;
  Rng rng_;
  RoutingOptions options_;
  std::shared_ptr<const RouteState> state_;
  AppliedTables held_;
};

class Recovery : public ::testing::Test {
 protected:
  // Three times something happens; then all of it ends. What the last settling came to is left in
  // `life`.
  static std::string LiveThroughFaults(Life& life) {
    for (int step = 0; step < 3; ++step) {
      life.HurtByChance();
      life.React();
      if (life.rng().Chance(0.6)) life.Settle();
    }
    life.HealAll();
    life.React();
    return life.Settle().put_off;
  }
};

TEST_F(Recovery, TreesReturnToTheTablesOfAFreshStart) {
  for (const char* spec : {"superpod:sus=2,hosts=8,rails=4", "superpod:sus=4,hosts=4,rails=2",
                           "fat-tree:radix=8,levels=2"})
    for (const Chain& chain : kChains)
      for (uint64_t seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE(fmt::format("{} by {}, seed {}", spec, chain[0], seed));
        Life life(spec, chain, seed);
        if (!life.HasPlan()) break;
        EXPECT_EQ(LiveThroughFaults(life), "");
        const ReplanResult fresh = life.Fresh();
        EXPECT_EQ(life.plan().engine, fresh.after->plan->engine);
        EXPECT_TRUE(SameTables(life.plan(), *fresh.after->plan));
      }
}

// Where paths take every turn on one VL, there may be no hitless push. Then, and only then, the
// tables stay as they are, after a restart too.
TEST_F(Recovery, OtherTopologiesReturnWhereThePushIsHitless) {
  size_t back = 0, runs = 0;
  for (const char* spec :
       {"fat-tree:radix=4,levels=3", "torus:dims=3x3x3", "hypercube:dimensions=4,hosts=2",
        "dragonfly-plus:groups=4,leaves=2,spines=2,hosts=2", "random:switches=16,degree=4,hosts=2"})
    for (const Chain& chain : kChains)
      for (uint64_t seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE(fmt::format("{} by {}, seed {}", spec, chain[0], seed));
        Life life(spec, chain, seed);
        if (!life.HasPlan()) break;
        const std::string put_off = LiveThroughFaults(life);
        const ReplanResult fresh = life.Fresh();
        const bool same = SameTables(life.plan(), *fresh.after->plan);
        ++runs, back += same;
        EXPECT_EQ(same, put_off.empty());
        if (!same) {
          EXPECT_FALSE(life.PushTo(*fresh.after).hitless);
          const ReplanResult restarted = life.Restarted();
          EXPECT_TRUE(SameTables(life.plan(), *restarted.after->plan));
          EXPECT_TRUE(restarted.push->writes.empty());
        }
      }
  EXPECT_GT(back * 4, runs * 3);
}

// The load of a drained spine spreads so evenly over the others that load alone is no reason to use
// it again.
TEST_F(Recovery, AnUndrainedSpineIsUsedAgain) {
  Life life("superpod:sus=4,hosts=32,rails=8", kDefaultChain, 1);
  for (const char* spine : {"spine4", "spine16"}) {
    SCOPED_TRACE(spine);
    life.intent.closed_switches = {life.Switch(spine)};
    life.React();
    EXPECT_EQ(life.Settle().put_off, "");
    EXPECT_FALSE(life.plan().HasRow(life.Switch(spine)));
    life.intent = {};
    life.React();
    const ReplanResult settled = life.Settle();
    EXPECT_EQ(settled.put_off, "");
    EXPECT_TRUE(SameTables(life.plan(), *life.Fresh().after->plan));
  }
}

// Other spines of the rail take over: no other rail is touched, and no path is interrupted.
TEST_F(Recovery, ADrainOnSixteenUnitsIsHitless) {
  Life life("superpod:sus=16,hosts=32,rails=8", kDefaultChain, 1);
  life.intent.closed_switches = {life.Switch("rail0-spine4")};
  const ReplanResult drained = life.Ask(ReplanGoal::kWhole);
  EXPECT_EQ(drained.reached, ReplanGoal::kWhole);
  ASSERT_TRUE(drained.push.has_value());
  EXPECT_TRUE(drained.push->hitless) << drained.push->why_not;
}

// After a restart during a drain there is no previous plan, and the new plan is the same.
TEST_F(Recovery, AFreshStartDuringADrainComputesTheAppliedPlan) {
  Life life("superpod:sus=4,hosts=32,rails=8", kDefaultChain, 1);
  life.intent.closed_switches = {life.Switch("spine4")};
  life.React();
  life.Settle();
  const ReplanResult fresh = life.Fresh();
  EXPECT_EQ(fresh.after->plan->engine, "rail");
  EXPECT_EQ(life.plan().engine, "rail");
  EXPECT_TRUE(SameTables(life.plan(), *fresh.after->plan));
}

// All entries but those over the link are as after a fresh start on the intact fabric, whether the
// link is up or down at present.
TEST_F(Recovery, AFlappingLinkDoesNotDelayReoptimisationOfOthers) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    Life life("superpod:sus=2,hosts=8,rails=4", kDefaultChain, seed);
    const std::shared_ptr<const RoutingPlan> whole = life.Fresh().after->plan;
    const auto other = life.faulty().cables().back(), flapping = life.faulty().cables().front();
    life.faulty().Cut(other);
    life.faulty().Apply();
    life.React();
    life.Flap(flapping);
    life.faulty().Mend(other);
    life.faulty().Apply();
    life.React();
    EXPECT_FALSE(SameTables(life.plan(), *whole));
    EXPECT_EQ(life.Settle().put_off, "");
    size_t moved = 0;
    const RoutingPlan& plan = life.plan();
    for (uint16_t lid = 1; lid <= plan.lid_top.value(); ++lid) {
      bool used = false;
      for (PortRef end : {flapping.first, flapping.second})
        used |= whole->EgressPort(end.node, Lid(lid)) == end.port.value();
      for (NodeIndex node : life.faulty().switches()) {
        const bool same = plan.EgressPort(node, Lid(lid)) == whole->EgressPort(node, Lid(lid));
        EXPECT_TRUE(used || same) << lid;
        moved += !same;
      }
    }
    EXPECT_GT(moved, 0u);
    life.HealAll();
    life.React();
    EXPECT_EQ(life.Settle().put_off, "");
    EXPECT_TRUE(SameTables(life.plan(), *whole));
  }
}

}  // namespace
}  // namespace fabricd::routing
