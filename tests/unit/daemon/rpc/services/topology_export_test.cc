// SPDX-License-Identifier: Apache-2.0
// GetTopology: the whole fabric in each of its formats.
#include <google/protobuf/util/json_util.h>

#include "tests/unit/daemon/rpc/services/topology_service_fixture.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class TopologyExportTest : public TopologyServiceTest {
 protected:
  std::string Export(pb::TopologyFormat format, grpc::Status* status) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    pb::GetTopologyRequest request;
    request.set_format(format);
    auto reader = running_.topology->GetTopology(&context, request);
    std::string text;
    pb::GetTopologyResponse piece;
    while (reader->Read(&piece)) text += piece.chunk();
    *status = reader->Finish();
    return text;
  }
};

TEST_F(TopologyExportTest, MessageExportIsTheJsonExport) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  pb::GetTopologyRequest request;
  request.set_format(pb::TOPOLOGY_FORMAT_MESSAGE);
  auto reader = running_.topology->GetTopology(&context, request);
  pb::Topology whole, parsed;
  pb::GetTopologyResponse piece;
  while (reader->Read(&piece)) whole.MergeFrom(piece.topology());
  ASSERT_TRUE(reader->Finish().ok());
  grpc::Status status;
  const std::string json = Export(pb::TOPOLOGY_FORMAT_JSON, &status);
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &parsed).ok());
  EXPECT_EQ(whole.nodes_size(), 6);
  EXPECT_EQ(whole.DebugString(), parsed.DebugString());
}

TEST_F(TopologyExportTest, JsonExportIsTheThreeListings) {
  grpc::Status status;
  const std::string json = Export(pb::TOPOLOGY_FORMAT_JSON, &status);
  ASSERT_TRUE(status.ok()) << status.error_message();
  pb::Topology topology;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &topology).ok()) << json;
  EXPECT_EQ(topology.generation(), 7u);
  const auto nodes = Nodes({});
  ASSERT_EQ(topology.nodes_size(), nodes.nodes_size());
  for (int i = 0; i < nodes.nodes_size(); ++i) {
    EXPECT_EQ(topology.nodes(i).SerializeAsString(), nodes.nodes(i).SerializeAsString());
  }
  EXPECT_EQ(topology.hosts_size(), 2);
  EXPECT_EQ(topology.links_size(), 5);
}

TEST_F(TopologyExportTest, IbnetdiscoverExport) {
  grpc::Status status;
  const std::string text = Export(pb::TOPOLOGY_FORMAT_IBNETDISCOVER, &status);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_THAT(text, StartsWith("#\n# Topology file: generated on "));
  EXPECT_THAT(text, HasSubstr("# Initiated from node 0000000000100000 port 0000000000100001"));
  EXPECT_THAT(text, HasSubstr("\"S-0000000000200100\""));
  Export(static_cast<pb::TopologyFormat>(77), &status);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace fabricd::rpc::testing
