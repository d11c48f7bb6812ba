// SPDX-License-Identifier: Apache-2.0
// Health and reflection, spoken on the wire: Debian has no generated stubs for either.
#include <grpcpp/generic/generic_stub.h>

#include <future>
#include <map>

#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::HasSubstr;

grpc::ByteBuffer Bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

std::string Text(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  (void)buffer.Dump(&slices);
  std::string text;
  for (const auto& slice : slices)
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

// Field `number` of a message, holding `text`.
std::string Field(int number, const std::string& text) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(text.size())} + text;
}

class ServerTest : public ::testing::Test {
 protected:
  // 1 SERVING, 2 NOT_SERVING (grpc.health.v1.HealthCheckResponse.status), 0: the call failed.
  int Health(const std::string& service) {
    grpc::GenericStub stub(running_.channel);
    grpc::ClientContext context;
    const grpc::ByteBuffer request = Bytes(service.empty() ? "" : Field(1, service));
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", grpc::StubOptions(), &request,
                   &response, [&](const grpc::Status& status) { done.set_value(status); });
    if (!done.get_future().get().ok()) return 0;
    const std::string text = Text(response);
    return text.size() == 2 && text[0] == 0x08 ? text[1] : 0;
  }
  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View()};
  RunningServer running_{backend_};
};

// In the old snapshot of a standby a host may look healthy that the master has found absent.
TEST_F(ServerTest, AnswersOfAStandbyHaveTheAgeOfTheSnapshot) {
  const auto ask = [&](auto method, auto request, auto response) {
    grpc::ClientContext context;
    EXPECT_TRUE(((*running_.topology).*method)(&context, request, &response).ok());
    std::map<std::string, std::string> said;
    for (const auto& [key, value] : context.GetServerInitialMetadata())
      if (key.starts_with("fabric-"))
        said[{key.data(), key.size()}] = std::string(value.data(), value.size());
    return said;
  };
  const auto list = [&] {
    return ask(&pb::TopologyService::Stub::ListHosts, pb::ListHostsRequest(),
               pb::ListHostsResponse());
  };
  EXPECT_TRUE(list().empty()) << "a master hears of every change";
  running_.server->OnPublished();
  const auto view = fabric_.View();
  view->sm.state = wire::SmState::kStandby;
  backend_.Publish(view);
  EXPECT_EQ(list()["fabric-sm-state"], "STANDBY");
  EXPECT_THAT(list()["fabric-observed-at"], HasSubstr("T"));
  EXPECT_TRUE(
      ask(&pb::TopologyService::Stub::GetSm, pb::GetSmRequest(), pb::GetSmResponse()).empty())
      << "that is about the SM itself";
}

TEST_F(ServerTest, HealthFollowsServing) {
  const std::vector<std::string> services = {"", "fabric.v1.TopologyService",
                                             "fabric.v1.AdminService", "fabric.v1.EventService",
                                             "fabric.v1.RemediationService"};
  for (const auto& service : services) EXPECT_EQ(Health(service), 2) << service;
  running_.server->SetServing(true);
  for (const auto& service : services) EXPECT_EQ(Health(service), 1) << service;
  running_.server->SetServing(false);
  for (const auto& service : services) EXPECT_EQ(Health(service), 2) << service;
  EXPECT_EQ(Health("fabric.sim.v1.SimService"), 0);  // Registered with a simulator only.
}

class OneExchange final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  OneExchange(grpc::GenericStub& stub, const std::string& method, grpc::ByteBuffer request)
      : request_(std::move(request)) {
    stub.PrepareBidiStreamingCall(&context_, method, grpc::StubOptions(), this);
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&response_);
    StartCall();
  }
  std::string Await() {
    EXPECT_TRUE(done_.get_future().get().ok());
    return text_;
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    text_ += Text(response_);
    StartRead(&response_);
  }
  void OnDone(const grpc::Status& status) override { done_.set_value(status); }

 private:
  grpc::ClientContext context_;
  grpc::ByteBuffer request_, response_;
  std::string text_;
  std::promise<grpc::Status> done_;
};

// ServerReflectionRequest.list_services is field 7.
TEST_F(ServerTest, ReflectionListsTheServices) {
  grpc::GenericStub stub(running_.channel);
  OneExchange exchange(stub, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                       Bytes(Field(7, "*")));
  const std::string services = exchange.Await();
  for (const char* service :
       {"fabric.v1.TopologyService", "fabric.v1.AdminService", "fabric.v1.EventService",
        "fabric.v1.RemediationService", "grpc.health.v1.Health"}) {
    EXPECT_THAT(services, HasSubstr(service));
  }
}

TEST_F(ServerTest, ShutdownIsIdempotent) {
  running_.server->Shutdown();
  running_.server->Shutdown();
  EXPECT_EQ(Health(""), 0);
}

}  // namespace
}  // namespace fabricd::rpc::testing
