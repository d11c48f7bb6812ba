// SPDX-License-Identifier: Apache-2.0
// Plans of least change on random fabrics through random faults, judged by the full verifier and by
// oracles that know nothing of how a repair works.
#include "routing/repair/repair.h"

#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "routing/proof/change_proof.h"
#include "routing/repair/replan.h"
#include "tests/unit/routing/faults.h"
#include "tests/unit/routing/oracle.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.
using ::testing::HasSubstr;

// More by FABRICD_REPAIR_RUNS.
uint64_t Runs() {
  const char* runs = std::getenv("FABRICD_REPAIR_RUNS");
  return runs ? std::strtoull(runs, nullptr, 10) : 60;
}

FabricMaker DrawMaker(uint64_t seed) {
  Rng rng(seed);
  const auto number = [&](uint64_t from, uint64_t to) {
    return static_cast<int>(from + rng.Below(to - from));
  };
  switch (seed % 5) {
    case 0: return MakeFatTree(4, 3);
    case 1:
      return MakeTree({{2, 1}, {number(2, 4), number(2, 4), number(1, 3)}, {number(2, 4), 2, 2}});
    case 2: return MakeTorus({number(2, 5), number(2, 5)}, number(1, 3));
    case 3: return MakeTree({{4, 1}, {6, 4}});
    default: return MakeRandom(number(3, 14), number(6, 30), number(4, 16), seed);
  }
}

RouteState StateOf(const TestFabric& fabric, RoutingPlan plan) {
  return MakeRouteState(*fabric.snapshot, fabric.lids,
                        std::make_shared<const RoutingPlan>(std::move(plan)));
}

// Of one of the engines that follow an order; of up_down where that one does not fit.
RoutingPlan RouteBy(uint64_t seed, const TestFabric& fabric,
                    const RoutingPlan* previous = nullptr) {
  const char* const names[] = {"up_down", "fat_tree", "rail"};
  const RoutingOptions options;
  auto plan =
      MakeEngine(names[seed / 2 % 3])->Compute({*fabric.snapshot, fabric.lids, options, previous});
  if (plan.ok() && !plan->order.empty() && Judge(fabric, *plan).ok) return *std::move(plan);
  return Route(fabric, "up_down", options, previous);
}

bool Arrives(const TestFabric& fabric, const RoutingPlan& plan, NodeIndex from, Lid lid) {
  const PortRef owner = fabric.lids.Owner(lid);
  return !owner.IsNone() && Follow(*fabric.snapshot, plan, from, lid).end == owner;
}

bool CarriesHosts(const TestFabric& fabric, NodeIndex at) {
  const fabric::Node& node = *fabric.snapshot->node(at);
  for (size_t port = 1; port < node.ports.size(); ++port)
    if (LinkIsUp(*fabric.snapshot, {at, PortNum(static_cast<uint8_t>(port))}) &&
        !fabric.snapshot->node(node.ports[port].peer.node)->IsSwitch())
      return true;
  return false;
}

// Switches with a way that rises and then falls in the plan's order, to the switch `to`.
std::set<NodeIndex> WithLegalWay(const TestFabric& fabric, const std::vector<uint32_t>& order,
                                 NodeIndex to) {
  std::set<NodeIndex> falling{to}, all;
  std::vector<NodeIndex> open{to};
  const auto grow = [&](std::set<NodeIndex>& reached, bool down) {
    while (!open.empty()) {
      const NodeIndex at = open.back();
      open.pop_back();
      const fabric::Node& node = *fabric.snapshot->node(at);
      for (size_t port = 1; port < node.ports.size(); ++port) {
        if (!LinkIsUp(*fabric.snapshot, {at, PortNum(static_cast<uint8_t>(port))})) continue;
        const NodeIndex peer = node.ports[port].peer.node;
        if (!fabric.snapshot->node(peer)->IsSwitch()) continue;
        // Backwards: who falls to us stands above us.
        if ((order[peer.value()] > order[at.value()]) == down && reached.insert(peer).second)
          open.push_back(peer);
      }
    }
  };
  grow(falling, true);
  all = falling;
  open.assign(all.begin(), all.end());
  grow(all, false);
  return all;
}

bool SomePairHasNoLegalWay(const TestFabric& fabric, const std::vector<uint32_t>& order) {
  bool found = false;
  fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch() || found) return;
    const std::set<NodeIndex> served = WithLegalWay(fabric, order, node.index);
    for (NodeIndex other : Connected(*fabric.snapshot, node.index))
      found |= fabric.snapshot->node(other)->IsSwitch() && !served.count(other);
  });
  return found;
}

// Every entry that was changed did not bring its LID home any more.
void ExpectOnlyBrokenEntriesChanged(const TestFabric& fabric, const RoutingPlan& before,
                                    const PlanDiff& diff) {
  for (const ChangedBlock& changed : diff.blocks)
    for (uint32_t i = 0; i < 64; ++i) {
      if (!(changed.lids >> i & 1) || !before.HasRow(changed.node)) continue;
      const Lid lid(static_cast<uint16_t>(changed.block * 64 + i));
      if (lid.value() > before.lid_top.value()) continue;
      EXPECT_FALSE(Arrives(fabric, before, changed.node, lid)) << "LID " << lid.value();
    }
}

void ExpectServesHosts(const TestFabric& fabric, const RoutingPlan& plan) {
  for (const ExemptPair& pair : plan.pending) {
    const PortRef owner = fabric.lids.Owner(pair.destination);
    EXPECT_FALSE(CarriesHosts(fabric, pair.source_switch) && owner.port.value() != 0 &&
                 LinkIsUp(*fabric.snapshot, owner))
        << "LID " << pair.destination.value() << " is left pending where hosts need it";
  }
}

void ExpectSamePlans(const RoutingPlan& a, const RoutingPlan& b) {
  ASSERT_EQ(a.rows.size(), b.rows.size());
  for (size_t i = 0; i < a.rows.size(); ++i) {
    ASSERT_EQ(a.rows[i] == nullptr, b.rows[i] == nullptr);
    EXPECT_TRUE(!a.rows[i] || *a.rows[i] == *b.rows[i]);
  }
  EXPECT_EQ(a.pending, b.pending);
  EXPECT_EQ(a.stale, b.stale);
  EXPECT_EQ(a.order, b.order);
}

struct Tally {
  int repaired = 0, full = 0, urgent = 0, in_order = 0, by_order = 0;
};

// One step of a fabric's life; returns the state after it.
RouteState Live(uint64_t seed, const TestFabric& now, const RouteState& state, bool urgent,
                bool healed, Tally& tally) {
  auto repair = RepairPlan(state, *now.snapshot, now.lids, {urgent, 2});
  if (!repair.ok()) {
    ++tally.full;
    EXPECT_EQ(repair.status().code(), absl::StatusCode::kFailedPrecondition) << repair.status();
    const bool no_way = fabricd::Message(repair.status()).find("no way") != std::string::npos;
    EXPECT_TRUE(!no_way || SomePairHasNoLegalWay(now, state.plan->order)) << repair.status();
    return StateOf(now, RouteBy(seed, now));
  }
  ++tally.repaired;
  const RoutingPlan& plan = *repair->after.plan;
  const VerifyReport report = Judge(now, plan);
  EXPECT_TRUE(report.ok) << (report.faults.empty() ? "" : report.faults[0]);
  EXPECT_TRUE(repair->proof.ok);
  LinkChanges changes;
  const LinkMap links = state.links.Next(*now.snapshot, now.lids, changes);
  if (plan.order == state.plan->order) {
    ++tally.in_order;
    tally.by_order += !FindChangeFault(
        {state.links, *state.plan, links, plan, changes, DiffPlans(*state.plan, plan)});
  }
  if (urgent)
    ExpectServesHosts(now, plan);
  else
    EXPECT_TRUE(plan.pending.empty());
  // What came back may let a switch go down that so far goes up; such entries may have to follow.
  if (!healed) ExpectOnlyBrokenEntriesChanged(now, *state.plan, repair->diff);
  const auto alone = RepairPlan(state, *now.snapshot, now.lids, {urgent, 1});
  EXPECT_TRUE(alone.ok());
  if (alone.ok()) ExpectSamePlans(plan, *alone->after.plan);
  return repair->after;
}

TEST(Repair, IncrementalRepairsVerifyThroughRandomFaults) {
  Tally tally;
  for (uint64_t seed = 0; seed < Runs(); ++seed) {
    SCOPED_TRACE(seed);
    FaultyFabric faulty(DrawMaker(seed).Build(static_cast<uint8_t>(seed / 5 % 3)), seed);
    RouteState state = StateOf(faulty.now(), RouteBy(seed, faulty.now()));
    for (int step = 0; step < 12; ++step) {
      SCOPED_TRACE(step);
      faulty.RandomStep();
      state = Live(seed, faulty.now(), state, step % 3 != 2, true, tally);
      if (::testing::Test::HasFailure()) return;
    }
    // Whole again: the engine's own plan, whatever happened in between.
    faulty.MendAll();
    ExpectSamePlans(Route(faulty.now(), "up_down", {}, state.plan.get()),
                    Route(faulty.now(), "up_down"));
  }
  // Full plans are the exception, and so is the full verifier.
  EXPECT_GT(tally.repaired, 3 * tally.full);
  EXPECT_GT(tally.in_order, tally.repaired / 2);
  EXPECT_GT(tally.by_order, 3 * tally.in_order / 4);
  RecordProperty("repaired", tally.repaired);
  RecordProperty("full", tally.full);
}

TEST(Repair, OneFaultChangesOnlyEntriesThatItBroke) {
  Tally tally;
  for (uint64_t seed = 0; seed < Runs(); ++seed) {
    SCOPED_TRACE(seed);
    FaultyFabric faulty(DrawMaker(seed).Build(static_cast<uint8_t>(seed / 5 % 3)), seed);
    if (faulty.cables().empty()) continue;
    RouteState state = StateOf(faulty.now(), RouteBy(seed, faulty.now()));
    Rng rng(seed);
    for (int fault = 0; fault < 3; ++fault) {
      faulty.Cut(faulty.cables()[rng.Below(faulty.cables().size())]);
      faulty.Apply();
      state = Live(seed, faulty.now(), state, fault == 1, false, tally);
    }
    faulty.Kill(faulty.switches()[rng.Below(faulty.switches().size())]);
    faulty.Apply();
    Live(seed, faulty.now(), state, seed % 2, false, tally);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(tally.repaired, 3 * tally.full);
}

TEST(Repair, TheReturnOfALinkChangesNothing) {
  const TestFabric intact = MakeFatTree(6, 3).Build();
  FaultyFabric faulty(intact, 1);
  RouteState state = StateOf(intact, Route(intact, "up_down"));
  faulty.Cut(faulty.cables()[100]);
  faulty.Apply();
  const auto cut = RepairPlan(state, *faulty.now().snapshot, intact.lids, {false, 0});
  ASSERT_TRUE(cut.ok());
  EXPECT_FALSE(cut->diff.blocks.empty());
  faulty.MendAll();
  const auto mended = RepairPlan(cut->after, *faulty.now().snapshot, intact.lids, {false, 0});
  ASSERT_TRUE(mended.ok());
  EXPECT_TRUE(mended->diff.blocks.empty());
  // The ideal plan moves back just what had moved.
  const RoutingPlan ideal = Route(faulty.now(), "up_down", {}, mended->after.plan.get());
  const PlanDiff back = DiffPlans(*mended->after.plan, ideal);
  EXPECT_EQ(back.blocks.size(), cut->diff.blocks.size());
  EXPECT_EQ(back.entries, cut->diff.entries);
  EXPECT_TRUE(DiffPlans(*state.plan, ideal).blocks.empty());
}

TEST(Repair, AHostThatLeavesAndReturnsChangesNoEntry) {
  const TestFabric intact = MakeFatTree(4, 3).Build();
  FaultyFabric faulty(intact, 1);
  RouteState state = StateOf(intact, Route(intact, "up_down"));
  const fabric::Node* host = nullptr;
  intact.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch()) host = &node;
  });
  const FaultyFabric::Cable cable{{host->index, PortNum(1)}, host->ports[1].peer};
  faulty.Cut(cable);
  faulty.Apply();
  const auto gone = RepairPlan(state, *faulty.now().snapshot, intact.lids);
  ASSERT_TRUE(gone.ok());
  EXPECT_TRUE(gone->diff.blocks.empty());
  EXPECT_EQ(gone->after.plan->stale, std::vector<Lid>{intact.lids.Of(cable.first).base});
  faulty.MendAll();
  const auto back = RepairPlan(gone->after, *faulty.now().snapshot, intact.lids);
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->diff.blocks.empty());
  EXPECT_TRUE(back->after.plan->stale.empty());
}

TEST(Repair, ASwitchThatLeavesAndReturnsIsWrittenAlone) {
  const TestFabric intact = MakeFatTree(4, 3).Build();
  FaultyFabric faulty(intact, 1);
  RouteState state = StateOf(intact, Route(intact, "up_down"));
  const NodeIndex leaf = intact.node[1];  // Not the apex of the order.
  faulty.Kill(leaf);
  faulty.Apply();
  const auto gone = RepairPlan(state, *faulty.now().snapshot, intact.lids, {false, 0});
  ASSERT_TRUE(gone.ok()) << gone.status();
  faulty.Revive(leaf);
  faulty.Apply();
  const auto back = RepairPlan(gone->after, *faulty.now().snapshot, intact.lids, {false, 0});
  ASSERT_TRUE(back.ok()) << back.status();
  for (const ChangedBlock& changed : back->diff.blocks) EXPECT_EQ(changed.node, leaf);
  EXPECT_EQ(back->after.plan->order, state.plan->order);
  EXPECT_TRUE(Judge(faulty.now(), *back->after.plan).ok);
}

TEST(Repair, OneOfParallelCablesTouchesItsTwoSwitches) {
  for (int parallel : {2, 4}) {
    const TestFabric intact = MakeTree({{4, 1}, {4, 4, parallel}}).Build();
    FaultyFabric faulty(intact, 1);
    RouteState state = StateOf(intact, Route(intact, "up_down"));
    faulty.Cut(faulty.cables()[5]);
    faulty.Apply();
    const auto repair = RepairPlan(state, *faulty.now().snapshot, intact.lids, {false, 0});
    ASSERT_TRUE(repair.ok());
    EXPECT_LE(repair->diff.switches, 2u);
    EXPECT_LE(repair->diff.blocks.size(), 2u * (intact.lids.top().value() / 64 + 1));
  }
}

TEST(Repair, TakesInNewSwitchesAndHosts) {
  FabricMaker maker = MakeRandom(8, 20, 10, 3);
  const TestFabric small = maker.Build();
  RouteState state = StateOf(small, Route(small, "up_down"));
  const size_t first = maker.AddSwitch(8), second = maker.AddSwitch(8);
  maker.Cable(first, 2);
  maker.Cable(second, first);
  for (size_t at : {first, second, size_t{0}}) maker.Host(at);
  const TestFabric grown = maker.Build();
  const auto repair = RepairPlan(state, *grown.snapshot, grown.lids, {false, 0});
  ASSERT_TRUE(repair.ok()) << repair.status();
  EXPECT_TRUE(Judge(grown, *repair->after.plan).ok);
  EXPECT_EQ(UnreachablePairs(grown, *repair->after.plan), 0u);
}

// A port that is down has a LID too, and the tables are written up to the highest one.
TEST(Repair, RowsReachToALidThatIsAttachedNowhere) {
  FabricMaker maker;
  for (int s = 0; s < 2; ++s) maker.AddSwitch(80);
  maker.Cable(0, 1);
  for (int host = 0; host < 61; ++host) maker.Host(0);
  const TestFabric small = maker.Build();
  ASSERT_EQ(small.lids.top(), Lid(63));
  const RouteState state = StateOf(small, Route(small, "up_down"));
  maker.AddHost();
  const TestFabric grown = maker.Build();
  const auto repair = RepairPlan(state, *grown.snapshot, grown.lids, {false, 0});
  ASSERT_TRUE(repair.ok()) << repair.status();
  EXPECT_EQ(repair->after.plan->lid_top, Lid(64));
  for (const auto& row : repair->after.plan->rows) EXPECT_TRUE(!row || row->size() > 64);
  EXPECT_TRUE(repair->diff.blocks.empty());
}

TEST(Repair, LeavesTablesThatDoNotHoldAllLidsToAFullPlan) {
  FabricMaker maker = MakeRing(4, 1);
  maker.SetLinearFdbCap(1, 5);
  const TestFabric ring = maker.Build();
  const RouteState state = StateOf(ring, Route(ring, "up_down"));
  FaultyFabric faulty(ring, 1);
  for (const FaultyFabric::Cable& cable : faulty.cables()) {
    faulty.Cut(cable);
    faulty.Apply();
    const auto repair = RepairPlan(state, *faulty.now().snapshot, ring.lids, {false, 0});
    EXPECT_THAT(fabricd::Message(repair.status()), HasSubstr("holds fewer LIDs"));
    faulty.MendAll();
  }
}

// Each new LID needs a path from every switch: for many new LIDs a full plan takes less time.
TEST(Repair, LeavesManyNewLidsToAFullPlan) {
  FabricMaker maker = MakeRandom(8, 20, 10, 3);
  const TestFabric small = maker.Build();
  const RouteState state = StateOf(small, Route(small, "up_down"));
  maker.Cable(maker.AddSwitch(8), 2);
  const TestFabric grown = maker.Build();
  RepairOptions options{.urgent = false};
  EXPECT_TRUE(RepairPlan(state, *grown.snapshot, grown.lids, options).ok());
  options.most_steps = 100;
  EXPECT_THAT(fabricd::Message(RepairPlan(state, *grown.snapshot, grown.lids, options).status()),
              HasSubstr("new"));
}

TEST(Repair, DeclinesWhereAFullPlanIsNeeded) {
  const TestFabric ring = MakeRing(6, 1).Build();
  FaultyFabric faulty(ring, 1);
  RoutingPlan on_lanes = Route(ring, "up_down");
  on_lanes.lanes = 2;
  EXPECT_THAT(
      fabricd::Message(RepairPlan(StateOf(ring, on_lanes), *ring.snapshot, ring.lids).status()),
      HasSubstr("2 lanes"));
  // A ring without one of its cables is a chain. Where that leaves two switches on top there is no
  // way but through what is above, unless one switch only lies between them, which can be turned.
  const RouteState state = StateOf(ring, Route(ring, "up_down"));
  int declined = 0, turned = 0;
  for (const FaultyFabric::Cable& cable : faulty.cables()) {
    faulty.Cut(cable);
    faulty.Apply();
    const bool lost = SomePairHasNoLegalWay(faulty.now(), state.plan->order);
    const auto urgent = RepairPlan(state, *faulty.now().snapshot, ring.lids, {true, 0});
    EXPECT_EQ(urgent.ok(), !lost);
    const auto repair = RepairPlan(state, *faulty.now().snapshot, ring.lids, {false, 0});
    if (repair.ok()) {
      EXPECT_EQ(repair->after.plan->order != state.plan->order, lost);
      EXPECT_FALSE(SomePairHasNoLegalWay(faulty.now(), repair->after.plan->order));
      turned += lost;
    } else {
      ++declined;
      EXPECT_TRUE(lost);
      EXPECT_THAT(fabricd::Message(repair.status()), HasSubstr("no way from switch sw"));
    }
    faulty.MendAll();
  }
  EXPECT_GT(declined, 0);
  EXPECT_GT(turned, 0);
}

// Where the chain has no plan, the verified plan stays.
TEST(Replan, KeepsThePlanThatServesWhereTheChainHasNone) {
  const TestFabric fabric = MakeFatTree(4, 3).Build();
  RoutingPlan plan = Route(fabric, "up_down");
  plan.engine = "rail";  // Which finds no rails here.
  const auto before = std::make_shared<const RouteState>(StateOf(fabric, std::move(plan)));
  const fabric::Intent intent;
  RoutingOptions options;
  options.chain = {"rail"};
  const ReplanResult kept = Replan({*fabric.snapshot, fabric.lids, intent, options, before});
  ASSERT_NE(kept.after, nullptr);
  EXPECT_EQ(kept.after->plan, before->plan);
  EXPECT_EQ(kept.reached, ReplanGoal::kIdeal);
  ASSERT_EQ(kept.steps.size(), 1u);
  EXPECT_FALSE(kept.steps[0].chosen);
  options.chain = {"min_hop", "fat_tree"};  // An engine that is not wanted any more does not stand.
  EXPECT_NE(Replan({*fabric.snapshot, fabric.lids, intent, options, before}).after->plan,
            before->plan);
}

TEST(ChangeProof, AgreesWithTheVerifierOnCorruptPlans) {
  int refused = 0, accepted = 0, found = 0;
  for (uint64_t seed = 0; seed < Runs(); ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    FaultyFabric faulty(DrawMaker(seed).Build(), seed);
    const RouteState state = StateOf(faulty.now(), Route(faulty.now(), "up_down"));
    faulty.RandomStep();
    const TestFabric& now = faulty.now();
    const auto repair = RepairPlan(state, *now.snapshot, now.lids, {rng.Chance(0.5), 1});
    if (!repair.ok()) continue;
    LinkChanges changes;
    const LinkMap links = state.links.Next(*now.snapshot, now.lids, changes);
    for (int spoil = 0; spoil < 20; ++spoil) {
      RoutingPlan plan = *repair->after.plan;
      const NodeIndex at = faulty.switches()[rng.Below(faulty.switches().size())];
      if (!plan.HasRow(at)) continue;
      auto row = std::make_shared<Row>(*plan.rows[at.value()]);
      const uint64_t ports = now.snapshot->node(at)->ports.size();
      const auto lid = static_cast<uint16_t>(1 + rng.Below(plan.lid_top.value()));
      const bool none = rng.Chance(0.1);
      row->Set(lid, none ? kNoRoute : static_cast<uint8_t>(rng.Below(ports)));
      plan.rows[at.value()] = row;
      if (rng.Chance(0.2) && !plan.pending.empty())
        plan.pending.erase(plan.pending.begin() +
                           static_cast<long>(rng.Below(plan.pending.size())));
      const PlanDiff diff = DiffPlans(*state.plan, plan);
      const PlanChange change{state.links, *state.plan, links, plan, changes, diff};
      const bool right = Judge(now, plan).ok;
      const bool fault = FindChangeFault(change).has_value();
      EXPECT_TRUE(right || fault) << "LID " << lid << " at node " << at.value();
      EXPECT_EQ(ProveChange(change, now.lids).ok, right);
      right ? ++accepted : ++refused;
      found += !right && fault;
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(accepted, 100);
  EXPECT_EQ(found, refused);
}

}  // namespace
}  // namespace fabricd::routing
