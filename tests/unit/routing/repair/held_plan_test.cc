// SPDX-License-Identifier: Apache-2.0
// The first plan of a manager whose predecessor has left tables that serve all pairs.
#include "routing/repair/held_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "routing/proof/verifier.h"
#include "tests/unit/routing/faults.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.
using fabric::Intent;

// A fabric with a manager that has seen faults.
class Predecessor {
 public:
  Predecessor(TestFabric fabric, const std::string& engine, uint64_t seed)
      : faulty_(std::move(fabric), seed) {
    options_.chain = {engine};
    options_.threads = 1;
    state_ = Replan({*now().snapshot, now().lids, none_, options_}).after;
  }

  const TestFabric& now() const { return faulty_.now(); }
  FaultyFabric& faulty() { return faulty_; }
  const RoutingPlan& plan() const { return *state_->plan; }
  AppliedTables Held() const { return TablesOf(plan()); }

  ReplanResult Ask(const Intent& intent, ReplanGoal goal) const {
    const AppliedTables held = Held();
    ReplanInput input{*now().snapshot, now().lids, intent, options_, state_, goal};
    input.applied = &held;
    return Replan(input);
  }
  ReplanResult React(ReplanGoal goal) {
    ReplanResult result = Ask(none_, goal);
    if (result.after) state_ = result.after;
    return result;
  }
  // Faults that end. Why the ideal plan is put off; empty: it is reached.
  std::string LiveThroughFaults() {
    for (int step = 0; step < 4; ++step) {
      faulty_.RandomStep();
      React(ReplanGoal::kWhole);
    }
    faulty_.MendAll();
    React(ReplanGoal::kWhole);
    return React(ReplanGoal::kIdealIfHitless).put_off;
  }
  ReplanInput Fresh(const Intent& intent) const {
    return {*now().snapshot, now().lids, intent, options_};
  }
  // The first plan of a successor that reads these tables.
  ReplanResult Succeed(const AppliedTables& held, const Intent& intent,
                       ReplanGoal goal = ReplanGoal::kIdealIfHitless) const {
    ReplanInput input = Fresh(intent);
    input.goal = goal;
    input.ideal = Replan(input).after;
    input.applied = &held;
    return Replan(input);
  }
  ReplanResult Succeed() const { return Succeed(Held(), none_); }

 private:
  const Intent none_;
  FaultyFabric faulty_;
  RoutingOptions options_;
  std::shared_ptr<const RouteState> state_;
};

// One VL of a torus is nearly full, so that the path back to the ideal plan is often not free.
class HeldPlan : public ::testing::Test {
 protected:
  // The first that has put the ideal plan off, from `seed` on.
  static std::optional<Predecessor> PutOff(uint64_t& seed) {
    for (; seed < 200; ++seed) {
      Predecessor before(MakeTorus({5, 5}, 1).Build(), "layered", seed);
      if (!before.LiveThroughFaults().empty()) return before;
    }
    ADD_FAILURE() << "the ideal plan is never put off";
    return std::nullopt;
  }
  static void ExpectProved(const Predecessor& before, const Intent& intent,
                           const ReplanResult& result) {
    ASSERT_NE(result.after, nullptr);
    const UsableFabric usable = MakeUsable(*before.now().snapshot, before.now().lids, intent);
    const VerifyReport report = Verify(*usable.snapshot, *usable.lids, *result.after->plan);
    EXPECT_TRUE(report.ok) << ::testing::PrintToString(report.faults);
    EXPECT_TRUE(result.after->plan->pending.empty());
  }
  static size_t Differences(const RoutingPlan& a, const RoutingPlan& b) {
    size_t count = 0;
    for (size_t node = 0; node < std::min(a.rows.size(), b.rows.size()); ++node)
      for (size_t lid = 0; a.rows[node] && b.rows[node] && lid < a.rows[node]->size(); ++lid)
        count += (*a.rows[node])[lid] != (*b.rows[node])[lid];
    return count;
  }
};

TEST_F(HeldPlan, AKeptPlanStays) {
  uint64_t seed = 0;
  for (int found = 0; found < 10; ++found, ++seed) {
    auto before = PutOff(seed);
    ASSERT_TRUE(before.has_value());
    SCOPED_TRACE(seed);
    const Intent none;
    EXPECT_GT(Differences(*Replan(before->Fresh(none)).after->plan, before->plan()), 0u);
    const ReplanResult result = before->Succeed();
    ExpectProved(*before, none, result);
    EXPECT_EQ(Differences(*result.after->plan, before->plan()), 0u);
    EXPECT_EQ(result.reached, ReplanGoal::kWhole);
    EXPECT_NE(result.put_off, "");
    ASSERT_TRUE(result.push.has_value());
    EXPECT_TRUE(result.push->writes.empty());
    EXPECT_NE(result.after->home, nullptr);
  }
}

TEST_F(HeldPlan, TheIdealPlanIsTakenWhereItIsAskedFor) {
  uint64_t seed = 0;
  auto before = PutOff(seed);
  ASSERT_TRUE(before.has_value());
  const Intent none;
  const ReplanResult result = before->Succeed(before->Held(), none, ReplanGoal::kIdeal);
  EXPECT_EQ(Differences(*result.after->plan, *Replan(before->Fresh(none)).after->plan), 0u);
}

TEST_F(HeldPlan, TablesInDoubtAndSeveralVlsAreNotAdopted) {
  uint64_t seed = 0;
  auto before = PutOff(seed);
  ASSERT_TRUE(before.has_value());
  const Intent none;
  ReplanInput input = before->Fresh(none);
  input.ideal = Replan(input).after;
  AppliedTables held = before->Held();
  input.applied = &held;
  const UsableFabric usable = MakeUsable(input.snapshot, input.lids, none);
  EXPECT_NE(MakeHeldPlan(input, usable), nullptr);
  held.unsure.push_back({before->faulty().switches()[0], 0, {}});
  EXPECT_EQ(MakeHeldPlan(input, usable), nullptr) << "a Set without a response";
  held.unsure.clear();
  auto state = *input.ideal;
  auto plan = std::make_shared<RoutingPlan>(*state.plan);
  plan->lanes = 2;
  state.plan = plan;
  input.ideal = std::make_shared<const RouteState>(state);
  EXPECT_EQ(MakeHeldPlan(input, usable), nullptr) << "several VLs";
}

// Between the death of one manager and the first plan of the next.
TEST_F(HeldPlan, ALostCableIsRoutedAroundByAnIncrementalRepair) {
  uint64_t seed = 0;
  const Intent none;
  size_t kept = 0, runs = 0;
  for (int found = 0; found < 10; ++found, ++seed) {
    auto before = PutOff(seed);
    ASSERT_TRUE(before.has_value());
    SCOPED_TRACE(seed);
    before->faulty().Cut(before->faulty().cables()[seed % before->faulty().cables().size()]);
    before->faulty().Apply();
    const ReplanResult result = before->Succeed();
    ExpectProved(*before, none, result);
    ASSERT_TRUE(result.push.has_value());
    EXPECT_TRUE(result.push->hitless) << result.push->why_not;
    const size_t ideal = Differences(*Replan(before->Fresh(none)).after->plan, before->plan());
    ++runs, kept += Differences(*result.after->plan, before->plan()) < ideal / 4;
  }
  EXPECT_GT(kept * 2, runs);
}

TEST_F(HeldPlan, APushThatWasCutShortIsRepaired) {
  uint64_t seed = 0;
  const Intent none;
  for (int found = 0; found < 10; ++found, ++seed) {
    auto before = PutOff(seed);
    ASSERT_TRUE(before.has_value());
    SCOPED_TRACE(seed);
    // A switch has lost its table, and another one some entries.
    AppliedTables held = before->Held();
    const auto& switches = before->faulty().switches();
    held.rows[switches[seed % 5].value()] = Row();
    for (size_t lid = 1; lid < 20; ++lid) held.rows[switches[7].value()].Set(lid, kNoRoute);
    const ReplanResult result = before->Succeed(held, none);
    ExpectProved(*before, none, result);
    ASSERT_TRUE(result.push.has_value());
    EXPECT_EQ(result.push->paths_interrupted, 0u) << result.push->why_not;
  }
}

// What an operator has closed while there was no master is left as by the predecessor.
TEST_F(HeldPlan, ClosedLinksAndSwitchesAreLeft) {
  uint64_t seed = 0;
  for (int found = 0; found < 20; ++found, ++seed) {
    auto before = PutOff(seed);
    ASSERT_TRUE(before.has_value());
    SCOPED_TRACE(seed);
    const PortRef closed = before->faulty().cables()[3].first;
    Intent intent;
    if (found % 2 == 0)
      intent.closed_links = {closed};
    else
      intent.closed_switches = {closed.node};
    const ReplanResult result = before->Succeed(before->Held(), intent);
    ExpectProved(*before, intent, result);
    const RoutingPlan& plan = *result.after->plan;
    EXPECT_EQ(plan.HasRow(closed.node), intent.closed_switches.empty());
    for (size_t lid = 0; plan.HasRow(closed.node) && lid <= plan.lid_top.value(); ++lid)
      EXPECT_NE((*plan.rows[closed.node.value()])[lid], closed.port.value());
    const ReplanResult own = before->Ask(intent, ReplanGoal::kWhole);
    ASSERT_TRUE(result.push.has_value() && own.push.has_value());
    EXPECT_LE(result.push->paths_interrupted, own.push->paths_interrupted * 5 / 4);
  }
}

// It comes back where it was.
TEST_F(HeldPlan, EntriesTowardsAHostThatIsDownStay) {
  for (const bool torus : {true, false}) {
    Predecessor before((torus ? MakeTorus({5, 5}, 1) : MakeFatTree(4, 3)).Build(),
                       torus ? "layered" : "fat_tree", 1);
    const TestFabric& fabric = before.now();
    PortRef host;
    fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
      if (!node.IsSwitch()) host = {node.index, PortNum(1)};
    });
    before.faulty().Kill(host.node);
    before.faulty().Apply();
    before.React(ReplanGoal::kWhole);
    ASSERT_EQ(before.plan().stale.size(), 1u);
    const ReplanResult result = before.Succeed();
    EXPECT_EQ(Differences(*result.after->plan, before.plan()), 0u);
    EXPECT_EQ(result.after->plan->stale, before.plan().stale);
    EXPECT_EQ(result.after->plan->order.empty(), torus);
  }
}

// Where the next repair is quick.
TEST_F(HeldPlan, TablesThatFollowAnOrderHaveOne) {
  size_t ideal = 0, other = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Predecessor before(MakeFatTree(4, 3).Build(), "fat_tree", seed);
    for (int step = 0; step < 2; ++step) {
      before.faulty().RandomStep();
      before.React(ReplanGoal::kWhole);
    }
    if (before.plan().order.empty()) continue;
    const Intent none;
    ReplanInput input = before.Fresh(none);
    const AppliedTables held = before.Held();
    input.ideal = Replan(input).after;
    if (!input.ideal) continue;
    input.applied = &held;
    const auto adopted = MakeHeldPlan(input, MakeUsable(input.snapshot, input.lids, none));
    ASSERT_NE(adopted, nullptr);
    EXPECT_EQ(Differences(*adopted->plan, before.plan()), 0u);
    EXPECT_FALSE(adopted->plan->order.empty());
    ++(adopted->plan->order == input.ideal->plan->order ? ideal : other);
  }
  EXPECT_GT(ideal, 5u);
  EXPECT_GT(other, 5u);
}

}  // namespace
}  // namespace fabricd::routing
