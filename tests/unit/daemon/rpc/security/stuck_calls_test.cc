// SPDX-License-Identifier: Apache-2.0
// Clients that hold places among few: a part of them only, and not for long.
#include "daemon/rpc/security/stuck_calls.h"

#include <vector>

#include "daemon/rpc/security/client_shares.h"
#include "fabric/v1/plan_service.grpc.pb.h"
#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::rpc::testing {
namespace {

using std::chrono::milliseconds;

TEST(ClientSharesTest, EachClientHasAPartOnly) {
  ClientShares shares(3, 2);
  auto first = shares.Take("a");
  const auto second = shares.Take("a");
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(shares.Take("a"));
  const auto third = shares.Take("b");
  EXPECT_TRUE(third);
  EXPECT_FALSE(shares.Take("c"));  // There is no more at all.
  first.reset();
  EXPECT_EQ(shares.taken(), 2u);
  EXPECT_TRUE(shares.Take("c"));
  EXPECT_EQ(shares.taken(), 2u);
}

class StuckCallsTest : public ::testing::Test {
 protected:
  StuckCallsTest() {
    ServerOptions options{{"unix:" + path_}, "1"};
    options.stuck = milliseconds(1500);
    auto started = Server::Start(options, backend_);
    EXPECT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    // The client takes some bytes before it reads.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 5);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    channel_ =
        grpc::CreateCustomChannel("unix:" + path_, grpc::InsecureChannelCredentials(), arguments);
    topology_ = pb::TopologyService::NewStub(channel_);
    plans_ = pb::PlanService::NewStub(channel_);
  }
  grpc::Status Export() {
    grpc::ClientContext context;
    const auto reader = topology_->GetTopology(&context, {});
    pb::GetTopologyResponse piece;
    while (reader->Read(&piece)) {
    }
    return reader->Finish();
  }
  grpc::Status Validate() {
    grpc::ClientContext context;
    pb::ValidateWiringResponse response;
    const auto writer = plans_->ValidateWiring(&context, &response);
    writer->WritesDone();
    return writer->Finish();
  }
  static void ExpectRefused(const grpc::Status& status, const char* reason) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(ReasonOf(status), reason);
  }
  // When the others have been cut off.
  template <typename Call>
  static void ExpectPlaceSoon(Call call) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    grpc::Status status = call();
    while (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED &&
           std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(milliseconds(20));
      status = call();
    }
    EXPECT_NE(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }

  TempDir directory_;
  const std::string path_ = directory_ / "s";
  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View()};
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<pb::TopologyService::Stub> topology_;
  std::unique_ptr<pb::PlanService::Stub> plans_;
};

TEST_F(StuckCallsTest, ExportsThatAreNotTakenAreCutOff) {
  ASSERT_TRUE(Export().ok());
  grpc::ClientContext contexts[8];
  std::vector<std::unique_ptr<grpc::ClientReader<pb::GetTopologyResponse>>> stuck;
  for (auto& context : contexts) {
    stuck.push_back(topology_->GetTopology(&context, {}));
    stuck.back()->WaitForInitialMetadata();
  }
  ExpectRefused(Export(), "TOO_MANY_EXPORTS");
  ExpectPlaceSoon([this] { return Export(); });
  for (size_t i = 0; i < stuck.size(); ++i) {
    contexts[i].TryCancel();
    (void)stuck[i]->Finish();
  }
}

TEST_F(StuckCallsTest, ACallThatHasEndedHoldsNoPlace) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_NE(Validate().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << i;
    ASSERT_NE(Export().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << i;
  }
}

TEST_F(StuckCallsTest, UploadsThatStallAreCutOff) {
  // Which of them have the client's two places is a matter of gRPC's threads.
  grpc::ClientContext contexts[6];
  pb::ValidateWiringResponse responses[6];
  std::vector<std::unique_ptr<grpc::ClientWriter<pb::ValidateWiringRequest>>> stuck;
  for (size_t i = 0; i < 6; ++i)
    stuck.push_back(plans_->ValidateWiring(&contexts[i], &responses[i]));
  int cut_off = 0;
  for (auto& each : stuck) {
    const grpc::Status status = each->Finish();
    if (status.error_code() == grpc::StatusCode::CANCELLED)
      ++cut_off;
    else
      ExpectRefused(status, "TOO_MANY_QUESTIONS");
  }
  EXPECT_EQ(cut_off, 2);
  ExpectPlaceSoon([this] { return Validate(); });
}

}  // namespace
}  // namespace fabricd::rpc::testing
