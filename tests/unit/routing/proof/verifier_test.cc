// SPDX-License-Identifier: Apache-2.0
// The verifier finds each kind of planted fault and names it.
#include "routing/proof/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "routing/proof/order_proof.h"
#include "tests/unit/routing/oracle.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A chain of three switches with a host each: handles 0-2 and 3-5, LIDs 1-3 and 4-6.
// Port 1 of switch 0 leads to 1, ports 1 and 2 of switch 1 to 0 and 2; hosts hang on the last port.
class Verifier : public ::testing::Test {
 protected:
  Verifier() {
    for (const char* name : {"left", "middle", "right"}) maker_.AddSwitch(4, name);
    maker_.Cable(0, 1);
    maker_.Cable(1, 2);
    for (size_t sw = 0; sw < 3; ++sw) maker_.Host(sw);
    fabric_ = maker_.Build();
    plan_ = Route(fabric_, "up_down");
  }
  void Set(size_t handle, uint16_t lid, uint8_t port) {
    auto row = std::make_shared<Row>(*plan_.rows[fabric_.node[handle].value()]);
    row->Set(lid, port);
    plan_.rows[fabric_.node[handle].value()] = row;
  }
  VerifyReport Verdict() const { return Judge(fabric_, plan_); }

  FabricMaker maker_;
  TestFabric fabric_;
  RoutingPlan plan_;
};

TEST_F(Verifier, GoodPlanHasNoFault) {
  const VerifyReport report = Verdict();
  EXPECT_TRUE(report.ok);
  EXPECT_TRUE(report.deadlock_free);
  EXPECT_TRUE(report.faults.empty());
}

TEST_F(Verifier, EntryThatTheTableCannotHold) {
  maker_.SetLinearFdbCap(1, 6);  // LIDs 0 to 5.
  fabric_ = maker_.Build();
  EXPECT_THAT(Verdict().faults,
              ElementsAre(AllOf(HasSubstr("switch middle (0x"), HasSubstr("LID 6"),
                                HasSubstr("LinearFDBCap 6"))));
  EXPECT_FALSE(OrderProves(*fabric_.snapshot, fabric_.lids, plan_));
}

TEST_F(Verifier, BlackHole) {
  Set(1, 6, kNoRoute);
  const VerifyReport report = Verdict();
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.unreachable_pairs, 2u);  // From middle, and from left through it.
  EXPECT_THAT(report.faults, ElementsAre(AllOf(HasSubstr("switch middle (0x"), HasSubstr("LID 6"),
                                               HasSubstr("host5"), HasSubstr("has no route"))));
}

TEST_F(Verifier, Loop) {
  Set(1, 6, 1);  // Back to the left.
  const VerifyReport report = Verdict();
  EXPECT_FALSE(report.ok);
  EXPECT_FALSE(report.deadlock_free);
  EXPECT_EQ(report.loops, 1u);
  EXPECT_EQ(report.unreachable_pairs, 2u);
  ASSERT_FALSE(report.faults.empty());
  EXPECT_THAT(report.faults[0], AllOf(HasSubstr("LID 6"), HasSubstr("loops"), HasSubstr("left"),
                                      HasSubstr("middle")));
}

TEST_F(Verifier, WrongHost) {
  Set(1, 6, 3);  // The middle's own host.
  const VerifyReport report = Verdict();
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.unreachable_pairs, 2u);
  EXPECT_THAT(report.faults,
              ElementsAre(AllOf(HasSubstr("LID 6"), HasSubstr("delivered to host4"))));
}

TEST_F(Verifier, OtherPortOfTheSameCa) {
  FabricMaker maker;
  const size_t sw = maker.AddSwitch(4), ca = maker.AddHost(2);
  maker.Cable(sw, 1, ca, 1);
  maker.Cable(sw, 2, ca, 2);
  fabric_ = maker.Build();
  plan_ = Route(fabric_, "up_down");
  Set(sw, fabric_.LidOf(ca, 2).value(), 1);
  const VerifyReport report = Verdict();
  EXPECT_EQ(report.unreachable_pairs, 1u);
  EXPECT_THAT(report.faults,
              ElementsAre(HasSubstr("delivered to host1 (0x0002c90000100100) port 1")));
}

TEST_F(Verifier, DeliveredToTheWrongSwitch) {
  Set(1, 3, 0);  // LID of the right switch.
  const VerifyReport report = Verdict();
  EXPECT_EQ(report.unreachable_pairs, 2u);
  EXPECT_THAT(report.faults, ElementsAre(HasSubstr("delivered to this switch itself")));
}

TEST_F(Verifier, OwnLidMustBePortZero) {
  Set(2, 3, kNoRoute);
  EXPECT_EQ(Verdict().unreachable_pairs, 3u);
  Set(2, 3, 1);
  const VerifyReport report = Verdict();
  EXPECT_EQ(report.unreachable_pairs, 3u);
  EXPECT_EQ(report.loops, 1u);
}

TEST_F(Verifier, DownPort) {
  Set(2, 6, 4);
  const VerifyReport report = Verdict();
  EXPECT_EQ(report.unreachable_pairs, 3u);
  EXPECT_THAT(report.faults, ElementsAre(HasSubstr("leaves by port 4, which is down")));
}

TEST_F(Verifier, PortBeyondTheSwitch) {
  Set(2, 6, 200);
  EXPECT_EQ(Verdict().unreachable_pairs, 3u);
}

TEST_F(Verifier, EntryForALidWithoutAnOwner) {
  for (uint16_t lid : {0, 40}) {
    Set(1, lid, 2);
    EXPECT_THAT(Verdict().faults, ElementsAre(HasSubstr("nobody's"))) << lid;
    EXPECT_FALSE(Verdict().ok);
    EXPECT_EQ(Verdict().unreachable_pairs, 0u);
    Set(1, lid, kNoRoute);
  }
}

TEST_F(Verifier, EntryForALidOfAnotherConnectedComponent) {
  const size_t island = maker_.AddSwitch(4, "island");
  fabric_ = maker_.Build();
  plan_ = Route(fabric_, "up_down");
  ASSERT_TRUE(Verdict().ok);
  Set(0, fabric_.LidOf(island, 0).value(), 1);
  EXPECT_THAT(Verdict().faults,
              ElementsAre(HasSubstr("cannot be reached from here but has a route")));
}

TEST_F(Verifier, MissingTable) {
  plan_.rows[fabric_.node[2].value()] = nullptr;
  const VerifyReport report = Verdict();
  EXPECT_FALSE(report.ok);
  ASSERT_FALSE(report.faults.empty());
  EXPECT_THAT(report.faults[0], AllOf(HasSubstr("right"), HasSubstr("no table")));
  EXPECT_EQ(report.unreachable_pairs, 2u + 2u + 6u);
}

TEST_F(Verifier, ShortTableAndTableOfACa) {
  plan_.rows[fabric_.node[2].value()] = std::make_shared<Row>(10, kNoRoute);
  EXPECT_THAT(Verdict().faults[0], HasSubstr("10 entries"));
  plan_ = Route(fabric_, "up_down");
  plan_.rows[fabric_.node[3].value()] = plan_.rows[fabric_.node[0].value()];
  EXPECT_THAT(Verdict().faults, ElementsAre(HasSubstr("no living switch")));
}

TEST_F(Verifier, ExemptPairIsAcceptedAndNoOther) {
  Set(1, 6, kNoRoute);
  plan_.exempt = {{fabric_.node[1], Lid(6)}};
  EXPECT_EQ(Verdict().unreachable_pairs, 1u);  // Left still sends there.
  EXPECT_FALSE(Verdict().ok);
  Set(0, 6, kNoRoute);
  plan_.exempt.push_back({fabric_.node[0], Lid(6)});
  EXPECT_TRUE(Verdict().ok);
}

TEST_F(Verifier, OnlyAPendingPairMayEndAtADeadPort) {
  Set(1, 6, 4);  // Nothing hangs there.
  plan_.pending = {{fabric_.node[1], Lid(6)}};
  EXPECT_EQ(Verdict().unreachable_pairs, 1u);
  EXPECT_THAT(Verdict().faults, ElementsAre(HasSubstr("led to a switch without a route")));
  plan_.pending.insert(plan_.pending.begin(), {fabric_.node[0], Lid(6)});
  EXPECT_TRUE(Verdict().ok);
  Set(1, 6, 3);  // The middle one's own host.
  EXPECT_FALSE(Verdict().ok);
  Set(1, 6, 1);  // Back to the left.
  EXPECT_EQ(Verdict().loops, 1u);
}

TEST_F(Verifier, StaleLidMayKeepItsRoutesWhereItCannotBeReached) {
  maker_.RemoveCable(4);  // Of the host on the right, LID 6.
  fabric_ = maker_.Build();
  EXPECT_FALSE(Verdict().ok);
  plan_.stale = {Lid(6)};
  EXPECT_TRUE(Verdict().ok);
  Set(1, 6, 3);  // Into the hands of the middle one's host.
  EXPECT_FALSE(Verdict().ok);
  Set(1, 6, 2);
  Set(1, 5, 2);  // LID 5 is there, so it is no excuse for this one.
  plan_.stale = {Lid(5), Lid(6)};
  EXPECT_FALSE(Verdict().ok);
}

TEST_F(Verifier, CreditLoopOnARingNamesTheSwitches) {
  fabric_ = MakeRing(4, 1).Build();
  plan_ = Route(fabric_, "up_down");
  ASSERT_TRUE(Verdict().ok);
  // All clockwise: no packet loops, yet four can wait for each other.
  for (size_t sw = 0; sw < 4; ++sw) {
    const fabric::Node& node = *fabric_.snapshot->node(fabric_.node[sw]);
    uint8_t onward = 0;
    for (uint8_t port = 1; port < node.ports.size(); ++port)
      if (node.ports[port].peer.node == fabric_.node[(sw + 1) % 4]) onward = port;
    for (size_t other = 0; other < 4; ++other) {
      if (other == sw) continue;
      Set(sw, fabric_.LidOf(other, 0).value(), onward);
      Set(sw, fabric_.LidOf(other + 4, 1).value(), onward);
    }
  }
  const VerifyReport report = Verdict();
  EXPECT_FALSE(report.ok);
  EXPECT_FALSE(report.deadlock_free);
  EXPECT_EQ(report.loops, 0u);
  EXPECT_EQ(report.unreachable_pairs, 0u);
  EXPECT_THAT(report.faults,
              ElementsAre(AllOf(HasSubstr("credit loop over 4 links"), HasSubstr("sw0"),
                                HasSubstr("sw1"), HasSubstr("sw2"), HasSubstr("sw3"))));
}

TEST_F(Verifier, CableOfASwitchToItself) {
  FabricMaker maker;
  const size_t sw = maker.AddSwitch(4);
  maker.Cable(sw, 1, sw, 2);
  const size_t host = maker.Host(sw);
  fabric_ = maker.Build();
  plan_ = Route(fabric_, "up_down");
  ASSERT_TRUE(Verdict().ok);
  Set(sw, fabric_.LidOf(host, 1).value(), 1);
  EXPECT_EQ(Verdict().loops, 1u);
}

}  // namespace
}  // namespace fabricd::routing
