// SPDX-License-Identifier: Apache-2.0
// Properties of both engines and of the verifier on random fabrics, against the oracles.
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/unit/routing/draw.h"
#include "tests/unit/routing/oracle.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.

// RapidCheck reads this once; a caller's own value wins.
[[maybe_unused]] const int kMoreRuns = setenv("RC_PARAMS", "max_success=1000", 0);

FabricMaker DrawMaker() { return testing::DrawMaker({2, 1}); }

// In the eyes of the oracles and of the verifier.
void AssertServesAll(const TestFabric& fabric, const RoutingPlan& plan) {
  RC_ASSERT(plan.exempt.empty());
  RC_ASSERT(UnreachablePairs(fabric, plan) == 0u);
  RC_ASSERT(!HasCreditLoop(fabric, plan));
  const VerifyReport report = Judge(fabric, plan);
  RC_ASSERT(report.faults == std::vector<std::string>{});
  RC_ASSERT(report.ok);
}

TEST(RandomFabrics, UpDownServesEveryPairWithoutCreditLoop) {
  EXPECT_TRUE(rc::check([] {
    const TestFabric fabric = DrawMaker().Build(static_cast<uint8_t>(*rc::gen::inRange(0, 3)));
    const RoutingPlan plan = Route(fabric, "up_down");
    AssertServesAll(fabric, plan);
  }));
}

TEST(RandomFabrics, UpDownPathsNeverGoUpAfterDown) {
  EXPECT_TRUE(rc::check([] {
    const TestFabric fabric = DrawMaker().Build();
    const RoutingPlan plan = Route(fabric, "up_down");
    fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
      if (!node.IsSwitch()) return;
      for (uint32_t lid = 1; lid <= fabric.lids.top().value(); ++lid) {
        bool fell = false;
        for (Channel c :
             Follow(*fabric.snapshot, plan, node.index, Lid(static_cast<uint16_t>(lid))).channels) {
          const NodeIndex head = fabric.snapshot->port(c)->peer.node;
          if (!fabric.snapshot->node(head)->IsSwitch()) continue;
          const bool rises = plan.order[head.value()] > plan.order[c.node.value()];
          RC_ASSERT(!(fell && rises));
          fell |= !rises;
        }
      }
    });
  }));
}

TEST(RandomFabrics, MinHopTakesTheFewestHops) {
  EXPECT_TRUE(rc::check([] {
    const TestFabric fabric = DrawMaker().Build(static_cast<uint8_t>(*rc::gen::inRange(0, 2)));
    const RoutingPlan plan = Route(fabric, "min_hop");
    RC_ASSERT(UnreachablePairs(fabric, plan) == 0u);
    for (const auto& [pair, hops] : SwitchDistances(fabric)) {
      const Lid lid = fabric.lids.Of({pair.second, PortNum(0)}).base;
      RC_ASSERT(Follow(*fabric.snapshot, plan, pair.first, lid).channels.size() == hops);
    }
    const VerifyReport report = Judge(fabric, plan);
    RC_ASSERT(report.unreachable_pairs == 0u);
    RC_ASSERT(report.loops == 0u);
    RC_ASSERT(report.deadlock_free == !HasCreditLoop(fabric, plan));
    RC_ASSERT(report.ok == report.deadlock_free);
  }));
}

TEST(RandomFabrics, OrderOfInputChangesNothing) {
  EXPECT_TRUE(rc::check([] {
    const FabricMaker maker = DrawMaker();
    const auto lmc = static_cast<uint8_t>(*rc::gen::inRange(0, 3));
    const TestFabric plain = maker.Build(lmc);
    const TestFabric shuffled = maker.Build(lmc, *rc::gen::inRange<uint64_t>(1, 1'000'000));
    for (const char* engine : {"up_down", "min_hop", "layered"})
      RC_ASSERT(ByGuid(plain, Route(plain, engine)) == ByGuid(shuffled, Route(shuffled, engine)));
  }));
}

TEST(RandomFabrics, SmallTablesAreRespected) {
  EXPECT_TRUE(rc::check([] {
    FabricMaker maker = DrawMaker();
    for (size_t handle = 0; handle < maker.size(); ++handle)
      if (maker.IsSwitch(handle) && *rc::gen::inRange(0, 5) == 0)
        maker.SetLinearFdbCap(handle, static_cast<uint16_t>(*rc::gen::inRange(1, 40)));
    const TestFabric fabric = maker.Build();
    for (const char* engine : {"up_down", "min_hop", "layered"}) {
      const RoutingPlan plan = Route(fabric, engine);
      fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
        if (!node.IsSwitch()) return;
        const routing::Row& row = *plan.rows[node.index.value()];
        for (size_t lid = node.switch_info->linear_fdb_cap; lid < row.size(); ++lid)
          RC_ASSERT(row[lid] == kNoRoute);
      });
      const VerifyReport report = Judge(fabric, plan);
      RC_ASSERT(report.unreachable_pairs == 0u);
      RC_ASSERT(report.loops == 0u);
      RC_ASSERT(UnreachablePairs(fabric, plan) <= plan.exempt.size());
      RC_ASSERT(report.ok || std::string(engine) == "min_hop");
    }
  }));
}

RoutingOptions Lanes(uint8_t most) {
  RoutingOptions options;
  options.lanes_max = most;
  return options;
}

TEST(RandomFabrics, LayeredServesEveryPairWithoutCreditLoopOnItsVls) {
  EXPECT_TRUE(rc::check([] {
    const TestFabric fabric = DrawMaker().Build(static_cast<uint8_t>(*rc::gen::inRange(0, 3)));
    const auto most = *rc::gen::element<uint8_t>(1, 2, 4, 15);
    const RoutingPlan plan = Route(fabric, "layered", Lanes(most));
    RC_ASSERT(plan.lanes >= 1);
    RC_ASSERT(plan.lanes <= most);
    AssertServesAll(fabric, plan);
  }));
}

TEST(RandomFabrics, VerifierAgreesWithTheOraclesOnCorruptServiceLevels) {
  EXPECT_TRUE(rc::check([] {
    const TestFabric fabric =
        MakeTorus({*rc::gen::inRange(3, 6), *rc::gen::inRange(3, 6)}, 1).Build();
    RoutingPlan plan = Route(fabric, "layered", Lanes(15));
    for (int changes = *rc::gen::inRange(0, 8); changes > 0; --changes) {
      if (plan.service_levels.empty()) break;
      auto& row = plan.service_levels[fabric.node[*rc::gen::inRange<size_t>(0, 9)].value()];
      auto levels = std::make_shared<Row>(*row);
      levels->Set(*rc::gen::inRange<uint32_t>(1, fabric.lids.top().value() + 1u),
                  *rc::gen::inRange<uint8_t>(0, 16));
      row = levels;
    }
    const VerifyReport report = Judge(fabric, plan);
    RC_ASSERT(report.deadlock_free == !HasCreditLoop(fabric, plan));
    RC_ASSERT(report.ok == report.deadlock_free);
  }));
}

// Entries for LIDs that their switch cannot reach.
uint64_t StrayEntries(const TestFabric& fabric, const RoutingPlan& plan) {
  uint64_t stray = 0;
  fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch()) return;
    const std::set<NodeIndex> reached = Connected(*fabric.snapshot, node.index);
    for (uint32_t lid = 1; lid <= fabric.lids.top().value(); ++lid) {
      const PortRef owner = fabric.lids.Owner(Lid(static_cast<uint16_t>(lid)));
      const fabric::Port* port = fabric.snapshot->port(owner);
      const NodeIndex at = !port                      ? NodeIndex::None()
                           : owner.port == PortNum(0) ? owner.node
                                                      : port->peer.node;
      const bool here = !at.IsNone() && reached.count(at) && fabric.snapshot->node(at)->IsSwitch();
      stray += !here && plan.EgressPort(node.index, Lid(static_cast<uint16_t>(lid))) != kNoRoute;
    }
  });
  return stray;
}

TEST(RandomFabrics, VerifierAgreesWithTheOraclesOnCorruptTables) {
  EXPECT_TRUE(rc::check([] {
    const TestFabric fabric = DrawMaker().Build();
    RoutingPlan plan = Route(fabric, *rc::gen::element<std::string>("up_down", "min_hop"));
    std::vector<uint32_t> switches;
    for (uint32_t i = 0; i < plan.rows.size(); ++i)
      if (plan.rows[i]) switches.push_back(i);
    for (int changes = *rc::gen::inRange(0, 6); changes > 0; --changes) {
      const uint32_t at = *rc::gen::elementOf(switches);
      auto row = std::make_shared<Row>(*plan.rows[at]);
      const auto lid = *rc::gen::inRange<uint32_t>(1, fabric.lids.top().value() + 1u);
      row->Set(lid, *rc::gen::oneOf(rc::gen::inRange<uint8_t>(0, 8), rc::gen::just(kNoRoute)));
      plan.rows[at] = row;
    }
    const VerifyReport report = Judge(fabric, plan);
    const uint64_t unreachable = UnreachablePairs(fabric, plan);
    const bool cycle = HasCreditLoop(fabric, plan);
    RC_ASSERT(report.unreachable_pairs == unreachable);
    RC_ASSERT(report.deadlock_free == !cycle);
    RC_ASSERT(report.ok == (unreachable == 0 && !cycle && StrayEntries(fabric, plan) == 0));
    RC_ASSERT(report.ok == report.faults.empty());
  }));
}

}  // namespace
}  // namespace fabricd::routing
