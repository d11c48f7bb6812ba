// SPDX-License-Identifier: Apache-2.0
// Streams that go on when their connection is closed.
#include "cli/client/client.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rpc/convert/grpc_status.h"
#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::cli {
namespace {

using ::testing::ElementsAre;
using Stub = pb::EventService::Stub;

// Tells an event or two, and ends as a connection does that is closed.
class Closing final : public pb::EventService::Service {
 public:
  grpc::Status WatchEvents(grpc::ServerContext*, const pb::WatchEventsRequest* request,
                           grpc::ServerWriter<pb::WatchEventsResponse>* writer) override {
    asked.push_back(request->resource_version());
    pb::WatchEventsResponse response;
    if (asked.size() == 1) {
      response.mutable_event()->set_resource_version("1.7");
      writer->Write(response);
    } else if (asked.size() == 2) {
      response.mutable_bookmark()->set_resource_version("1.9");
      writer->Write(response);
    }
    return {grpc::StatusCode::UNAVAILABLE, "max_age"};
  }
  std::vector<std::string> asked;  // From where.
};

TEST(Client, ReconnectsFromTheLastVersionUntilNoServerResponds) {
  const rpc::testing::TempDir directory;
  const std::string address = "unix:" + (directory / "s");
  Closing service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  Client client({address, "", "", ""}, std::nullopt);
  std::vector<std::string> told;
  const Result result = client.Follow<Stub, Stub, pb::WatchEventsRequest, pb::WatchEventsResponse>(
      client.events(), &Stub::WatchEvents, {},
      [&](const pb::WatchEventsResponse& message) -> Result {
        if (message.has_event()) told.push_back(message.event().resource_version());
        return {};
      },
      std::chrono::seconds(20));
  EXPECT_EQ(result.code, kUnavailable);
  EXPECT_THAT(service.asked, ElementsAre("", "1.7", "1.9"));
  EXPECT_THAT(told, ElementsAre("1.7"));
}

// Refuses, as a node does that waits beside the master at `master`; empty: this is the master.
class Node final : public pb::AdminService::Service, public pb::TopologyService::Service {
 public:
  explicit Node(std::string at) : address("unix:" + at) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(static_cast<pb::AdminService::Service*>(this));
    builder.RegisterService(static_cast<pb::TopologyService::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  ~Node() override { server_->Shutdown(); }
  grpc::Status SetPriority(grpc::ServerContext*, const pb::SetPriorityRequest* request,
                           pb::SetPriorityResponse* response) override {
    ++calls;
    response->set_priority(request->priority());
    if (master.empty()) return grpc::Status::OK;
    return rpc::ToGrpc(query::MakeError(absl::StatusCode::kFailedPrecondition, reason, "refused",
                                        {{"master_endpoint", master}}));
  }

  grpc::Status GetSm(grpc::ServerContext*, const pb::GetSmRequest*,
                     pb::GetSmResponse* response) override {
    response->set_state(master.empty() ? "MASTER" : "NOT-ACTIVE");
    pb::SharingNode& own = *response->add_sharing_nodes();
    own.set_state("WAITING");
    own.set_is_this(true);
    pb::SharingNode& other = *response->add_sharing_nodes();
    other.set_endpoint(master);
    other.set_state("MASTER");
    return grpc::Status::OK;
  }

  const std::string address;
  std::string master, reason = "NOT_MASTER";
  int calls = 0;

 private:
  std::unique_ptr<grpc::Server> server_;
};

TEST(Client, AsksTheMasterWhereAWaitingNodeRefuses) {
  const rpc::testing::TempDir directory;
  Node waiting(directory / "waiting"), master(directory / "master");
  waiting.master = master.address;
  Client client({waiting.address, "", "", ""}, std::nullopt);
  pb::SetPriorityRequest request;
  request.set_priority(7);
  pb::SetPriorityResponse response;
  const auto call = [&] {
    return client.Call(client.admin(), &pb::AdminService::Stub::SetPriority, request, &response);
  };
  EXPECT_TRUE(call().ok());
  EXPECT_EQ(response.priority(), 7u);
  EXPECT_EQ(std::pair(waiting.calls, master.calls), std::pair(1, 1));
  // Once: nodes that name each other do not send it round.
  master.master = waiting.address;
  EXPECT_EQ(call().code, kRefused);
  EXPECT_EQ(std::pair(waiting.calls, master.calls), std::pair(2, 2));
  // Other refusals are what they are.
  waiting.reason = "ONLY_READS";
  EXPECT_EQ(call().code, kRefused);
  EXPECT_EQ(std::pair(waiting.calls, master.calls), std::pair(3, 2));
  // There are no certificates for another machine.
  waiting.reason = "NOT_MASTER";
  waiting.master = "head1:7471";
  EXPECT_EQ(call().message, "refused");
}

TEST(Client, GoesToTheMasterThatAWaitingNodeNames) {
  const rpc::testing::TempDir directory;
  Node waiting(directory / "waiting"), master(directory / "master");
  waiting.master = master.address;
  Client client({waiting.address, "", "", ""}, std::nullopt);
  EXPECT_TRUE(client.GoToMaster().ok());
  EXPECT_EQ(client.server(), master.address);
  pb::SetPriorityResponse response;
  EXPECT_TRUE(client
                  .Call(client.admin(), &pb::AdminService::Stub::SetPriority,
                        pb::SetPriorityRequest(), &response)
                  .ok());
  EXPECT_EQ(std::pair(waiting.calls, master.calls), std::pair(0, 1));
}

TEST(Client, DoesNotTakeANodeForTheMasterThatIsNot) {
  const rpc::testing::TempDir directory;
  Node one(directory / "one"), two(directory / "two");
  one.master = two.address;
  two.master = one.address;
  Client client({one.address, "", "", ""}, std::nullopt);
  EXPECT_EQ(client.GoToMaster().code, kUnavailable);
  one.master = two.master = "head1:7471";  // Without certificates for it.
  EXPECT_EQ(client.GoToMaster().code, kRefused);
}

}  // namespace
}  // namespace fabricd::cli
