// SPDX-License-Identifier: Apache-2.0
// Traces that do not arrive: where they stop and why.
#include "query/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/base/models.h"
#include "tests/unit/daemon/rpc/small_fabric.h"

namespace fabricd::rpc::testing {
namespace {

class TraceTest : public ::testing::Test {
 protected:
  query::Trace FromNode1(uint16_t lid) {
    backend_.Publish(fabric_.View(++generation_));
    return query::TracePath(*daemon::Models(backend_).Current(), {fabric_.node1_0, PortNum(1)},
                            Lid(lid));
  }
  SmallFabric fabric_;
  uint64_t generation_ = 1;
  FakeBackend backend_{fabric_.View(1)};
};

TEST_F(TraceTest, ASwitchIsADestination) {
  const query::Trace trace = FromNode1(2);
  EXPECT_TRUE(trace.reachable);
  EXPECT_EQ(trace.stopped, "");
  ASSERT_EQ(trace.hops.size(), 4u);
  EXPECT_EQ(trace.hops.back().node, fabric_.leaf2);
  EXPECT_EQ(trace.hops.back().egress, PortNum(0));
}

TEST_F(TraceTest, ToItselfIsOneHop) {
  const query::Trace trace = FromNode1(4);
  EXPECT_TRUE(trace.reachable);
  EXPECT_EQ(trace.hops.size(), 1u);
}

TEST_F(TraceTest, NoRoute) {
  fabric_.rows[fabric_.spine].Set(6, routing::kNoRoute);
  const query::Trace trace = FromNode1(6);
  EXPECT_FALSE(trace.reachable);
  EXPECT_EQ(trace.stopped, "MF0;spine:MQM8700/U1 has no route to LID 6");
  EXPECT_EQ(trace.hops.back().node, fabric_.spine);
}

TEST_F(TraceTest, LidWithoutAnOwner) {
  EXPECT_EQ(FromNode1(5).stopped, "leaf1 has no route to LID 5");
}

TEST_F(TraceTest, Loop) {
  fabric_.rows[fabric_.leaf2].Set(6, 3);
  fabric_.rows[fabric_.spine].Set(6, 2);
  EXPECT_EQ(FromNode1(6).stopped, "the tables loop");
}

TEST_F(TraceTest, PulledCable) {
  fabric_.maker.builder.Unlink({fabric_.leaf2, PortNum(1)});
  EXPECT_EQ(FromNode1(6).stopped, "leaf2/1 is not linked");
}

TEST_F(TraceTest, DownPort) {
  fabric_.maker.builder.SetPortInfo({fabric_.leaf1, PortNum(3)},
                                    MakePortInfo(wire::PortState::kDown, 0));
  EXPECT_EQ(FromNode1(6).stopped, "leaf1/3 is DOWN");
}

TEST_F(TraceTest, WrongEnd) {
  fabric_.rows[fabric_.leaf2].Set(6, 2);
  EXPECT_EQ(FromNode1(6).stopped, "node1 mlx5_1/1 does not own LID 6");
  fabric_.rows[fabric_.leaf2].Set(6, 0);
  EXPECT_EQ(FromNode1(6).stopped, "leaf2 takes LID 6 for its own");
}

// A table may name a port that the switch does not have.
TEST_F(TraceTest, PortBeyondTheSwitch) {
  fabric_.rows[fabric_.leaf1].Set(6, 200);
  EXPECT_EQ(FromNode1(6).stopped, "leaf1/200 is not linked");
}

}  // namespace
}  // namespace fabricd::rpc::testing
