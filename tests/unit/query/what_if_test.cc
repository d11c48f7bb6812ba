// SPDX-License-Identifier: Apache-2.0
#include "query/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "tests/support/fabrics.h"

namespace fabricd::daemon {
namespace {

using fabricd::testing::TestFabric;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A tree of two levels, 8 leaves with 4 hosts each below 4 spines, with the plan that fits it.
class WhatIfTest : public ::testing::Test {
 protected:
  void SetUp() override {
    view_.snapshot = fabric_.snapshot;
    view_.lids = std::make_shared<const fabric::LidTable>(fabric_.lids);
    view_.policy = std::make_shared<const policy::PolicyView>();
    view_.routing.chain = {"fat_tree", "up_down"};
    view_.plan = routing::RunChain({*view_.snapshot, *view_.lids, view_.routing}).plan;
    ASSERT_NE(view_.plan, nullptr);
    view_.plan_stands = true;
    fabric_.snapshot->ForEachNode([&](const fabric::Node& node) {
      if (!node.IsSwitch()) return hosts_.push_back(node.index);
      bool leaf = false;
      for (const fabric::Port& port : node.ports)
        leaf |= !port.peer.IsNone() && !fabric_.snapshot->node(port.peer.node)->IsSwitch();
      (leaf ? leaves_ : spines_).push_back(node.index);
    });
    view_.sm.port = {hosts_[0], PortNum(1)};
  }
  query::WhatIfAnswer Ask(const query::WhatIf& question) {
    auto answer = query::Answer(view_, question);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *std::move(answer) : query::WhatIfAnswer();
  }
  std::string Refusal(const query::WhatIf& question) {
    return Message(query::Answer(view_, question).status());
  }
  PortRef PeerOf(NodeIndex node, uint8_t port) const {
    return fabric_.snapshot->port({node, PortNum(port)})->peer;
  }
  // A port of the switch that leads to another switch.
  PortRef UpPortOf(NodeIndex leaf) const {
    const fabric::Node& node = *fabric_.snapshot->node(leaf);
    for (size_t number = 1; number < node.ports.size(); ++number) {
      const PortRef peer = node.ports[number].peer;
      if (!peer.IsNone() && fabric_.snapshot->node(peer.node)->IsSwitch())
        return {leaf, PortNum(static_cast<uint8_t>(number))};
    }
    return {};
  }

  TestFabric fabric_ = fabricd::testing::MakeFatTree(8, 2).Build();
  sweep::FabricView view_;
  std::vector<NodeIndex> hosts_, leaves_, spines_;
};

TEST_F(WhatIfTest, AnEmptyQuestionMovesNothing) {
  const query::WhatIfAnswer answer = Ask({});
  ASSERT_TRUE(answer.first);
  EXPECT_EQ(answer.first->blocks_written, 0u);
  EXPECT_EQ(answer.settled.blocks_written, 0u);
  EXPECT_EQ(answer.settled.engine, "fat_tree");
  EXPECT_GT(answer.settled.busiest_before.load, 0u);
  EXPECT_EQ(answer.settled.busiest_after.load, answer.settled.busiest_before.load);
}

TEST_F(WhatIfTest, ALostCableMovesOnlyPathsThatUsedIt) {
  query::WhatIf question;
  question.failed_links = {UpPortOf(leaves_[0])};
  const query::WhatIfAnswer answer = Ask(question);
  EXPECT_EQ(answer.failed_links, 1u);
  EXPECT_TRUE(answer.first->plan_found);
  EXPECT_EQ(answer.first->pairs_lost, 0u);
  EXPECT_GT(answer.first->blocks_written, 0u);
  EXPECT_GT(answer.first->busiest_after.load, answer.first->busiest_before.load);
  // The other end names the same cable.
  question.failed_links = {fabric_.snapshot->port(UpPortOf(leaves_[0]))->peer};
  EXPECT_EQ(Ask(question).first->blocks_written, answer.first->blocks_written);
}

TEST_F(WhatIfTest, EndPortsOfFailedLinksAndNodesAreCutOff) {
  query::WhatIf question;
  question.failed_links = {PeerOf(hosts_[5], 1)};
  EXPECT_THAT(Ask(question).first->cut_off, ElementsAre(PortRef{hosts_[5], PortNum(1)}));
  question = {};
  question.failed_nodes = {leaves_[1], leaves_[1]};
  const query::WhatIfAnswer answer = Ask(question);
  EXPECT_EQ(answer.failed_nodes, 1u);
  EXPECT_EQ(answer.failed_links, 8u);
  EXPECT_EQ(answer.first->cut_off.size(), 4u);
  // Its 4 hosts among themselves and with the 28 others, and the others' switches; not its own LID.
  const uint64_t switches = leaves_.size() + spines_.size() - 1;
  EXPECT_EQ(answer.first->pairs_lost, 4 * 3 + 2 * 4 * (28 + switches));
  question.failed_nodes = {spines_[1]};
  EXPECT_EQ(Ask(question).first->pairs_lost, 0u);
  EXPECT_EQ(answer.settled.cut_off, answer.first->cut_off);
}

TEST_F(WhatIfTest, RandomFailuresAreDrawnFromTheSeed) {
  query::WhatIf question;
  question.failed_at_random = 3;
  question.seed = 1;
  const query::WhatIfAnswer one = Ask(question), again = Ask(question);
  EXPECT_EQ(one.failed_links, 3u);
  EXPECT_EQ(one.settled.busiest_after.port, again.settled.busiest_after.port);
  EXPECT_EQ(one.first->paths_moved, again.first->paths_moved);
  question.failed_at_random = 1000;
  EXPECT_THAT(Refusal(question), HasSubstr("there are 32"));
}

TEST_F(WhatIfTest, AddedHostsAreReached) {
  query::WhatIf question;
  question.failed_nodes = {hosts_[31]};  // Makes room on the last leaf.
  const NodeIndex leaf = PeerOf(hosts_[31], 1).node;
  question.added_nodes = {{"new1 mlx5_0", wire::NodeType::kChannelAdapter, 1}};
  question.added_links = {{{NodeIndex::None(), 0, PortNum(0)}, {leaf, 0, PortNum(0)}}};
  const query::WhatIfAnswer answer = Ask(question);
  EXPECT_EQ(answer.added_nodes, 1u);
  EXPECT_EQ(answer.added_links, 1u);
  ASSERT_TRUE(answer.settled.plan_found);
  EXPECT_GT(answer.settled.destinations_moved, 0u);
}

TEST_F(WhatIfTest, AnAddedSpineTakesLoad) {
  query::WhatIf question;
  question.failed_nodes = {spines_[0]};
  const uint64_t worse = Ask(question).settled.busiest_after.load;
  question.added_nodes = {{"spine-new", wire::NodeType::kSwitch, 8}};
  for (const NodeIndex leaf : leaves_)
    question.added_links.push_back({{NodeIndex::None(), 0, PortNum(0)}, {leaf, 0, PortNum(0)}});
  const query::WhatIfAnswer answer = Ask(question);
  EXPECT_LT(answer.settled.busiest_after.load, worse);
  EXPECT_EQ(answer.settled.busiest_after.load, answer.settled.busiest_before.load);
}

TEST_F(WhatIfTest, DrainsCountAsHoldsDo) {
  query::WhatIf question;
  policy::HoldTarget spine;
  spine.kind = policy::TargetKind::kSwitch;
  spine.nodes = {fabric_.snapshot->node(spines_[2])->guid()};
  question.drained = {spine};
  const query::WhatIfAnswer answer = Ask(question);
  EXPECT_THAT(answer.first->cut_off, IsEmpty());
  EXPECT_GT(answer.first->busiest_after.load, answer.first->busiest_before.load);
  // Where the hold stands already nothing is left to do for it.
  policy::PolicyView standing;
  standing.holds.push_back({});
  standing.holds[0].hold.id = 1;
  standing.holds[0].hold.kind = policy::HoldKind::kDrain;
  standing.holds[0].hold.target = spine;
  view_.policy = std::make_shared<const policy::PolicyView>(standing);
  const fabric::Intent intent = {.closed_switches = {spines_[2]}};
  const auto made = routing::Replan({*view_.snapshot, *view_.lids, intent, view_.routing, nullptr});
  view_.plan = made.after->plan;
  EXPECT_EQ(Ask(question).first->blocks_written, 0u);
}

TEST_F(WhatIfTest, OtherEnginesAreComparedWithThePlanInForce) {
  query::WhatIf question;
  question.routing = view_.routing;
  question.routing->chain = {"up_down"};
  const query::WhatIfAnswer answer = Ask(question);
  EXPECT_FALSE(answer.first);
  EXPECT_EQ(answer.settled.engine, "up_down");
  EXPECT_EQ(answer.settled.pairs_lost, 0u);
}

TEST_F(WhatIfTest, RefusesImpossibleQuestionsWithTheReason) {
  query::WhatIf question;
  const query::WhatIf::AddedEnd taken{leaves_[0], 0, UpPortOf(leaves_[0]).port};
  question.added_links = {{taken, {leaves_[1], 0, PortNum(0)}}};
  EXPECT_THAT(Refusal(question), HasSubstr("has a cable"));
  question.added_links = {{{leaves_[0], 0, PortNum(0)}, {leaves_[1], 0, PortNum(0)}}};
  EXPECT_THAT(Refusal(question), HasSubstr("has no free port"));
  question.added_links = {{{leaves_[0], 0, PortNum(99)}, {leaves_[1], 0, PortNum(0)}}};
  EXPECT_THAT(Refusal(question), HasSubstr("has no port 99"));
  view_.plan_stands = false;
  EXPECT_TRUE(absl::IsUnavailable(query::Answer(view_, {}).status()));
}

}  // namespace
}  // namespace fabricd::daemon
