// SPDX-License-Identifier: Apache-2.0
// Sweeps that end, are refused, or outlive their caller; dumps in pieces.
#include <future>

#include "tests/unit/rpc/running_server.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using AdminStub = pb::AdminService::Stub;

class AdminServiceTest : public ::testing::Test {
 protected:
  grpc::Status Sweep(bool heavy, bool wait,
                     std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    pb::StartSweepRequest request;
    request.set_heavy(heavy);
    request.set_wait(wait);
    return running_->Call(*running_->admin, &AdminStub::StartSweep, request, &response_, timeout);
  }
  grpc::Status Dump(std::vector<std::string> files, std::map<std::string, std::string>* got) {
    pb::DumpRequest request;
    request.mutable_files()->Assign(files.begin(), files.end());
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    auto reader = running_->admin->Dump(&context, request);
    pb::DumpResponse piece;
    while (reader->Read(&piece)) (*got)[piece.file()] += piece.chunk();
    return reader->Finish();
  }

  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View()};
  std::unique_ptr<RunningServer> running_ = std::make_unique<RunningServer>(backend_);
  pb::StartSweepResponse response_;
};

TEST_F(AdminServiceTest, SweepThatIsWaitedFor) {
  std::promise<std::function<void(absl::Status)>> started;
  backend_.on_sweep = [&](bool heavy, std::function<void(absl::Status)> done) {
    EXPECT_TRUE(heavy);
    started.set_value(std::move(done));
  };
  auto call = std::async(std::launch::async, [&] { return Sweep(true, true); });
  const auto done = started.get_future().get();
  backend_.Publish(fabric_.View(8));
  done(absl::OkStatus());
  ASSERT_TRUE(call.get().ok());
  EXPECT_TRUE(response_.done());
  EXPECT_EQ(response_.generation(), 8u);
  EXPECT_TRUE(response_.subnet_up());
}

TEST_F(AdminServiceTest, SweepThatIsNotWaitedForAnswersAtOnce) {
  std::function<void(absl::Status)> done;
  backend_.on_sweep = [&](bool heavy, std::function<void(absl::Status)> d) {
    EXPECT_FALSE(heavy);
    done = std::move(d);
  };
  ASSERT_TRUE(Sweep(false, false).ok());
  EXPECT_FALSE(response_.done());
  done(absl::OkStatus());  // After the call is gone.
}

TEST_F(AdminServiceTest, RefusalsAreToldAtOnceEvenWithoutWaiting) {
  backend_.on_sweep = [](bool, const auto& done) {
    done(absl::FailedPreconditionError("standby"));
  };
  for (const bool wait : {false, true}) {
    const auto status = Sweep(true, wait);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(ReasonOf(status), "NOT_MASTER");
    EXPECT_EQ(status.error_message(), "standby");
  }
  backend_.on_sweep = [](bool, const auto& done) {
    done(absl::UnavailableError("the inbox is full"));
  };
  const auto status = Sweep(true, true);
  EXPECT_EQ(ReasonOf(status), "CORE_BUSY");
  EXPECT_EQ(DetailOf<google::rpc::RetryInfo>(status).retry_delay().seconds(), 1);
}

TEST_F(AdminServiceTest, CallersMayLeaveBeforeTheSweepEnds) {
  std::promise<std::function<void(absl::Status)>> started;
  backend_.on_sweep = [&](bool, std::function<void(absl::Status)> done) {
    started.set_value(std::move(done));
  };
  EXPECT_EQ(Sweep(true, true, std::chrono::milliseconds(100)).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  const auto done = started.get_future().get();
  running_.reset();  // Ends although the core never answered.
  done(absl::OkStatus());
}

TEST_F(AdminServiceTest, ShutdownEndsCallsThatWait) {
  std::promise<std::function<void(absl::Status)>> started;
  backend_.on_sweep = [&](bool, std::function<void(absl::Status)> done) {
    started.set_value(std::move(done));
  };
  auto call = std::async(std::launch::async, [&] { return Sweep(true, true); });
  const auto done = started.get_future().get();
  running_->server->Shutdown();
  EXPECT_FALSE(call.get().ok());
  done(absl::OkStatus());
}

TEST_F(AdminServiceTest, DumpsComeWhole) {
  const std::string large(600 * 1024 + 7, 'x');
  backend_.dumps = std::map<std::string, std::string>{
      {"empty", ""}, {"opensm.fdbs", large}, {"opensm-subnet.lst", "{ CA Ports:01 }\n"}};
  std::map<std::string, std::string> got;
  ASSERT_TRUE(Dump({}, &got).ok());
  EXPECT_EQ(got, *backend_.dumps);
  got.clear();
  ASSERT_TRUE(Dump({"opensm-subnet.lst"}, &got).ok());
  EXPECT_THAT(got, ElementsAre(Pair("opensm-subnet.lst", "{ CA Ports:01 }\n")));
}

TEST_F(AdminServiceTest, DumpsThatCannotBeMade) {
  backend_.dumps = std::map<std::string, std::string>{{"a", "1"}};
  std::map<std::string, std::string> got;
  EXPECT_EQ(ReasonOf(Dump({"b"}, &got)), "FILE_NOT_FOUND");
  backend_.dumps = absl::FailedPreconditionError("no plan");
  const auto status = Dump({}, &got);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "DUMP_FAILED");
  EXPECT_TRUE(got.empty());
}

}  // namespace
}  // namespace fabricd::rpc::testing
