// SPDX-License-Identifier: Apache-2.0
// Forwarding tables and paths of TopologyService.
#include "tests/unit/daemon/rpc/services/topology_service_fixture.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TopologyRoutesTest : public TopologyServiceTest {
 protected:
  pb::TracePathResponse Trace(const std::string& from, const std::string& to,
                              bool all_lids = false) {
    pb::TracePathRequest request;
    request.set_source(from);
    request.set_destination(to);
    request.set_all_lids(all_lids);
    pb::TracePathResponse response;
    const auto status = Call(&TopologyStub::TracePath, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
};

TEST_F(TopologyRoutesTest, ForwardingTableByLid) {
  pb::GetForwardingTableRequest request;
  request.set_node("leaf2");
  pb::GetForwardingTableResponse table;
  ASSERT_TRUE(Call(&TopologyStub::GetForwardingTable, request, &table).ok());
  EXPECT_EQ(table.node().lid(), 2u);
  EXPECT_EQ(table.lid_top(), 9u);
  std::vector<std::string> texts;
  for (const auto& entry : table.entries()) {
    texts.push_back(
        fmt::format("{}>{} {}", entry.lid(), entry.port(), entry.destination().node_name()));
  }
  EXPECT_THAT(texts,
              ElementsAre("1>3 leaf1", "2>0 leaf2", "3>3 MF0;spine:MQM8700/U1", "4>3 node1 mlx5_0",
                          "6>1 node2 mlx5_0", "8>2 node1 mlx5_1", "9>2 node1 mlx5_1"));
  request.set_destination("node1 mlx5_1");
  ASSERT_TRUE(Call(&TopologyStub::GetForwardingTable, request, &table).ok());
  EXPECT_EQ(table.total_size(), 2u);
  request.set_node("node2");
  EXPECT_EQ(Call(&TopologyStub::GetForwardingTable, request, &table).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(TopologyRoutesTest, TracesFromEndToEnd) {
  const auto trace = Trace("node1 mlx5_0", "node2");
  EXPECT_EQ(trace.source().lid(), 4u);
  EXPECT_EQ(trace.destination().guid(), "0x0000000000100201");
  ASSERT_EQ(trace.paths_size(), 1);
  const pb::Path& path = trace.paths(0);
  EXPECT_TRUE(path.reachable());
  EXPECT_EQ(path.destination_lid(), 6u);
  std::vector<std::string> hops;
  for (const auto& hop : path.hops()) {
    hops.push_back(fmt::format("{}:{}:{}:{}", hop.node_name(),
                               hop.has_ingress_port() ? int(hop.ingress_port()) : -1,
                               hop.has_egress_port() ? int(hop.egress_port()) : -1, hop.lid()));
  }
  EXPECT_THAT(hops, ElementsAre("node1 mlx5_0:-1:1:4", "leaf1:1:3:1", "MF0;spine:MQM8700/U1:1:2:3",
                                "leaf2:3:1:2", "node2 mlx5_0:1:-1:6"));
  EXPECT_EQ(path.hops(4).port_guid(), "0x0000000000100201");
}

TEST_F(TopologyRoutesTest, TracesLidsOfAnLmcRange) {
  EXPECT_EQ(Trace("node2", "9").paths(0).destination_lid(), 9u);
  EXPECT_EQ(Trace("node2", "node1 mlx5_1").paths(0).destination_lid(), 8u);
  const auto all = Trace("node2", "node1 mlx5_1", true);
  ASSERT_EQ(all.paths_size(), 2);
  EXPECT_EQ(all.paths(1).destination_lid(), 9u);
  EXPECT_TRUE(all.paths(1).reachable());
}

TEST_F(TopologyRoutesTest, NoPlanNoTrace) {
  auto view = fabric_.View(8);
  view->plan = nullptr;
  view->sm.state = wire::SmState::kStandby;
  backend_.Publish(view);
  pb::TracePathRequest request;
  request.set_source("node1 mlx5_0");
  request.set_destination("node2");
  pb::TracePathResponse response;
  const auto status = Call(&TopologyStub::TracePath, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "NO_ROUTES");
  EXPECT_THAT(status.error_message(), HasSubstr("STANDBY"));
}

}  // namespace
}  // namespace fabricd::rpc::testing
