// SPDX-License-Identifier: Apache-2.0
// Sweeps that end, are refused, or outlive their caller; dumps in pieces.
#include <future>

#include "common/status.h"
#include "tests/unit/daemon/rpc/running_server.h"

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

TEST_F(AdminServiceTest, RefusalsAreReturnedAtOnceEvenWithoutWaiting) {
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

// What the core is asked about the mastership, and what it answers.
class AdminMastershipTest : public AdminServiceTest {
 protected:
  AdminMastershipTest() {
    backend_.on_mastership = [this](daemon::MastershipCommand command,
                                    const daemon::MastershipDone& done) {
      asked_.push_back(std::move(command));
      done(status_, status_.ok() ? std::make_shared<sweep::MastershipOutcome>(outcome_) : nullptr);
    };
    outcome_ = {9, 4, sweep::RemoteSm{{}, Guid(0xAB), 5, wire::SmState::kStandby, 0}, true};
  }
  grpc::Status StepDown(const pb::StepDownRequest& request, pb::StepDownResponse* response) {
    return running_->Call(*running_->admin, &AdminStub::StepDown, request, response);
  }
  grpc::Status SetPriority(uint32_t priority, bool validate_only,
                           pb::SetPriorityResponse* response) {
    pb::SetPriorityRequest request;
    request.set_priority(priority);
    request.set_validate_only(validate_only);
    return running_->Call(*running_->admin, &AdminStub::SetPriority, request, response);
  }

  std::vector<daemon::MastershipCommand> asked_;
  sweep::MastershipOutcome outcome_;
  absl::Status status_;
};

TEST_F(AdminMastershipTest, StepDownReturnsTheResult) {
  pb::StepDownRequest request;
  request.set_request_id("r");
  request.set_validate_only(true);
  pb::StepDownResponse response;
  ASSERT_TRUE(StepDown(request, &response).ok());
  const auto& command = std::get<sweep::StepDown>(asked_.at(0));
  EXPECT_EQ(command.request_id, "r");
  EXPECT_TRUE(command.validate_only);
  EXPECT_EQ(response.before(), 9u);
  EXPECT_EQ(response.priority(), 4u);
  EXPECT_TRUE(response.existing());
  EXPECT_EQ(response.successor().guid(), "0x00000000000000ab");
  EXPECT_EQ(response.successor().priority(), 5u);
  EXPECT_EQ(response.successor().node_name(), "");
}

TEST_F(AdminMastershipTest, SetPriorityReturnsTheResult) {
  pb::SetPriorityResponse response;
  ASSERT_TRUE(SetPriority(15, true, &response).ok());
  EXPECT_EQ(std::get<sweep::SetPriority>(asked_.at(0)).priority, 15);
  EXPECT_TRUE(std::get<sweep::SetPriority>(asked_.at(0)).validate_only);
  EXPECT_EQ(response.before(), 9u);
  EXPECT_TRUE(response.has_successor());
  outcome_.successor.reset();
  ASSERT_TRUE(SetPriority(0, false, &response).ok());
  EXPECT_FALSE(response.has_successor());
  const auto status = SetPriority(16, false, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailOf<google::rpc::BadRequest>(status).field_violations(0).field(), "priority");
  EXPECT_EQ(asked_.size(), 2u);
}

TEST_F(AdminMastershipTest, WithoutATakeoverThereIsNoReport) {
  pb::GetTakeoverReportResponse response;
  const auto status = running_->Call(*running_->admin, &AdminStub::GetTakeoverReport,
                                     pb::GetTakeoverReportRequest(), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(status).reason(), "NO_TAKEOVER_REPORT");
}

TEST_F(AdminMastershipTest, TheTakeoverReportIsShownWithNames) {
  auto view = std::make_shared<sweep::FabricView>(*backend_.view());
  auto report = std::make_shared<sweep::TakeoverReport>();
  Guid leaf;
  view->snapshot->ForEachNode([&](const fabric::Node& node) {
    if (node.description == "leaf1") leaf = node.guid();
  });
  report->id = "0123456789abcdef";
  report->risks = {{sweep::TakeoverRisk::kLmc, "0", "1", 7, leaf, PortNum(3)}};
  report->sets["PortInfo"] = {5, {{"LMC", 2}}};
  report->lft_blocks = 11;
  report->lid_changes = {{Guid(0xAB), Lid(4), Lid(8)}};
  report->unresponsive = {{leaf, PortNum(9)}};
  report->adaptive_routing = {leaf};
  view->takeover = report;
  view->sm.is_held = true;
  backend_.Publish(view);
  pb::GetTakeoverReportResponse response;
  ASSERT_TRUE(running_
                  ->Call(*running_->admin, &AdminStub::GetTakeoverReport,
                         pb::GetTakeoverReportRequest(), &response)
                  .ok());
  EXPECT_TRUE(response.held());
  EXPECT_EQ(response.mode(), "manage");
  EXPECT_EQ(response.id(), report->id);
  ASSERT_EQ(response.risks_size(), 1);
  EXPECT_EQ(response.risks(0).kind(), "LMC");
  EXPECT_EQ(response.risks(0).example(), "leaf1/3");
  EXPECT_EQ(response.sets(0).fields().at("LMC"), 2u);
  EXPECT_EQ(response.lft_blocks(), 11u);
  EXPECT_EQ(response.lids(0).to(), 8u);
  EXPECT_EQ(response.unresponsive(0), "leaf1/9");
  EXPECT_EQ(response.adaptive_routing_switches(0), "leaf1");
}

TEST_F(AdminMastershipTest, AcceptanceReachesTheCoreAndItsRefusalsHaveReasons) {
  pb::AcceptTakeoverRequest request;
  pb::AcceptTakeoverResponse response;
  const auto accept = [&] {
    return running_->Call(*running_->admin, &AdminStub::AcceptTakeover, request, &response);
  };
  EXPECT_EQ(accept().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_id("x");
  EXPECT_TRUE(accept().ok());
  EXPECT_EQ(std::get<sweep::AcceptTakeover>(asked_.at(0)).id, "x");
  status_ = absl::NotFoundError("another id");
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(accept()).reason(), "REPORT_CHANGED");
  status_ = absl::FailedPreconditionError("nothing");
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(accept()).reason(), "NOTHING_HELD");
}

TEST_F(AdminMastershipTest, EveryRefusalHasItsReason) {
  struct Case {
    absl::Status status;
    grpc::StatusCode code;
    const char* reason;
  };
  for (const Case& each :
       {Case{absl::FailedPreconditionError("a"), grpc::StatusCode::FAILED_PRECONDITION,
             "NOT_MASTER"},
        Case{absl::NotFoundError("b"), grpc::StatusCode::FAILED_PRECONDITION, "NO_STANDBY"},
        Case{absl::AbortedError("c"), grpc::StatusCode::ABORTED, "HANDOVER_FAILED"},
        Case{absl::UnavailableError("d"), grpc::StatusCode::UNAVAILABLE, "CORE_BUSY"}}) {
    status_ = each.status;
    pb::StepDownResponse response;
    const auto status = StepDown({}, &response);
    EXPECT_EQ(status.error_code(), each.code) << each.reason;
    EXPECT_EQ(ReasonOf(status), each.reason);
    EXPECT_EQ(status.error_message(), Message(each.status));
  }
}

TEST_F(AdminServiceTest, DumpsAreReceivedCompletely) {
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
