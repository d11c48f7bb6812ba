// SPDX-License-Identifier: Apache-2.0
// Why links go down, as PDDR and the counters show it.
#include "sim/fabric/link_model.h"

#include <gtest/gtest.h>

#include "tests/unit/sim/performance/gmp_client.h"

namespace fabricd::sim {
namespace {

class LinkDownTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(gmp.up); }
  uint64_t Total(PortRef port, Counter counter) {
    return gmp.fabric.CounterTotal(gmp.client.now, port, counter);
  }
  wire::PddrLinkDown Down(PortRef port) {
    wire::PddrRequest request;
    request.page = wire::PddrPage::kLinkDown;
    request.port = port.port.value();
    const auto block = gmp.GetRegister(port.node, request);
    EXPECT_TRUE(block);
    return block ? wire::PddrLinkDown::Decode(*block) : wire::PddrLinkDown();
  }

  GmpFabric gmp;
  PortRef second = gmp.Port("node0002 mlx5_0", 1), egress = gmp.fabric.LinkedPeer(second);
};

TEST_F(LinkDownTest, ALinkThatLosesItsSignalRetrainsAndBlamesTheOtherEnd) {
  ASSERT_TRUE(gmp.fabric.LoseSignal(gmp.client.now, egress, 13).ok());
  EXPECT_EQ(gmp.fabric.LinkedPeer(egress), second) << "up again";
  for (PortRef end : {egress, second}) {
    EXPECT_EQ(Total(end, Counter::kUnintentionalDowns), 1u);
    EXPECT_EQ(Total(end, Counter::kIntentionalDowns), 0u);
  }
  const wire::PddrLinkDown down = Down(egress);
  EXPECT_EQ(down.blame, wire::PddrLinkDown::Blame::kRemote);
  EXPECT_EQ(down.intent, wire::PddrLinkDown::Intent::kUnintentional);
  EXPECT_EQ(static_cast<int>(down.local_reason), 13);
  ASSERT_TRUE(gmp.fabric.Unlink(gmp.client.now, egress).ok());
  EXPECT_EQ(gmp.fabric.LoseSignal(gmp.client.now, egress, 13).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(LinkDownTest, AShutdownIsIntentionalAndAPowerLossIsNot) {
  ASSERT_TRUE(gmp.fabric.PowerOff(gmp.client.now, second.node, Ending::kShutdown).ok());
  EXPECT_EQ(Total(egress, Counter::kIntentionalDowns), 1u);
  EXPECT_EQ(Total(egress, Counter::kUnintentionalDowns), 0u);
  EXPECT_EQ(Total(egress, Counter::kXmitInactiveDiscards), 1u);
  EXPECT_EQ(Down(egress).intent, wire::PddrLinkDown::Intent::kIntentional);
  const PortRef third = gmp.Port("node0003 mlx5_0", 1);
  const PortRef other = gmp.fabric.LinkedPeer(third);
  ASSERT_TRUE(gmp.fabric.PowerOff(gmp.client.now, third.node).ok());
  EXPECT_EQ(Total(other, Counter::kUnintentionalDowns), 1u);
  EXPECT_EQ(Total(other, Counter::kIntentionalDowns), 0u);
}

TEST_F(LinkDownTest, ADisabledPortReportsAnIntentionalLinkDown) {
  ASSERT_TRUE(gmp.fabric.SetDisabled(gmp.client.now, egress, true).ok());
  EXPECT_TRUE(gmp.fabric.LinkedPeer(egress).IsNone());
  EXPECT_EQ(Down(egress).intent, wire::PddrLinkDown::Intent::kIntentional);
  EXPECT_EQ(static_cast<int>(Down(egress).local_reason), 22);
  EXPECT_EQ(Total(second, Counter::kIntentionalDowns), 1u);
  ASSERT_TRUE(gmp.fabric.SetDisabled(gmp.client.now, egress, false).ok());
  EXPECT_EQ(gmp.fabric.LinkedPeer(egress), second);
}

}  // namespace
}  // namespace fabricd::sim
