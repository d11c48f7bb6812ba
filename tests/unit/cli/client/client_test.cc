// SPDX-License-Identifier: Apache-2.0
// Streams that go on when their connection is closed.
#include "cli/client/client.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace fabricd::cli
