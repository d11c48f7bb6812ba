// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/streams/reactors.h"

#include <chrono>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/v1/topology_service.grpc.pb.h"

namespace fabricd::rpc {
namespace {

namespace pb = ::fabric::v1;
using testing::HasSubstr;
using Call = LaterCall<pb::GetNodeResponse>;

// One method: it is answered by the test, or never.
class Service final : public pb::TopologyService::CallbackService {
 public:
  explicit Service(std::chrono::milliseconds limit) : limit_(limit) {}
  grpc::ServerUnaryReactor* GetNode(grpc::CallbackServerContext*, const pb::GetNodeRequest* request,
                                    pb::GetNodeResponse* response) override {
    call_ = std::make_shared<Call>(response);
    auto* reactor = call_->Start(call_, limit_);
    if (request->node() == "answered") call_->Answer([](auto*) { return absl::OkStatus(); });
    return reactor;
  }
  bool call_ended() { return call_->ended(); }
  // Gives up the test's hold on the call.
  std::weak_ptr<Call> ReleaseCall() { return std::exchange(call_, nullptr); }

 private:
  const std::chrono::milliseconds limit_;
  std::shared_ptr<Call> call_;
};

grpc::Status Ask(Service& service, const std::string& what) {
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  const auto stub = pb::TopologyService::NewStub(server->InProcessChannel({}));
  grpc::ClientContext context;
  pb::GetNodeRequest request;
  request.set_node(what);
  pb::GetNodeResponse response;
  return stub->GetNode(&context, request, &response);
}

TEST(LaterCallTest, EndsAtTheServersLimitWithoutADeadlineOfTheClient) {
  Service service(std::chrono::milliseconds(20));
  const grpc::Status status = Ask(service, "forgotten");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_details(), HasSubstr("SERVER_DEADLINE"));
  EXPECT_TRUE(service.call_ended());
}

TEST(LaterCallTest, AnAnswerEndsTheLimit) {
  Service service(std::chrono::hours(1));
  EXPECT_TRUE(Ask(service, "answered").ok());
}

// Once its reactor and its alarm are done with it: the server of Ask() has ended by then.
TEST(LaterCallTest, IsDestroyedWhenTheCallHasEnded) {
  for (const char* how : {"answered", "forgotten"}) {
    Service service(std::chrono::milliseconds(how == std::string("answered") ? 3'600'000 : 20));
    (void)Ask(service, how);
    const auto call = service.ReleaseCall();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!call.expired() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(call.expired()) << how;
  }
}

}  // namespace
}  // namespace fabricd::rpc
