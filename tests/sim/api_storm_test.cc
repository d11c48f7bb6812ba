// SPDX-License-Identifier: Apache-2.0
// The whole daemon on a simulated fabric under hostile clients of its API, over its unix socket.
// A commit tries 60 rounds of all methods by two clients; longer, from another seed:
//   FABRICD_STORM_ROUNDS=20000 FABRICD_STORM_SEED=7 build/tests/api_storm_test
// What such clients cost others is measured by bench/api_benchmark.
#include "tests/support/api_storm.h"

#include <cstdlib>

#include "daemon/record/logging.h"
#include "fabric/v1/partition_service.grpc.pb.h"
#include "fabric/v1/remediation_service.grpc.pb.h"
#include "fabric/v1/topology_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/sim/running_app.h"

namespace fabricd::daemon {
namespace {

namespace pb = ::fabric::v1;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

uint64_t FromEnvironment(const char* name, uint64_t usual) {
  const char* text = std::getenv(name);
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

class ApiStormTest : public RunningApp {
 protected:
  void SetUp() override {
    SetLogLevel(config::LogLevel::kError);
    Run("superpod:sus=2,hosts=4,rails=2", {address_});
  }
  void TearDown() override {
    RunningApp::TearDown();
    SetLogLevel(config::LogLevel::kInfo);
  }
  std::shared_ptr<grpc::Channel> Connect() const {
    return grpc::CreateChannel(address_, grpc::InsecureChannelCredentials());
  }

  const std::string address_ = "unix:" + state_.path() + "/socket";
};

// Takes back whatever the storm was granted.
void TidyUp(const std::shared_ptr<grpc::Channel>& channel) {
  const auto holds = pb::RemediationService::NewStub(channel);
  grpc::ClientContext list_context;
  pb::ListHoldsRequest list;
  list.set_page_size(5000);
  pb::ListHoldsResponse held;
  ASSERT_TRUE(holds->ListHolds(&list_context, list, &held).ok());
  for (const pb::Hold& hold : held.holds()) {
    grpc::ClientContext context;
    pb::DeleteHoldRequest request;
    request.set_id(hold.id());
    request.set_any_owner(true);
    pb::DeleteHoldResponse response;
    const grpc::Status status = holds->DeleteHold(&context, request, &response);
    // It may have ended by itself.
    EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::NOT_FOUND)
        << status.error_message();
  }
  const auto partitions = pb::PartitionService::NewStub(channel);
  grpc::ClientContext context;
  pb::ApplyPartitionsRequest request;
  request.set_text("Default=0x7fff,ipoib:ALL=full;\n");
  pb::ApplyPartitionsResponse response;
  const grpc::Status status = partitions->ApplyPartitions(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(ApiStormTest, HostileRequestsAreAnsweredAndDoNoHarm) {
  test::StormOptions options;
  options.server = address_;
  options.seed = FromEnvironment("FABRICD_STORM_SEED", 1);
  test::ApiStorm storm(options);
  storm.Run(FromEnvironment("FABRICD_STORM_ROUNDS", 60));
  EXPECT_THAT(storm.findings(), IsEmpty());
  // Of each method some requests must have been good ones, else the storm tries nothing.
  size_t served = 0;
  for (const auto& [method, codes] : storm.codes()) {
    std::string line;
    for (const auto& [code, count] : codes)
      line += fmt::format(" {}:{}", static_cast<int>(code), count);
    fmt::print("{:48} code:count{}\n", method, line);
    served += codes.contains(grpc::StatusCode::OK);
  }
  EXPECT_GE(served, 30u);
  TidyUp(Connect());
  const auto end = std::chrono::steady_clock::now() + kPatience;
  const auto is_well = [&] {
    const auto view = app->view();
    return view->subnet_up && view->phase == sweep::Phase::kIdle && view->policy->holds.empty();
  };
  while (!is_well() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(is_well()) << app->view()->problems.size() << " problems";
}

TEST(ApiStormJudge, AcceptsErrorsWithErrorInfoOnly) {
  using grpc::StatusCode;
  const auto* method = pb::GetNodeRequest::descriptor()->file()->service(0)->method(0);
  const test::StormCall call{method, {""}, false, std::chrono::seconds(20), 1000, false};
  const auto judge = [&](StatusCode code, const std::string& details, int seconds = 0) {
    return test::JudgeEnd(
        call, {grpc::Status(code, "text", details), false, std::chrono::seconds(seconds)});
  };
  google::rpc::ErrorInfo info;
  info.set_domain("fabric.v1");
  info.set_reason("NODE_NOT_FOUND");
  google::rpc::Status status;
  status.add_details()->PackFrom(info);
  const std::string reason = status.SerializeAsString();
  EXPECT_EQ(judge(StatusCode::OK, ""), "");
  EXPECT_EQ(judge(StatusCode::NOT_FOUND, reason), "");
  EXPECT_THAT(judge(StatusCode::NOT_FOUND, ""), HasSubstr("ErrorInfo"));
  EXPECT_THAT(judge(StatusCode::UNAVAILABLE, ""), HasSubstr("ErrorInfo"));  // It has died.
  EXPECT_NE(judge(StatusCode::INTERNAL, reason), "");
  EXPECT_NE(judge(StatusCode::UNKNOWN, reason), "");
  EXPECT_NE(judge(StatusCode::UNIMPLEMENTED, ""), "");
  EXPECT_NE(judge(StatusCode::CANCELLED, ""), "");
  EXPECT_NE(judge(StatusCode::DEADLINE_EXCEEDED, ""), "");
  EXPECT_THAT(judge(StatusCode::OK, "", 60), HasSubstr("hung"));
}

}  // namespace
}  // namespace fabricd::daemon
