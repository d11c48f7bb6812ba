// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/ibnetdiscover_text.h"
#include "fabric/v1/plan_service.grpc.pb.h"
#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Plan = pb::PlanService::StubInterface;

class PlanServiceTest : public ::testing::Test {
 protected:
  PlanServiceTest() {
    auto view = fabric_.View(1);
    view->plan_stands = true;
    view->routing.chain = {"up_down"};
    view->plan = routing::RunChain({*view->snapshot, *view->lids, view->routing}).plan;
    backend_.Publish(view);
  }
  grpc::Status Preview(const pb::PreviewChangeRequest& request) {
    changed_.Clear();
    return server_.Call(*plans_, &Plan::PreviewChange, request, &changed_);
  }
  grpc::Status Analyze(const std::vector<std::string>& hosts) {
    pb::AnalyzeJobRequest request;
    for (const std::string& host : hosts) request.add_hosts(host);
    job_.Clear();
    return server_.Call(*plans_, &Plan::AnalyzeJob, request, &job_);
  }
  // "KIND NAME: MESSAGE" of each finding.
  std::vector<std::string> Validate(const std::string& text, grpc::StatusCode expected) {
    grpc::ClientContext context;
    wiring_.Clear();
    auto writer = plans_->ValidateWiring(&context, &wiring_);
    pb::ValidateWiringRequest piece;
    for (size_t at = 0; at < text.size(); at += 100) {
      piece.set_text(text.substr(at, 100));
      writer->Write(piece);
    }
    writer->WritesDone();
    status_ = writer->Finish();
    EXPECT_EQ(status_.error_code(), expected) << status_.error_message();
    std::vector<std::string> lines;
    for (const pb::WiringFinding& finding : wiring_.findings())
      lines.push_back(finding.kind() + " " + finding.name() + ": " + finding.message());
    return lines;
  }

  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View(1)};
  RunningServer server_{backend_};
  std::unique_ptr<pb::PlanService::Stub> plans_ = pb::PlanService::NewStub(server_.channel);
  pb::PreviewChangeResponse changed_;
  pb::AnalyzeJobResponse job_;
  pb::ValidateWiringResponse wiring_;
  grpc::Status status_;
};

TEST_F(PlanServiceTest, ListsEndPortsThatALostCableCutsOff) {
  pb::PreviewChangeRequest request;
  request.add_fail("leaf2/2");
  ASSERT_TRUE(Preview(request).ok());
  ASSERT_EQ(changed_.first().cut_off_size(), 1);
  EXPECT_EQ(changed_.first().cut_off(0).node_name(), "node1 mlx5_1");
  EXPECT_EQ(changed_.links_failed(), 1u);
  EXPECT_EQ(changed_.engine_now(), "up_down");
  EXPECT_EQ(changed_.generation(), 1u);
  request.add_fail("node1");
  ASSERT_TRUE(Preview(request).ok());
  EXPECT_EQ(changed_.nodes_failed(), 2u);
  EXPECT_EQ(changed_.links_failed(), 2u);
}

TEST_F(PlanServiceTest, TakesAdditionsDrainsAndEngines) {
  pb::PreviewChangeRequest request;
  auto* node = request.add_add_nodes();
  node->set_name("spine2");
  node->set_type("SWITCH");
  node->set_ports(4);
  for (const char* leaf : {"leaf1", "leaf2/4"}) {
    auto* link = request.add_add_links();
    link->set_a("spine2");
    link->set_b(leaf);
  }
  request.add_drain("MF0;spine:MQM8700/U1");
  ASSERT_TRUE(Preview(request).ok());
  EXPECT_TRUE(changed_.first().plan_found());
  EXPECT_EQ(changed_.first().pairs_lost(), 0u);
  EXPECT_EQ(changed_.nodes_added(), 1u);
  EXPECT_EQ(changed_.links_added(), 2u);
  request.Clear();
  request.add_engines("fat_tree");
  ASSERT_TRUE(Preview(request).ok());
  EXPECT_FALSE(changed_.has_first());
  EXPECT_EQ(changed_.settled().engine(), "fat_tree");
  ASSERT_EQ(changed_.engines_size(), 1);
  EXPECT_TRUE(changed_.engines(0).chosen());
}

TEST_F(PlanServiceTest, RefusesInvalidQuestionsByReason) {
  const auto reason = [&](auto&& fill) {
    pb::PreviewChangeRequest request;
    fill(request);
    return ReasonOf(Preview(request));
  };
  EXPECT_EQ(reason([](auto& r) { r.add_fail("nowhere"); }), "NODE_NOT_FOUND");
  EXPECT_EQ(reason([](auto& r) { r.add_engines("magic"); }), "INVALID_REQUEST");
  EXPECT_EQ(reason([](auto& r) { r.set_fail_random(9); }), "INVALID_CHANGE");
  EXPECT_EQ(reason([](auto& r) { r.add_add_nodes()->set_name("leaf1"); }), "INVALID_REQUEST");
  EXPECT_EQ(reason([](auto& r) { r.add_drain("nobody"); }), "TARGET_NOT_FOUND");
  auto busy = fabric_.View(2);
  backend_.Publish(busy);
  EXPECT_EQ(reason([](auto&) {}), "NO_PLAN");
}

TEST_F(PlanServiceTest, CountsFlowsOfAJob) {
  ASSERT_TRUE(Analyze({"node1", "node2"}).ok());
  EXPECT_EQ(job_.hosts(), 2u);
  ASSERT_GT(job_.loads_size(), 0);
  EXPECT_EQ(job_.loads(0).pattern(), "ring");
  EXPECT_TRUE(job_.loads(0).all_rails());
  EXPECT_EQ(job_.loads(0).worst_flows(), 1u);
  EXPECT_EQ(job_.loads(0).bandwidth_fraction(), 1);
  EXPECT_EQ(ReasonOf(Analyze({"node1"})), "INVALID_REQUEST");
  EXPECT_EQ(ReasonOf(Analyze({"node1", "node1"})), "INVALID_REQUEST");
  EXPECT_EQ(ReasonOf(Analyze({"node1", "node9"})), "HOST_NOT_FOUND");
}

TEST_F(PlanServiceTest, ComparesCables) {
  EXPECT_THAT(Validate("", grpc::StatusCode::OK),
              ElementsAre(HasSubstr("NarrowLink leaf2/3 - MF0;spine:MQM8700/U1/2: runs at 1 ")));
  EXPECT_EQ(wiring_.links_right(), 5u);
  const auto expected = fabric_.maker.builder.Build();
  const std::string text = fabric::WriteIbnetdiscover(*expected, {});
  EXPECT_EQ(Validate(text, grpc::StatusCode::OK).size(), 1u);
  fabric_.maker.builder.Unlink({fabric_.leaf1, PortNum(3)});
  backend_.Publish(fabric_.View(3));
  EXPECT_THAT(Validate(text, grpc::StatusCode::OK),
              ElementsAre(HasSubstr("MissingLink leaf1/3 - "), HasSubstr("NarrowLink")));
  EXPECT_EQ(wiring_.links_right(), 4u);
  Validate("nonsense", grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status_), "BAD_TOPOLOGY");
}

}  // namespace
}  // namespace fabricd::rpc::testing
