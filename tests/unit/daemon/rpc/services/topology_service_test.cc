// SPDX-License-Identifier: Apache-2.0
// TopologyService over a socket, on the small fabric.
#include <google/protobuf/util/json_util.h>

#include "tests/unit/daemon/rpc/services/topology_service_fixture.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(TopologyServiceTest, AReadMaskLeavesOnlyItsFields) {
  pb::ListPortsRequest request;
  request.mutable_read_mask()->add_paths("name");
  request.mutable_read_mask()->add_paths("id.number");
  request.add_names("leaf1/3");
  pb::ListPortsResponse ports;
  ASSERT_TRUE(Call(&TopologyStub::ListPorts, request, &ports).ok());
  ASSERT_EQ(ports.ports_size(), 1);
  pb::Port expected;
  expected.set_name("leaf1/3");
  expected.mutable_id()->set_number(3);
  EXPECT_EQ(ports.ports(0).SerializeAsString(), expected.SerializeAsString());
  pb::ListNodesRequest nodes;
  nodes.mutable_read_mask()->add_paths("colour");
  pb::ListNodesResponse none;
  const auto status = Call(&TopologyStub::ListNodes, nodes, &none);
  EXPECT_EQ(ReasonOf(status), "INVALID_REQUEST");
  EXPECT_THAT(status.error_message(), HasSubstr("Node has no field \"colour\""));
}

TEST_F(TopologyServiceTest, GetSmCountsTheFabric) {
  pb::GetSmResponse sm;
  ASSERT_TRUE(Call(&TopologyStub::GetSm, pb::GetSmRequest(), &sm).ok());
  EXPECT_EQ(sm.state(), "MASTER");
  EXPECT_EQ(sm.guid(), "0x0000000000100001");
  EXPECT_EQ(sm.lid(), 4u);
  EXPECT_EQ(sm.priority(), 5u);
  EXPECT_TRUE(sm.subnet_up());
  EXPECT_EQ(sm.generation(), 7u);
  EXPECT_EQ(sm.engine(), "up_down");
  EXPECT_EQ(sm.phase(), "IDLE");
  EXPECT_EQ(sm.version(), "1.2.3");
  EXPECT_EQ(sm.nodes(), 6u);
  EXPECT_EQ(sm.switches(), 3u);
  EXPECT_EQ(sm.hosts(), 2u);
  EXPECT_EQ(sm.links(), 5u);
  EXPECT_EQ(sm.links_degraded(), 1u);
  EXPECT_EQ(sm.ports_active(), 10u);
  EXPECT_EQ(sm.end_ports(), 6u);
  EXPECT_EQ(sm.node_name(), "node1 mlx5_0");
  EXPECT_EQ(sm.last_sweep().kind(), "HEAVY");
  EXPECT_DOUBLE_EQ(sm.last_sweep().duration_ms(), 12.5);
  EXPECT_EQ(sm.last_sweep().smps_sent(), 120u);
  EXPECT_EQ(sm.last_sweep().smps_by_attribute().at("Get PortInfo"), 30u);
  ASSERT_EQ(sm.chain_size(), 2);
  EXPECT_FALSE(sm.chain(0).chosen());
  EXPECT_EQ(sm.chain(0).reason(), "not a rail-optimised tree");
  ASSERT_EQ(sm.remote_sms_size(), 1);
  EXPECT_EQ(sm.remote_sms(0).state(), "STANDBY");
  EXPECT_EQ(sm.remote_sms(0).port().node_name(), "node2 mlx5_0");
  ASSERT_EQ(sm.problems_size(), 1);
  EXPECT_EQ(sm.problems(0).kind(), "Unresponsive");
}

// Scripts compare these without quotes (DESIGN §4).
TEST_F(TopologyServiceTest, CountsAreNumbersInJson) {
  pb::GetSmResponse sm;
  ASSERT_TRUE(Call(&TopologyStub::GetSm, pb::GetSmRequest(), &sm).ok());
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(sm, &json, options).ok());
  for (const char* field : {"\"generation\":7", "\"nodes\":6", "\"links\":5", "\"ports_active\":10",
                            "\"duration_ms\":12.5", "\"smps_sent\":120", "\"Get PortInfo\":30",
                            "\"subnet_up\":true", "\"state\":\"MASTER\""}) {
    EXPECT_THAT(json, HasSubstr(field));
  }
}

TEST_F(TopologyServiceTest, GetSmSaysWhyNothingCanBeStored) {
  pb::GetSmResponse sm;
  ASSERT_TRUE(Call(&TopologyStub::GetSm, pb::GetSmRequest(), &sm).ok());
  const int before = sm.problems_size();
  backend_.writable = absl::UnavailableError("etcd at head1:2379: no leader");
  ASSERT_TRUE(Call(&TopologyStub::GetSm, pb::GetSmRequest(), &sm).ok());
  ASSERT_EQ(sm.problems_size(), before + 1);
  EXPECT_EQ(sm.problems(before).kind(), "StoreUnavailable");
  EXPECT_THAT(sm.problems(before).message(), testing::HasSubstr("etcd at head1:2379: no leader"));
}

TEST_F(TopologyServiceTest, BeforeTheFirstSweepOnlyGetSmAnswers) {
  backend_.Publish(sweep::EmptyView());  // A client may come before anything else is published.
  pb::GetSmResponse first;
  ASSERT_TRUE(Call(&TopologyStub::GetSm, pb::GetSmRequest(), &first).ok());
  EXPECT_EQ(first.phase(), "IDLE");
  auto view = std::make_shared<sweep::FabricView>(*sweep::EmptyView());
  view->phase = sweep::Phase::kDiscovering;
  backend_.Publish(view);
  pb::GetSmResponse sm;
  ASSERT_TRUE(Call(&TopologyStub::GetSm, pb::GetSmRequest(), &sm).ok());
  EXPECT_EQ(sm.phase(), "DISCOVERING");
  EXPECT_EQ(sm.last_sweep().kind(), "NONE");
  pb::ListNodesResponse nodes;
  const auto status = Call(&TopologyStub::ListNodes, pb::ListNodesRequest(), &nodes);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "NOT_READY");
  EXPECT_GT(DetailOf<google::rpc::RetryInfo>(status).retry_delay().seconds(), 0);
}

TEST_F(TopologyServiceTest, NodesAreListedByName) {
  const auto nodes = Nodes({});
  EXPECT_THAT(Names(nodes.nodes()), ElementsAre("MF0;spine:MQM8700/U1", "leaf1", "leaf2",
                                                "node1 mlx5_0", "node1 mlx5_1", "node2 mlx5_0"));
  EXPECT_EQ(nodes.total_size(), 6u);
  EXPECT_EQ(nodes.generation(), 7u);
  const pb::Node& leaf2 = nodes.nodes(2);
  EXPECT_EQ(leaf2.guid(), "0x0000000000200100");
  EXPECT_EQ(leaf2.type(), "SWITCH");
  EXPECT_EQ(leaf2.num_ports(), 4u);
  EXPECT_EQ(leaf2.ports_active(), 3u);
  EXPECT_EQ(leaf2.ports_linked(), 3u);
  EXPECT_EQ(leaf2.links_degraded(), 1u);
  EXPECT_EQ(leaf2.end_ports(0).lid(), 2u);
  EXPECT_EQ(leaf2.switch_details().linear_fdb_cap(), 49152u);
  EXPECT_THAT(leaf2.host(), IsEmpty());
  EXPECT_EQ(nodes.nodes(3).host(), "node1");
  EXPECT_EQ(nodes.nodes(4).end_ports(0).lmc(), 1u);
}

TEST_F(TopologyServiceTest, NodesAreListedByTypeAndByName) {
  pb::ListNodesRequest request;
  request.add_types("SWITCH");
  EXPECT_EQ(Nodes(request).total_size(), 3u);
  request.add_names("leaf2");
  request.add_names("node2 mlx5_0");
  EXPECT_THAT(Names(Nodes(request).nodes()), ElementsAre("leaf2"));
  request.add_types("switch");
  pb::ListNodesResponse response;
  const auto status = Call(&TopologyStub::ListNodes, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailOf<google::rpc::BadRequest>(status).field_violations(0).field(), "types");
}

TEST_F(TopologyServiceTest, NodeIsFoundByEveryForm) {
  for (const char* form : {"spine", "MF0;spine:MQM8700/U1", "0x200200", "0x0000000000200200", "3",
                           "0000:0000:0020:0200"}) {
    pb::GetNodeResponse response;
    const auto status = GetNode(form, &response);
    ASSERT_TRUE(status.ok()) << form << ": " << status.error_message();
    EXPECT_EQ(response.node().guid(), "0x0000000000200200") << form;
  }
  // A host with one HCA stands for it; the second LID of an LMC range is as good as the first.
  pb::GetNodeResponse response;
  ASSERT_TRUE(GetNode("node2", &response).ok());
  EXPECT_EQ(response.node().name(), "node2 mlx5_0");
  ASSERT_TRUE(GetNode("9", &response).ok());
  EXPECT_EQ(response.node().name(), "node1 mlx5_1");
  ASSERT_TRUE(GetNode("node1/mlx5_1", &response).ok());
  EXPECT_EQ(response.node().name(), "node1 mlx5_1");
}

TEST_F(TopologyServiceTest, UnknownNodeIsNotFound) {
  pb::GetNodeResponse response;
  const auto status = GetNode("leaf9", &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(status), "NODE_NOT_FOUND");
  EXPECT_EQ(DetailOf<google::rpc::ResourceInfo>(status).resource_name(), "leaf9");
  EXPECT_THAT(status.error_message(), HasSubstr("leaf9"));
}

TEST_F(TopologyServiceTest, AmbiguousNamesAreRefusedWithTheChoice) {
  fabric_.maker.builder.SetDescription(fabric_.leaf2, "leaf1");
  backend_.Publish(fabric_.View(8));
  pb::GetNodeResponse response;
  auto status = GetNode("leaf1", &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), "AMBIGUOUS_NAME");
  EXPECT_THAT(status.error_message(), HasSubstr("0x0000000000200100"));
  status = GetNode("node1", &response);  // A host with two HCAs.
  EXPECT_EQ(ReasonOf(status), "AMBIGUOUS_NAME");
  EXPECT_THAT(status.error_message(), HasSubstr("\"node1 mlx5_1\""));
  status = GetNode("leaf1/3", &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(TopologyServiceTest, TheNameMapWins) {
  backend_.name_map = fabric::NodeNameMap::Parse("0x200000 \"rack1-leaf\"\n");
  backend_.Publish(fabric_.View(8));
  fabric_.maker.builder.SetDescription(fabric_.leaf2, "leaf 2");  // A new snapshot, so a new index.
  backend_.Publish(fabric_.View(9));
  pb::GetNodeResponse response;
  ASSERT_TRUE(GetNode("rack1-leaf", &response).ok());
  EXPECT_EQ(response.node().name(), "rack1-leaf");
  EXPECT_EQ(response.node().description(), "leaf1");
}

// Protobuf refuses strings that are not UTF-8; devices do not promise it.
TEST_F(TopologyServiceTest, DescriptionsNeedNotBeUtf8) {
  fabric_.maker.builder.SetDescription(fabric_.leaf1,
                                       "l\xE4"
                                       "af \xC3\xA4");
  backend_.Publish(fabric_.View(8));
  pb::GetNodeResponse response;
  ASSERT_TRUE(GetNode("1", &response).ok());
  EXPECT_EQ(response.node().description(), "l?af \xC3\xA4");
  EXPECT_EQ(response.node().name(), "l?af \xC3\xA4");
}

TEST_F(TopologyServiceTest, HostsOwnTheirHcas) {
  pb::ListHostsResponse hosts;
  ASSERT_TRUE(Call(&TopologyStub::ListHosts, pb::ListHostsRequest(), &hosts).ok());
  ASSERT_THAT(Names(hosts.hosts()), ElementsAre("node1", "node2"));
  const pb::Host& node1 = hosts.hosts(0);
  EXPECT_EQ(node1.hcas(), 2u);
  EXPECT_EQ(node1.ports_active(), 2u);
  ASSERT_EQ(node1.ports_size(), 2);
  EXPECT_EQ(node1.ports(1).device(), "mlx5_1");
  EXPECT_TRUE(node1.ports(1).rail_known());
  EXPECT_EQ(node1.ports(1).rail(), 1u);
  EXPECT_EQ(node1.ports(1).port().lid(), 8u);
  EXPECT_EQ(node1.ports(1).peer().node_name(), "leaf2");
  EXPECT_DOUBLE_EQ(node1.ports(1).rate_gbps(), 100);
  pb::ListHostsRequest request;
  request.add_names("node3");
  const auto status = Call(&TopologyStub::ListHosts, request, &hosts);
  EXPECT_EQ(ReasonOf(status), "HOST_NOT_FOUND");
}

TEST_F(TopologyServiceTest, PortsAreFiltered) {
  const auto list = [&](auto&& change) {
    pb::ListPortsRequest request;
    change(request);
    pb::ListPortsResponse response;
    const auto status = Call(&TopologyStub::ListPorts, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return Names(response.ports());
  };
  EXPECT_EQ(list([](auto&) {}).size(), 3u * 5 + 3);
  EXPECT_THAT(list([](auto& r) { r.add_names("leaf2"); }),
              ElementsAre("leaf2/0", "leaf2/1", "leaf2/2", "leaf2/3", "leaf2/4"));
  EXPECT_THAT(list([](auto& r) { r.add_names("leaf2[3]"), r.add_names("node2 mlx5_0"); }),
              ElementsAre("leaf2/3", "node2 mlx5_0/1"));
  EXPECT_THAT(list([](auto& r) { r.add_states("DOWN"); }),
              ElementsAre("MF0;spine:MQM8700/U1/3", "MF0;spine:MQM8700/U1/4", "leaf1/2", "leaf1/4",
                          "leaf2/4"));
  EXPECT_THAT(list([](auto& r) { r.set_degraded_only(true); }),
              ElementsAre("MF0;spine:MQM8700/U1/2", "leaf2/3"));
}

TEST_F(TopologyServiceTest, GetPortReturnsAllFields) {
  pb::GetPortRequest request;
  request.set_port("leaf2:3");
  pb::GetPortResponse response;
  ASSERT_TRUE(Call(&TopologyStub::GetPort, request, &response).ok());
  const pb::Port& port = response.port();
  EXPECT_EQ(port.name(), "leaf2/3");
  EXPECT_TRUE(port.known());
  EXPECT_EQ(port.state(), "ACTIVE");
  EXPECT_EQ(port.physical_state(), "LinkUp");
  EXPECT_EQ(port.width(), 1u);
  EXPECT_EQ(port.speed(), "EDR");
  EXPECT_DOUBLE_EQ(port.rate_gbps(), 25);
  EXPECT_TRUE(port.degraded());
  EXPECT_EQ(port.width_supported(), 4u);
  EXPECT_EQ(port.peer().node_guid(), "0x0000000000200200");
  EXPECT_EQ(port.peer().number(), 2u);
  EXPECT_FALSE(port.has_end_port());
  EXPECT_EQ(port.mtu(), 4096u);
  EXPECT_EQ(port.vls(), 4u);
  request.set_port("0x100201");  // A port GUID.
  ASSERT_TRUE(Call(&TopologyStub::GetPort, request, &response).ok());
  EXPECT_EQ(response.port().name(), "node2 mlx5_0/1");
  EXPECT_EQ(response.port().end_port().lid(), 6u);
  request.set_port("node2/mlx5_0[1]");
  ASSERT_TRUE(Call(&TopologyStub::GetPort, request, &response).ok());
  EXPECT_EQ(response.port().name(), "node2 mlx5_0/1");
}

// Only a vendor's attribute shows it: PortInfo says QDR.
TEST_F(TopologyServiceTest, PortsAndLinksShowFdr10) {
  const PortRef end{fabric_.leaf1, PortNum(3)};
  fabric::SnapshotBuilder& builder = fabric_.maker.builder;
  wire::PortInfo info = MakePortInfo(wire::PortState::kActive, 2);
  info.link_speed_ext_active = 0;
  builder.SetPortInfo(end, info);
  builder.SetPortFdr10(end, true);
  backend_.Publish(fabric_.View(8));
  pb::GetPortRequest request;
  request.set_port("leaf1/3");
  pb::GetPortResponse response;
  ASSERT_TRUE(Call(&TopologyStub::GetPort, request, &response).ok());
  EXPECT_EQ(response.port().speed(), "FDR10");
  EXPECT_DOUBLE_EQ(response.port().rate_gbps(), 40);
  pb::ListLinksResponse links;
  ASSERT_TRUE(Call(&TopologyStub::ListLinks, pb::ListLinksRequest(), &links).ok());
  std::vector<std::string> speeds;
  for (const pb::Link& link : links.links()) speeds.push_back(link.speed());
  EXPECT_THAT(speeds, ::testing::Contains("FDR10").Times(1));
}

TEST_F(TopologyServiceTest, InvalidPortsAreRefused) {
  const auto reason = [&](const char* text) {
    pb::GetPortRequest request;
    request.set_port(text);
    pb::GetPortResponse response;
    const auto status = Call(&TopologyStub::GetPort, request, &response);
    EXPECT_FALSE(status.ok()) << text;
    return ReasonOf(status);
  };
  EXPECT_EQ(reason("leaf1/5"), "PORT_NOT_FOUND");
  EXPECT_EQ(reason("leaf9/1"), "PORT_NOT_FOUND");
  EXPECT_EQ(reason("node2 mlx5_0/0"), "PORT_NOT_FOUND");
  EXPECT_EQ(reason("leaf1"), "INVALID_REQUEST");
}

// DESIGN and issue 7: no response of the API contains a secret.
TEST_F(TopologyServiceTest, NoResponseContainsAnMKey) {
  pb::ListPortsRequest request;
  request.set_view(pb::PORT_VIEW_FULL);
  pb::ListPortsResponse response;
  ASSERT_TRUE(Call(&TopologyStub::ListPorts, request, &response).ok());
  const uint64_t key = MakePortInfo(wire::PortState::kActive, 2).m_key.value();
  for (const auto& port : response.ports()) {
    EXPECT_THAT(port.ShortDebugString(), Not(HasSubstr(std::to_string(key))));
  }
}

TEST_F(TopologyServiceTest, LinksAreListedOnce) {
  pb::ListLinksResponse links;
  ASSERT_TRUE(Call(&TopologyStub::ListLinks, pb::ListLinksRequest(), &links).ok());
  std::vector<std::string> texts;
  for (const auto& link : links.links()) {
    texts.push_back(fmt::format("{}/{}-{}/{}", link.a().node_name(), link.a().number(),
                                link.b().node_name(), link.b().number()));
  }
  // Between a switch and a CA the switch is `a`; between switches the lower GUID.
  EXPECT_THAT(texts, ElementsAre("leaf1/1-node1 mlx5_0/1", "leaf1/3-MF0;spine:MQM8700/U1/1",
                                 "leaf2/1-node2 mlx5_0/1", "leaf2/2-node1 mlx5_1/1",
                                 "leaf2/3-MF0;spine:MQM8700/U1/2"));
  pb::ListLinksRequest request;
  request.set_degraded_only(true);
  ASSERT_TRUE(Call(&TopologyStub::ListLinks, request, &links).ok());
  ASSERT_EQ(links.links_size(), 1);
  EXPECT_TRUE(links.links(0).degraded());
  EXPECT_EQ(links.links(0).width(), 1u);
  EXPECT_EQ(links.links(0).width_supported(), 4u);
  EXPECT_EQ(links.links(0).state(), "ACTIVE");
  request.set_degraded_only(false);
  request.add_names("node1 mlx5_0");
  ASSERT_TRUE(Call(&TopologyStub::ListLinks, request, &links).ok());
  EXPECT_EQ(links.total_size(), 1u);
}

TEST_F(TopologyServiceTest, PlacesOfNodesAndPorts) {
  pb::ListNodesResponse nodes;
  ASSERT_TRUE(Call(&TopologyStub::ListNodes, pb::ListNodesRequest(), &nodes).ok());
  std::map<std::string, std::string> places;
  for (const pb::Node& node : nodes.nodes())
    places[node.name()] = fmt::format("{} {} {}", node.role(), node.tier(),
                                      node.has_rail() ? fmt::format("{}", node.rail()) : "-");
  EXPECT_EQ(places["node1 mlx5_1"], "host 0 1");
  EXPECT_EQ(places["leaf1"], "leaf 1 0");
  EXPECT_EQ(places["leaf2"], "leaf 1 -");  // HCAs of rails 0 and 1 hang on it.
  EXPECT_EQ(places["MF0;spine:MQM8700/U1"], "spine 2 -");
  pb::ListPortsRequest request;
  request.add_names("node1 mlx5_1");
  pb::ListPortsResponse ports;
  ASSERT_TRUE(Call(&TopologyStub::ListPorts, request, &ports).ok());
  EXPECT_EQ(ports.ports(0).role(), "host");
  EXPECT_EQ(ports.ports(0).host(), "node1");
  EXPECT_EQ(ports.ports(0).rail(), 1u);
}

// The third HCA of rail 1 outvotes the one whose cable is misplaced.
TEST_F(TopologyServiceTest, OneMisplacedCableTakesNoLeafOutOfItsRail) {
  const NodeIndex more =
      fabric_.maker.Add(wire::NodeType::kChannelAdapter, Guid(0x100400), 1, "node4 mlx5_1");
  fabric_.maker.Link(fabric_.leaf2, 4, more, 1);
  backend_.Publish(fabric_.View(9));
  pb::GetNodeRequest request;
  request.set_node("leaf2");
  pb::GetNodeResponse leaf;
  ASSERT_TRUE(Call(&TopologyStub::GetNode, request, &leaf).ok());
  EXPECT_TRUE(leaf.node().has_rail());
  EXPECT_EQ(leaf.node().rail(), 1u);
}

// A leaf without hosts stays a leaf as long as the plan has its rank.
TEST_F(TopologyServiceTest, TiersOfTheLayoutStay) {
  auto layout = std::make_shared<routing::TreeLayout>();
  layout->rank.assign(fabric_.spine.value() + 1, routing::TreeLayout::kUnknown);
  layout->rank[fabric_.leaf1.value()] = 0;
  layout->rank[fabric_.spine.value()] = 2;
  fabric_.plan->layout = layout;
  fabric_.maker.builder.RemoveNode(fabric_.node1_0);
  backend_.Publish(fabric_.View(8));
  pb::GetNodeRequest request;
  pb::GetNodeResponse response;
  request.set_node("leaf1");
  ASSERT_TRUE(Call(&TopologyStub::GetNode, request, &response).ok());
  EXPECT_EQ(response.node().role(), "leaf");
  request.set_node("MF0;spine:MQM8700/U1");
  ASSERT_TRUE(Call(&TopologyStub::GetNode, request, &response).ok());
  EXPECT_EQ(response.node().role(), "core");
  EXPECT_EQ(response.node().tier(), 3u);
}

}  // namespace
}  // namespace fabricd::rpc::testing
