// SPDX-License-Identifier: Apache-2.0
// Conditions, readiness and damped links as clients see them, and objects with their holds.
#include <map>

#include "tests/unit/daemon/rpc/services/remediation_service_fixture.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(RemediationServiceTest, HeldObjectsListTheirHolds) {
  AddHold(1, policy::HoldKind::kDrain, "alice",
          {policy::TargetKind::kSwitch, "spine", {kSpine}, {}, {}});
  AddHold(2, policy::HoldKind::kCordon, "bob",
          {policy::TargetKind::kHca, "node2/mlx5_0", {kNode2}, {}, {}});
  pb::GetNodeRequest node_request;
  node_request.set_node("leaf1");
  pb::GetNodeResponse node;
  using Topology = pb::TopologyService::Stub;
  ASSERT_TRUE(running_.Call(*running_.topology, &Topology::GetNode, node_request, &node).ok());
  EXPECT_THAT(node.node().held(), IsEmpty());
  pb::ListLinksResponse links;
  ASSERT_TRUE(
      running_.Call(*running_.topology, &Topology::ListLinks, pb::ListLinksRequest(), &links).ok());
  std::map<std::string, std::vector<int>> held;
  for (const auto& link : links.links()) {
    held[link.a().node_name() + " " + link.b().node_name()] = {link.held().begin(),
                                                               link.held().end()};
  }
  EXPECT_THAT(held["leaf2 node2 mlx5_0"], ElementsAre(pb::HOLD_KIND_CORDON));
  EXPECT_THAT(held["leaf1 node1 mlx5_0"], IsEmpty());
  pb::ListHostsResponse hosts;
  ASSERT_TRUE(
      running_.Call(*running_.topology, &Topology::ListHosts, pb::ListHostsRequest(), &hosts).ok());
  EXPECT_THAT(hosts.hosts(0).held(), IsEmpty());
  EXPECT_THAT(hosts.hosts(1).held(), ElementsAre(pb::HOLD_KIND_CORDON));
  EXPECT_THAT(hosts.hosts(1).ports(0).held(), ElementsAre(pb::HOLD_KIND_CORDON));
  pb::GetPortRequest port_request;
  port_request.set_port("leaf1/3");  // Its link leads to the spine.
  pb::GetPortResponse port;
  ASSERT_TRUE(running_.Call(*running_.topology, &Topology::GetPort, port_request, &port).ok());
  EXPECT_THAT(port.port().held(), ElementsAre(pb::HOLD_KIND_DRAIN));
}

TEST_F(RemediationServiceTest, ReadinessOfSomeHostsOrAll) {
  pb::BatchGetReadinessRequest request;
  pb::BatchGetReadinessResponse response;
  request.add_hosts("node2");
  request.add_hosts("nowhere");
  ASSERT_TRUE(
      running_.Call(*running_.remediation, &Stub::BatchGetReadiness, request, &response).ok());
  ASSERT_EQ(response.hosts_size(), 2);
  EXPECT_EQ(response.hosts(0).readiness(), pb::READINESS_READY);
  EXPECT_EQ(response.hosts(1).readiness(), pb::READINESS_UNKNOWN);
  EXPECT_EQ(response.resource_version(), backend_.log->version());
  request.Clear();
  ASSERT_TRUE(
      running_.Call(*running_.remediation, &Stub::BatchGetReadiness, request, &response).ok());
  EXPECT_EQ(response.hosts_size(), 2);
  for (int i = 0; i < 17'000; ++i) request.add_hosts("node1");
  const grpc::Status status =
      running_.Call(*running_.remediation, &Stub::BatchGetReadiness, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("at most 16384"));
}

TEST_F(RemediationServiceTest, ABadVerdictIsAConditionAndAReasonOfItsHost) {
  auto verdicts = std::make_shared<query::VerdictView>();
  verdicts->snapshot = fabric_.View()->snapshot;
  query::VerdictRecord record;
  record.link = {{kNode2, PortNum(1)}, {kLeaf2, PortNum(1)}};
  record.a = {fabric_.node2, PortNum(1)};
  record.b = {fabric_.leaf2, PortNum(1)};
  record.standing.stage = policy::Stage::kBad;
  record.standing.verdict = policy::Verdict::kNoisyPhy;
  record.standing.accusation.culprit = policy::Culprit::kCable;
  record.found.verdict = policy::Verdict::kNoisyPhy;
  record.found.reason = "one row is fatal";
  record.response.recommended = policy::HoldKind::kCordon;
  record.response.held_back = "budget";
  verdicts->records = {record};
  verdicts->configured = policy::Action::kCordon;
  query::IndexEnds(*verdicts);
  backend_.PublishVerdicts(verdicts);

  pb::ListConditionsRequest request;
  request.add_types("NoisyPhy");
  pb::ListConditionsResponse conditions;
  ASSERT_TRUE(
      running_.Call(*running_.remediation, &Stub::ListConditions, request, &conditions).ok());
  ASSERT_EQ(conditions.conditions_size(), 1);
  EXPECT_THAT(conditions.conditions(0).subject(), HasSubstr("node2 mlx5_0/1"));
  EXPECT_EQ(conditions.conditions(0).evidence().at("culprit"), "cable");
  EXPECT_EQ(conditions.conditions(0).held_back(), "budget");
  pb::BatchGetReadinessRequest hosts;
  hosts.add_hosts("node2");
  pb::BatchGetReadinessResponse readiness;
  ASSERT_TRUE(
      running_.Call(*running_.remediation, &Stub::BatchGetReadiness, hosts, &readiness).ok());
  EXPECT_EQ(readiness.hosts(0).readiness(), pb::READINESS_DEGRADED);
  EXPECT_THAT(readiness.hosts(0).reasons(0), HasSubstr("NoisyPhy: one row is fatal"));

  backend_.PublishVerdicts(query::NoVerdicts());
  ASSERT_TRUE(
      running_.Call(*running_.remediation, &Stub::BatchGetReadiness, hosts, &readiness).ok());
  EXPECT_EQ(readiness.hosts(0).readiness(), pb::READINESS_READY);
}

TEST_F(RemediationServiceTest, ConditionsAndDampedLinks) {
  policy::Condition condition;
  condition.type = "NoisyTraps";
  condition.subject = "leaf1/3";
  condition.node = kLeaf1;
  condition.port = PortNum(3);
  condition.message = "70 traps in 90 s, threshold 60";
  condition.evidence = {{"count", "70"}};
  condition.mode = policy::ConditionMode::kEnforce;
  condition.recommended = policy::HoldKind::kCordon;
  condition.hold = 4;
  fabric_.policy.conditions = {condition};
  policy::DampedLink link;
  link.a = {fabric_.leaf1, PortNum(3)};
  link.b = {fabric_.spine, PortNum(1)};
  link.penalty = 3500;
  link.flaps = 4;
  link.suppressed = link.needed = true;
  link.reason = "4 flaps";
  policy::DampedLink quiet = link;
  quiet.a = {fabric_.leaf2, PortNum(3)};
  quiet.b = {fabric_.spine, PortNum(2)};
  quiet.suppressed = false;
  fabric_.policy.damped = {link, quiet};
  backend_.Publish(fabric_.View(8));

  pb::ListConditionsRequest request;
  request.add_names("leaf1");
  request.add_types("NoisyTraps");
  pb::ListConditionsResponse conditions;
  ASSERT_TRUE(
      running_.Call(*running_.remediation, &Stub::ListConditions, request, &conditions).ok());
  ASSERT_EQ(conditions.conditions_size(), 1);
  EXPECT_EQ(conditions.conditions(0).evidence().at("count"), "70");
  EXPECT_EQ(conditions.conditions(0).mode(), pb::CONDITION_MODE_ENFORCE);
  EXPECT_EQ(conditions.conditions(0).recommended(), pb::HOLD_KIND_CORDON);
  EXPECT_EQ(conditions.conditions(0).hold_id(), "4");
  request.set_names(0, "leaf2");
  ASSERT_TRUE(
      running_.Call(*running_.remediation, &Stub::ListConditions, request, &conditions).ok());
  EXPECT_EQ(conditions.conditions_size(), 0);

  pb::ListDampedLinksRequest damped_request;
  pb::ListDampedLinksResponse damped;
  ASSERT_TRUE(
      running_.Call(*running_.remediation, &Stub::ListDampedLinks, damped_request, &damped).ok());
  EXPECT_EQ(damped.links_size(), 2);
  damped_request.set_suppressed_only(true);
  ASSERT_TRUE(
      running_.Call(*running_.remediation, &Stub::ListDampedLinks, damped_request, &damped).ok());
  ASSERT_EQ(damped.links_size(), 1);
  EXPECT_EQ(damped.links(0).flaps(), 4u);
  EXPECT_EQ(damped.links(0).penalty(), 3500);
  EXPECT_TRUE(damped.links(0).needed());

  pb::ListLinksRequest links_request;
  links_request.add_names("leaf1/3");
  pb::ListLinksResponse links;
  ASSERT_TRUE(
      running_
          .Call(*running_.topology, &pb::TopologyService::Stub::ListLinks, links_request, &links)
          .ok());
  EXPECT_TRUE(links.links(0).suppressed());
  EXPECT_EQ(links.links(0).suppression(), "4 flaps; used: nothing else is left");
}

}  // namespace
}  // namespace fabricd::rpc::testing
