// SPDX-License-Identifier: Apache-2.0
// TopologyServiceTest: TopologyService over a socket, on the small fabric.
#pragma once

#include <string>
#include <vector>

#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::rpc::testing {

class TopologyServiceTest : public ::testing::Test {
 protected:
  using TopologyStub = pb::TopologyService::Stub;

  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (TopologyStub::*method)(grpc::ClientContext*, const Request&,
                                                         Response*),
                    const Request& request, Response* response) {
    return running_.Call(*running_.topology, method, request, response);
  }
  pb::ListNodesResponse Nodes(const pb::ListNodesRequest& request) {
    pb::ListNodesResponse response;
    const auto status = Call(&TopologyStub::ListNodes, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  grpc::Status GetNode(const std::string& name, pb::GetNodeResponse* response) {
    pb::GetNodeRequest request;
    request.set_node(name);
    return Call(&TopologyStub::GetNode, request, response);
  }
  template <typename Messages>
  static std::vector<std::string> Names(const Messages& messages) {
    std::vector<std::string> names;
    for (const auto& message : messages) names.push_back(message.name());
    return names;
  }

  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View()};
  RunningServer running_{backend_};
};

}  // namespace fabricd::rpc::testing
