// SPDX-License-Identifier: Apache-2.0
// Holds as clients ask for them, what the core is asked in turn, and what comes back.
#include <pwd.h>
#include <unistd.h>

#include "common/status.h"
#include "query/times.h"
#include "tests/unit/daemon/rpc/services/remediation_service_fixture.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string OwnName() {
  const passwd* entry = getpwuid(getuid());
  return entry ? entry->pw_name : std::to_string(getuid());
}

TEST_F(RemediationServiceTest, CreatePassesTheRequestToTheCoreAndReturnsTheResult) {
  GrantHolds();
  pb::CreateHoldRequest request = Drain("node2 mlx5_0");
  request.set_mode(pb::DRAIN_MODE_SOFT);
  request.set_owner("slurm");
  request.set_request_id("r-1");
  request.set_force(true);
  request.mutable_ttl()->set_seconds(3600);
  const auto status = Create(request);
  ASSERT_TRUE(status.ok()) << status.error_message();

  const auto& asked = std::get<sweep::CreateHold>(commands_.at(0));
  EXPECT_FALSE(asked.validate_only);
  EXPECT_EQ(asked.hold.kind, policy::HoldKind::kDrain);
  EXPECT_EQ(asked.hold.mode, policy::DrainMode::kSoft);
  EXPECT_THAT(asked.hold.target.nodes, ElementsAre(kNode2));
  EXPECT_THAT(asked.hold.target.facing, ElementsAre(policy::HeldPort{kLeaf2, PortNum(1)}));
  EXPECT_EQ(asked.hold.owner, "slurm");
  EXPECT_EQ(asked.hold.reason, "BER");
  EXPECT_EQ(asked.hold.request_id, "r-1");
  EXPECT_TRUE(asked.hold.forced);
  EXPECT_EQ(asked.ttl, std::chrono::hours(1));
  EXPECT_FALSE(asked.hold.expires);  // The core's clock counts.

  EXPECT_EQ(created_.hold().id(), "7");
  EXPECT_EQ(created_.hold().kind(), pb::HOLD_KIND_DRAIN);
  EXPECT_EQ(created_.hold().mode(), pb::DRAIN_MODE_SOFT);
  EXPECT_EQ(created_.hold().state(), pb::HOLD_STATE_PENDING);
  EXPECT_EQ(created_.hold().note(), "tables");
  EXPECT_EQ(created_.hold().created().seconds(), 1'700'000'000);
  EXPECT_EQ(created_.hold().target().facing(0).node_name(), "leaf2");
  EXPECT_FALSE(created_.existing());
  EXPECT_EQ(created_.refusal(), "");
  EXPECT_EQ(created_.consequences().cut_off(0).node_name(), "node2 mlx5_0");
  EXPECT_EQ(created_.consequences().pairs_lost(), 6u);
  EXPECT_EQ(created_.consequences().paths_moved(), 0xFFFFFFFFu);
  EXPECT_EQ(created_.consequences().needed(0).number(), 3u);
  EXPECT_EQ(created_.consequences().load_after(), 4u);
  EXPECT_EQ(created_.resource_version(), backend_.log->version());
}

TEST_F(RemediationServiceTest, TheCallerIsTheOwner) {
  GrantHolds();
  ASSERT_TRUE(Create(Drain("node1")).ok());
  EXPECT_EQ(created_.hold().owner(), OwnName());
  EXPECT_EQ(created_.hold().target().kind(), pb::TARGET_KIND_HOST);
  pb::ListHoldsRequest own;
  own.set_own(true);
  EXPECT_THAT(List(own), ElementsAre("7"));
}

TEST_F(RemediationServiceTest, InvalidRequestsAreRefused) {
  pb::CreateHoldRequest request = Drain("node1");
  const auto refused = [&](const std::string& text) {
    const auto status = Create(request);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << text;
    EXPECT_THAT(status.error_message(), HasSubstr(text));
    request = Drain("node1");
  };
  request.clear_kind();
  refused("kind");
  request.clear_reason();
  refused("reason");
  request.clear_target();
  refused("target");
  request.mutable_ttl()->set_seconds(0);
  refused("ttl");
  request.set_kind(pb::HOLD_KIND_CORDON);
  request.set_mode(pb::DRAIN_MODE_HARD);
  refused("mode");
  const auto missing = Create(Drain("nowhere"));
  EXPECT_EQ(missing.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(missing), "TARGET_NOT_FOUND");
  request.set_target("leaf1");
  request.set_target_kind(pb::TARGET_KIND_HOST);
  const auto wrong = Create(request);
  EXPECT_FALSE(wrong.ok());
  EXPECT_THAT(commands_, IsEmpty());
}

TEST_F(RemediationServiceTest, AGuardsRefusalIsNamed) {
  AnswerWith(FailedPrecondition("guard \"connectivity\": drain of switch leaf1 would cut off 1"));
  const auto status = Create(Drain("leaf1"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "GUARD_REFUSED");
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(status).metadata().at("guard"), "connectivity");
  const auto failure = DetailOf<google::rpc::PreconditionFailure>(status);
  ASSERT_EQ(failure.violations_size(), 1);
  EXPECT_EQ(failure.violations(0).subject(), "connectivity");
  EXPECT_THAT(failure.violations(0).description(), HasSubstr("would cut off 1"));
}

TEST_F(RemediationServiceTest, ADryRunReturnsTheRefusal) {
  auto outcome = std::make_shared<sweep::HoldOutcome>();
  outcome->hold.id = 8;  // It would get.
  outcome->consequences.pairs_lost = 6;
  outcome->consequences.destinations_interrupted = 2;
  outcome->consequences.paths_interrupted = 11;
  AnswerWith(FailedPrecondition("guard \"budget\": 10 stand"), outcome);
  pb::CreateHoldRequest request = Drain("leaf1");
  request.set_validate_only(true);
  ASSERT_TRUE(Create(request).ok());
  EXPECT_TRUE(std::get<sweep::CreateHold>(commands_.at(0)).validate_only);
  EXPECT_THAT(created_.refusal(), HasSubstr("10 stand"));
  EXPECT_EQ(created_.consequences().pairs_lost(), 6u);
  EXPECT_EQ(created_.consequences().destinations_interrupted(), 2u);
  EXPECT_EQ(created_.consequences().paths_interrupted(), 11u);
  EXPECT_EQ(created_.hold().id(), "");
  // Without dry run the same is an error.
  request.set_validate_only(false);
  EXPECT_EQ(Create(request).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(RemediationServiceTest, ErrorsOfTheCoreKeepTheirMeaning) {
  const std::vector<std::tuple<absl::StatusCode, grpc::StatusCode, std::string>> cases = {
      {absl::StatusCode::kAlreadyExists, grpc::StatusCode::INVALID_ARGUMENT, "REQUEST_ID_REUSED"},
      {absl::StatusCode::kInvalidArgument, grpc::StatusCode::INVALID_ARGUMENT, "INVALID_REQUEST"},
      {absl::StatusCode::kResourceExhausted, grpc::StatusCode::RESOURCE_EXHAUSTED,
       "TOO_MANY_HOLDS"},
      {absl::StatusCode::kUnavailable, grpc::StatusCode::UNAVAILABLE, "CORE_BUSY"},
      {absl::StatusCode::kFailedPrecondition, grpc::StatusCode::FAILED_PRECONDITION, "NOT_MASTER"},
      {absl::StatusCode::kInternal, grpc::StatusCode::INTERNAL, "HOLD_FAILED"}};
  for (const auto& [code, expected, reason] : cases) {
    AnswerWith(absl::Status(code, "because"));
    const auto status = Create(Drain("node1"));
    EXPECT_EQ(status.error_code(), expected) << reason;
    EXPECT_EQ(ReasonOf(status), reason);
  }
}

TEST_F(RemediationServiceTest, DeleteNamesTheOwnerOfTheHold) {
  auto outcome = std::make_shared<sweep::HoldOutcome>();
  outcome->hold.id = 12;
  outcome->hold.reason = "BER";
  AnswerWith(absl::OkStatus(), outcome);
  pb::DeleteHoldRequest request;
  request.set_id("12");
  ASSERT_TRUE(Delete(request).ok());
  EXPECT_EQ(deleted_.hold().id(), "12");
  request.set_owner("slurm");
  ASSERT_TRUE(Delete(request).ok());
  request.set_any_owner(true);
  ASSERT_TRUE(Delete(request).ok());
  ASSERT_EQ(commands_.size(), 3u);
  EXPECT_EQ(std::get<sweep::DeleteHold>(commands_[0]).request.id, 12u);
  EXPECT_EQ(std::get<sweep::DeleteHold>(commands_[0]).request.owner, OwnName());
  EXPECT_EQ(std::get<sweep::DeleteHold>(commands_[1]).request.owner, "slurm");
  EXPECT_TRUE(std::get<sweep::DeleteHold>(commands_[2]).request.any_owner);

  AnswerWith(absl::NotFoundError("no hold 12"));
  auto status = Delete(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(status), "HOLD_NOT_FOUND");
  AnswerWith(absl::PermissionDeniedError("hold 12 is bob's"));
  status = Delete(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(ReasonOf(status), "NOT_THE_OWNER");
  request.set_id("x1");
  EXPECT_EQ(Delete(request).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(commands_.size(), 5u);  // The core was not asked for "x1".
}

TEST_F(RemediationServiceTest, Acknowledge) {
  auto outcome = std::make_shared<sweep::HoldOutcome>();
  outcome->hold.id = 3;
  outcome->hold.acknowledged = 1'700'000'000'500;
  AnswerWith(absl::OkStatus(), outcome);
  pb::AckHoldRequest request;
  request.set_id("3");
  pb::AckHoldResponse response;
  ASSERT_TRUE(running_.Call(*running_.remediation, &Stub::AckHold, request, &response).ok());
  EXPECT_EQ(response.hold().acknowledged().nanos(), 500'000'000);
  const auto& asked = std::get<sweep::AckHold>(commands_.at(0));
  EXPECT_EQ(asked.id, 3u);
  EXPECT_EQ(asked.asker, OwnName());
  EXPECT_TRUE(asked.any_owner);  // Who runs the test is an admin.
  AnswerWith(absl::PermissionDeniedError("hold 3 is bob's"));
  const auto status = running_.Call(*running_.remediation, &Stub::AckHold, request, &response);
  EXPECT_EQ(ReasonOf(status), "NOT_THE_OWNER");
}

TEST_F(RemediationServiceTest, ClearingAnswersWithTheDampedLinks) {
  policy::DampedLink link;
  link.a = {fabric_.leaf1, PortNum(3)};
  link.b = {fabric_.spine, PortNum(1)};
  link.flaps = 4;
  fabric_.policy.damped = {link};
  backend_.Publish(fabric_.View(8));
  AnswerWith(absl::OkStatus());
  pb::ClearDampingRequest request;
  pb::ClearDampingResponse response;
  const auto clear = [&](const std::string& port, const std::string& reason, bool dry = false) {
    request.set_port(port);
    request.set_reason(reason);
    request.set_validate_only(dry);
    return running_.Call(*running_.remediation, &Stub::ClearDamping, request, &response);
  };
  for (const char* end : {"leaf1/3", "spine/1"}) {
    ASSERT_TRUE(clear(end, "new cable").ok());
    ASSERT_EQ(response.links_size(), 1) << end;
    EXPECT_EQ(response.links(0).flaps(), 4u);
  }
  EXPECT_EQ(std::get<sweep::ClearDamping>(commands_.at(0)).end, link.a);
  EXPECT_FALSE(std::get<sweep::ClearDamping>(commands_.at(0)).validate_only);
  EXPECT_EQ(std::get<sweep::ClearDamping>(commands_.at(1)).end, link.b);
  ASSERT_TRUE(clear("leaf2/3", "x", true).ok());
  EXPECT_EQ(response.links_size(), 0);
  EXPECT_TRUE(std::get<sweep::ClearDamping>(commands_.at(2)).validate_only);
  AnswerWith(absl::FailedPreconditionError("this SM is STANDBY"));
  EXPECT_EQ(ReasonOf(clear("leaf1/3", "x")), "NOT_MASTER");
  commands_.clear();
  EXPECT_EQ(clear("leaf1/3", "").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(clear("", "x").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(clear("leaf1", "x").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(clear("leaf9/3", "x").error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(commands_.empty());
}

TEST_F(RemediationServiceTest, ARepeatedRequestIsAnsweredAfterItsTargetVanished) {
  answer_ = [this](const daemon::HoldDone& done) {
    done(std::get<sweep::CreateHold>(commands_.back()).unresolved, nullptr);
  };
  pb::CreateHoldRequest request = Drain("node9");
  EXPECT_EQ(ReasonOf(Create(request)), "TARGET_NOT_FOUND");
  EXPECT_TRUE(commands_.empty());
  request.set_request_id("r-1");
  EXPECT_EQ(ReasonOf(Create(request)), "TARGET_NOT_FOUND");
  ASSERT_EQ(commands_.size(), 1u);
  auto outcome = std::make_shared<sweep::HoldOutcome>();
  outcome->existing = true;
  outcome->hold.id = 5;
  outcome->hold.ended = 1'700'000'000'000;
  AnswerWith(absl::OkStatus(), outcome);
  ASSERT_TRUE(Create(request).ok());
  EXPECT_EQ(created_.hold().id(), "5");
  EXPECT_TRUE(created_.existing());
  EXPECT_EQ(created_.hold().ended().seconds(), 1'700'000'000);
  EXPECT_NE(std::get<sweep::CreateHold>(commands_[1]).hold.fingerprint, 0u);
}

// A change that etcd has not answered may still undo what this node knows of.
TEST_F(RemediationServiceTest, AHoldThatStandsIsNotAcknowledgedWhileTheStoreRefusesWrites) {
  auto outcome = std::make_shared<sweep::HoldOutcome>();
  outcome->existing = true;
  outcome->hold.id = 5;
  AnswerWith(absl::OkStatus(), outcome);
  backend_.writable = absl::UnavailableError("etcd at head1:2379: Deadline Exceeded");
  const auto refused = Create(Drain("node1"));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(refused.error_message(), HasSubstr("etcd at head1:2379"));
  backend_.writable = absl::OkStatus();
  EXPECT_TRUE(Create(Drain("node1")).ok());
}

// Nor is a hold that is lifted already: it may stand again.
TEST_F(RemediationServiceTest, AHoldThatIsLiftedIsNotAcknowledgedWhileTheStoreRefusesWrites) {
  auto outcome = std::make_shared<sweep::HoldOutcome>();
  outcome->existing = true;
  outcome->hold.id = 5;
  AnswerWith(absl::OkStatus(), outcome);
  backend_.writable = absl::UnavailableError("etcd at head1:2379: Deadline Exceeded");
  pb::DeleteHoldRequest request;
  request.set_id("5");
  const auto refused = Delete(request);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(refused.error_message(), HasSubstr("etcd at head1:2379"));
  EXPECT_FALSE(deleted_.has_hold());
  backend_.writable = absl::OkStatus();
  ASSERT_TRUE(Delete(request).ok());
  EXPECT_TRUE(deleted_.existing());
}

TEST_F(RemediationServiceTest, ListsByIdTargetKindAndOwner) {
  AddHold(1, policy::HoldKind::kCordon, "alice",
          {policy::TargetKind::kHost, "node1", {kNode1Rail0, kNode1Rail1}, {}, {}});
  AddHold(2, policy::HoldKind::kDrain, "bob",
          {policy::TargetKind::kHca, "node2/mlx5_0", {kNode2}, {}, {}});
  AddHold(5, policy::HoldKind::kDisable, "bob",
          {policy::TargetKind::kPort, "gone/1", {}, {{Guid(0x999), PortNum(1)}}, {}});
  pb::ListHoldsRequest request;
  EXPECT_THAT(List(request), ElementsAre("1", "2", "5"));
  request.set_owner("bob");
  EXPECT_THAT(List(request), ElementsAre("2", "5"));
  request.set_kind(pb::HOLD_KIND_DISABLE);
  EXPECT_THAT(List(request), ElementsAre("5"));
  request.Clear();
  request.add_ids("2");
  request.add_ids("1");
  EXPECT_THAT(List(request), ElementsAre("1", "2"));
  request.Clear();
  request.add_targets("gone/1");  // Its target is not part of the fabric any more.
  EXPECT_THAT(List(request), ElementsAre("5"));
  request.Clear();
  request.add_targets("0x0000000000100200");
  EXPECT_THAT(List(request), ElementsAre("2"));
  request.Clear();
  request.add_targets("node1");
  EXPECT_THAT(List(request), ElementsAre("1"));
  request.set_target_kind(pb::TARGET_KIND_SWITCH);
  EXPECT_THAT(List(request), IsEmpty());
  request.Clear();
  request.set_own(true);
  EXPECT_THAT(List(request), IsEmpty());
  request.Clear();
  request.add_reaching("node2");
  EXPECT_THAT(List(request), ElementsAre("2"));
  request.set_reaching(0, "leaf2/1");  // The port that node2 is linked to.
  EXPECT_THAT(List(request), ElementsAre("2"));
  request.set_reaching(0, "leaf2");  // But not the switch as a whole.
  EXPECT_THAT(List(request), IsEmpty());
  request.set_reaching(0, "node1 mlx5_1");
  EXPECT_THAT(List(request), ElementsAre("1"));
  request.Clear();
  request.add_ids("99");
  pb::ListHoldsResponse response;
  const auto status = running_.Call(*running_.remediation, &Stub::ListHolds, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(status), "HOLD_NOT_FOUND");
}

// Protobuf's own arithmetic throws for times after the year 9999.
TEST_F(RemediationServiceTest, ImpossibleTimesToLiveAreRefused) {
  for (const int64_t seconds :
       {int64_t{4'000'000'000}, int64_t{315'576'000'000}, INT64_MAX, INT64_MIN, int64_t{0}}) {
    pb::CreateHoldRequest request;
    request.set_target("node1");
    request.set_kind(pb::HOLD_KIND_CORDON);
    request.set_reason("BER");
    request.mutable_ttl()->set_seconds(seconds);
    pb::CreateHoldResponse response;
    const grpc::Status status =
        running_.Call(*running_.remediation, &Stub::CreateHold, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << seconds;
    EXPECT_THAT(status.error_message(), HasSubstr("ttl: ")) << seconds;
  }
  EXPECT_EQ(query::ToTimestamp(INT64_MAX).seconds(), 253402300799);
  EXPECT_EQ(query::ToTimestamp(1500).nanos(), 500'000'000);
}

}  // namespace
}  // namespace fabricd::rpc::testing
