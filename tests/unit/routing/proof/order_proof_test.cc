// SPDX-License-Identifier: Apache-2.0
// The order proof holds for what up_down makes and for nothing that the full verifier rejects.
#include "routing/proof/order_proof.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "routing/graph/byte_kernels.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.

FabricMaker DrawMaker() {
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  FabricMaker maker = *rc::gen::inRange(0, 2)
                          ? MakeTree({{3, 1},
                                      {*rc::gen::inRange(1, 5), *rc::gen::inRange(1, 4), 2},
                                      {*rc::gen::inRange(1, 5), *rc::gen::inRange(1, 4)}})
                          : MakeRandom(*rc::gen::inRange(1, 14), *rc::gen::inRange(0, 40),
                                       *rc::gen::inRange(0, 90), seed);
  Rng rng(seed);
  for (size_t cable = maker.cable_count(); cable-- > 0;)
    if (rng.Chance(0.1)) maker.RemoveCable(cable);
  for (size_t handle = 0; handle < maker.size(); ++handle)
    if (maker.IsSwitch(handle) && *rc::gen::inRange(0, 40) == 0)
      maker.SetLinearFdbCap(handle, static_cast<uint16_t>(*rc::gen::inRange(1, 60)));
  return maker;
}

NodeIndex DrawSwitch(const TestFabric& fabric, const RoutingPlan& plan) {
  std::vector<NodeIndex> switches;
  fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (plan.HasRow(node.index)) switches.push_back(node.index);
  });
  return *rc::gen::elementOf(switches);
}

// What is most likely to be taken for right: the port of another LID's entry, or none.
void CorruptEntry(const TestFabric& fabric, RoutingPlan& plan) {
  const NodeIndex node = DrawSwitch(fabric, plan);
  auto row = std::make_shared<Row>(*plan.rows[node.value()]);
  const auto lid = *rc::gen::inRange<size_t>(0, row->size());
  const auto other = *rc::gen::inRange<size_t>(0, row->size());
  row->Set(lid, *rc::gen::inRange(0, 8) ? (*row)[other] : *rc::gen::arbitrary<uint8_t>());
  plan.rows[node.value()] = row;
}

void CorruptOrder(const TestFabric& fabric, RoutingPlan& plan) {
  const NodeIndex a = DrawSwitch(fabric, plan), b = DrawSwitch(fabric, plan);
  std::swap(plan.order[a.value()], plan.order[b.value()]);
}

TEST(OrderProof, HoldsForUpDownOnRandomFabrics) {
  EXPECT_TRUE(rc::check([] {
    const TestFabric fabric = DrawMaker().Build(static_cast<uint8_t>(*rc::gen::inRange(0, 3)));
    const RoutingPlan plan = Route(fabric, "up_down");
    RC_PRE(!plan.order.empty());
    RC_ASSERT(OrderProves(*fabric.snapshot, fabric.lids, plan));
    RC_ASSERT(Judge(fabric, plan).ok);
  }));
}

TEST(OrderProof, ProvesNothingThatTheVerifierRejects) {
  int proven = 0, rejected = 0;
  EXPECT_TRUE(rc::check([&] {
    const TestFabric fabric = DrawMaker().Build();
    RoutingPlan plan = Route(fabric, "up_down");
    RC_PRE(!plan.order.empty());
    for (int changes = *rc::gen::inRange(1, 4); changes > 0; --changes) CorruptEntry(fabric, plan);
    if (*rc::gen::inRange(0, 4) == 0) CorruptOrder(fabric, plan);
    const bool holds = OrderProves(*fabric.snapshot, fabric.lids, plan);
    const VerifyReport full = Judge(fabric, plan);
    RC_ASSERT(full.ok || !holds);
    const VerifyReport report = VerifyOrdered(*fabric.snapshot, fabric.lids, plan);
    RC_ASSERT(report.ok == full.ok);
    RC_ASSERT(report.faults == full.faults);
    proven += holds;
    rejected += !full.ok;
  }));
  EXPECT_GT(proven, 10);
  EXPECT_GT(rejected, 100);
}

TEST(OrderProof, RefusesAnOrderThatPathsViolate) {
  const TestFabric fabric = MakeRing(5, 1).Build();
  // Shortest ways round a ring wait for each other in a circle, whatever order is claimed.
  RoutingPlan plan = Route(fabric, "min_hop");
  EXPECT_FALSE(OrderProves(*fabric.snapshot, fabric.lids, plan));
  plan.order = Route(fabric, "up_down").order;
  EXPECT_FALSE(OrderProves(*fabric.snapshot, fabric.lids, plan));
  EXPECT_FALSE(VerifyOrdered(*fabric.snapshot, fabric.lids, plan).deadlock_free);
  std::fill(plan.order.begin(), plan.order.end(), 0);
  EXPECT_FALSE(OrderProves(*fabric.snapshot, fabric.lids, plan));
}

TEST(OrderProof, RefusesRowsThatEndBelowTheTopLid) {
  FabricMaker maker;
  for (int s = 0; s < 2; ++s) maker.AddSwitch(80);
  maker.Cable(0, 1);
  for (int host = 0; host < 61; ++host) maker.Host(0);
  const TestFabric fabric = maker.Build();
  ASSERT_EQ(fabric.lids.top(), Lid(63));
  const RoutingPlan plan = Route(fabric, "up_down");
  EXPECT_TRUE(OrderProves(*fabric.snapshot, fabric.lids, plan));
  maker.Host(1);
  const TestFabric grown = maker.Build();
  EXPECT_FALSE(OrderProves(*grown.snapshot, grown.lids, plan));
  EXPECT_FALSE(VerifyOrdered(*grown.snapshot, grown.lids, plan).ok);
}

TEST(OrderProof, HoldsWithEveryVectorUnit) {
  FabricMaker maker = MakeFatTree(14, 3);  // More than one page of LIDs.
  for (int cable : {4000, 3000, 2500}) maker.RemoveCable(static_cast<size_t>(cable) % 2000 + 900);
  const TestFabric fabric = maker.Build(2);
  const RoutingPlan good = Route(fabric, "up_down");
  ASSERT_GT(good.rows[fabric.node[0].value()]->pages(), 1u);
  RoutingPlan bad = good;
  auto row = std::make_shared<Row>(*bad.rows[fabric.node[0].value()]);
  row->Set(fabric.lids.top().value(), (*row)[fabric.lids.top().value() - 8u]);
  ASSERT_FALSE(*row == *good.rows[fabric.node[0].value()]);
  bad.rows[fabric.node[0].value()] = row;
  for (VectorUnit unit : {VectorUnit::kNone, VectorUnit::kAvx2, VectorUnit::kAvx512Vbmi}) {
    if (!HasVectorUnit(unit)) continue;
    UseVectorUnit(unit);
    EXPECT_TRUE(OrderProves(*fabric.snapshot, fabric.lids, good));
    EXPECT_EQ(OrderProves(*fabric.snapshot, fabric.lids, bad), Judge(fabric, bad).ok);
  }
  UseVectorUnit(BestVectorUnit());
}

}  // namespace
}  // namespace fabricd::routing
