// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/unresponsive.h"

#include "tests/unit/sweep/observe/observe_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class UnresponsiveTest : public ObserveTest {
 protected:
  UnresponsiveTest() { Discover(); }
  void DiscoverAll() {
    discovery_.emplace(ground_, PortNum(1), Activity::kDiscovery);
    discovery_->Start(wire_.now);
    Run(*discovery_);
    discovery_->Finish(wire_.now);
  }
  Discovery& ExploreBeyond(const std::vector<PortRef>& ports) {
    discovery_.emplace(ground_, PortNum(1), Activity::kExplorer);
    discovery_->StartBeyond(ports, local_, wire_.now);
    Run(*discovery_);
    discovery_->Finish(wire_.now);
    return *discovery_;
  }

  std::optional<Discovery> discovery_;
};

TEST_F(UnresponsiveTest, AKnownHostThatDoesNotRespondStaysWhileItsLinkIsActive) {
  Silence(0x103);
  DiscoverAll();
  ASSERT_NE(NodeOf(0x103), nullptr);
  EXPECT_TRUE(NodeOf(0x103)->unresponsive);
  EXPECT_TRUE(discovery_->IsUnresponsive(KnownPort(0x11, 2)));
  EXPECT_EQ(NodeOf(0x103)->port(PortNum(1)).peer, KnownPort(0x11, 2));
  EXPECT_EQ(NodeOf(0x103)->port(PortNum(1)).info.lid, Lid(6));
  EXPECT_FALSE(NodeOf(0x102)->unresponsive);
  AnswerAll();
  DiscoverAll();
  EXPECT_FALSE(NodeOf(0x103)->unresponsive);
}

TEST_F(UnresponsiveTest, AHostThatDoesNotRespondIsGoneWhenItsLinkIsNotActiveOrItsGraceHasEnded) {
  Silence(0x103);
  SetLink(SwitchPort(1, 2), wire::PortState::kInit);
  DiscoverAll();
  EXPECT_EQ(NodeOf(0x103), nullptr) << "it has restarted";
  SetLink(SwitchPort(1, 2), wire::PortState::kActive);
  AnswerAll();
  DiscoverAll();
  Silence(0x103);
  DiscoverAll();
  ASSERT_NE(NodeOf(0x103), nullptr);
  wire_.now += options_.sweep.unresponsive_grace;
  options_.sweep.keep_unresponsive = true;
  DiscoverAll();
  EXPECT_NE(NodeOf(0x103), nullptr);
  options_.sweep.keep_unresponsive = false;
  DiscoverAll();
  EXPECT_EQ(NodeOf(0x103), nullptr);
}

TEST_F(UnresponsiveTest, AllBehindASwitchThatDoesNotRespondStays) {
  Silence(0x11);
  DiscoverAll();
  for (const uint64_t guid : {0x11, 0x101, 0x103}) {
    ASSERT_NE(NodeOf(guid), nullptr) << guid;
    EXPECT_TRUE(NodeOf(guid)->unresponsive) << guid;
  }
  EXPECT_FALSE(NodeOf(0x102)->unresponsive);
}

TEST_F(UnresponsiveTest, AHostThatStopsRespondingWhileItIsReadStaysAsItWas) {
  wire_.react = [](const Sent& sent) {
    return Reaction{.is_lost = sent.text == "Get PortInfo 0x1 of 0x103"};
  };
  DiscoverAll();
  EXPECT_TRUE(NodeOf(0x103)->port(PortNum(1)).known);
  EXPECT_TRUE(NodeOf(0x103)->unresponsive);
}

TEST_F(UnresponsiveTest, AHostBehindAPortThatAReportNamesStaysTheSameWay) {
  Silence(0x103);
  const Discovery& discovery = ExploreBeyond({KnownPort(0x11, 2)});
  EXPECT_TRUE(discovery.IsUnresponsive(KnownPort(0x11, 2)));
  EXPECT_TRUE(NodeOf(0x103)->unresponsive);
}

TEST_F(UnresponsiveTest, ANodeIsMarkedOnceAndNamedByAProblem) {
  const NodeIndex host = Known(0x103);
  EXPECT_FALSE(MarkResponsive(ground_, host));
  EXPECT_TRUE(MarkUnresponsive(ground_, host, wire_.now));
  EXPECT_FALSE(MarkUnresponsive(ground_, host, wire_.now + 1s)) << "the first time counts";
  EXPECT_FALSE(MayStayUnresponsive(ground_, host, wire_.now + options_.sweep.unresponsive_grace));
  ReportUnresponsive(ground_);
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("SmaUnresponsive: host3")));
  EXPECT_TRUE(MarkResponsive(ground_, host));
  ReportUnresponsive(ground_);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(UnresponsiveTest, WithoutAGracePeriodNothingStays) {
  options_.sweep.unresponsive_grace = Duration::zero();
  EXPECT_FALSE(MayStayUnresponsive(ground_, Known(0x103), wire_.now));
  Silence(0x103);
  DiscoverAll();
  EXPECT_EQ(NodeOf(0x103), nullptr);
}

}  // namespace
}  // namespace fabricd::sweep
