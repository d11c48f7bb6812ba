// SPDX-License-Identifier: Apache-2.0
// Verdicts and congestion as clients see them, and what clients say of verdicts.
#include "tests/unit/daemon/rpc/services/verdict_service_fixture.h"

namespace fabricd::rpc::testing {
namespace {

using daemon::VerdictCommand;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(VerdictServiceTest, ListsTheWorstFirst) {
  maker_.view.counts[static_cast<size_t>(Verdict::kNoisyPhy)] = 2;
  maker_.view.is_breaker_open = true;
  maker_.view.in_effect = 3;
  PublishFour();
  ASSERT_TRUE(List({}).ok());
  EXPECT_THAT(Names(), ElementsAre("node2/mlx5_0/1", "node1/mlx5_1/1", "node1/mlx5_0/1"));
  EXPECT_EQ(listed_.total_size(), 3u);
  EXPECT_EQ(listed_.generation(), 7u);
  EXPECT_EQ(listed_.counts().at("NOISY_PHY"), 2u);
  EXPECT_EQ(listed_.action(), "recommend");
  EXPECT_EQ(listed_.actions_in_effect(), 3u);
  EXPECT_EQ(listed_.actions_budget(), 10u);
  EXPECT_TRUE(listed_.breaker_open());
  EXPECT_TRUE(listed_.enabled());
  EXPECT_GT(listed_.assessed().seconds(), listed_.verdicts(0).since().seconds());
  EXPECT_EQ(listed_.interval().seconds(), 60);
  EXPECT_EQ(listed_.resource_version(), backend_.log->version());
}

TEST_F(VerdictServiceTest, ListsAllOfAVerdict) {
  VerdictRecord record = Record(node2_, Verdict::kNoisyPhy, 0.95, Stage::kRecovering);
  record.found.attribution = {policy::Culprit::kTransmitter, policy::Side::kB, "errors at one end",
                              "swap it"};
  record.standing.accusation = {
      policy::Culprit::kTransmitter, {kLeaf2, PortNum(1)}, "errors at one end", "swap it"};
  record.standing.clean_time = std::chrono::minutes(125);
  record.standing.is_known = false;
  record.standing.needs_operator = true;
  record.response.recommended = policy::HoldKind::kCordon;
  record.response.action = policy::Action::kCordon;
  record.response.held_back = "budget";
  record.response.hold = 12;
  record.response.acknowledged = {"ann", "seen", 1000, std::nullopt};
  record.response.overruled = {"bob", "needed", 2000, 3000};
  record.finding = 1;
  record.root = trunk_;
  maker_.view.findings = {{policy::CommonCause::kSwitch, kLeaf2, {}, {}, 3, 4}};
  Publish({record});
  ASSERT_TRUE(List({}).ok());
  ASSERT_EQ(listed_.verdicts_size(), 1);
  const pb::Verdict& shown = listed_.verdicts(0);
  EXPECT_EQ(shown.a().node_guid(), "0x0000000000100200");
  EXPECT_EQ(shown.a_name(), "node2/mlx5_0/1");
  EXPECT_EQ(shown.b_name(), "leaf2/1");
  EXPECT_EQ(shown.end().node_name(), "leaf2");
  EXPECT_EQ(shown.verdict(), "NOISY_PHY");
  EXPECT_EQ(shown.stage(), "RECOVERING");
  EXPECT_EQ(shown.culprit(), "transmitter");
  EXPECT_EQ(shown.confidence(), 0.95);
  EXPECT_EQ(shown.reason(), "one row is fatal; errors at one end");
  EXPECT_EQ(shown.remedy(), "swap it");
  EXPECT_EQ(shown.clean_time().seconds(), 125 * 60);
  EXPECT_TRUE(shown.stale());
  EXPECT_TRUE(shown.needs_operator());
  EXPECT_EQ(shown.recommended(), pb::HOLD_KIND_CORDON);
  EXPECT_EQ(shown.action(), "cordon");
  EXPECT_EQ(shown.held_back(), "budget");
  EXPECT_EQ(shown.hold_id(), "12");
  EXPECT_EQ(shown.acknowledged().by(), "ann");
  EXPECT_FALSE(shown.acknowledged().has_until());
  EXPECT_EQ(shown.overruled().until().seconds(), 3);
  EXPECT_EQ(shown.root().number(), 3u);
  EXPECT_EQ(shown.common_cause().cause(), "SWITCH");
  EXPECT_EQ(listed_.common_causes(0).node_name(), "leaf2");
  EXPECT_EQ(listed_.common_causes(0).affected(), 3u);
}

TEST_F(VerdictServiceTest, ListsRowsThatAreRaisedTheStrongestFirst) {
  VerdictRecord record = Record(node2_, Verdict::kNoisyPhy, 0.95);
  policy::EvidenceRow row;
  row.row = policy::Row::kSymbolBer;
  row.side = policy::Side::kA;
  row.level = policy::Level::kStrong;
  row.value = 12;
  row.limit = 3;
  row.count = 40;
  row.readings = 2;
  row.window = std::chrono::seconds(720);
  row.age = std::chrono::seconds(9);
  row.signal = "symbol errors";
  row.source = "PPCNT 0x16";
  policy::EvidenceRow quiet, fatal = row;
  fatal.row = policy::Row::kLinkDowns;
  fatal.side = policy::Side::kLink;
  fatal.level = policy::Level::kFatal;
  record.found.rows = {quiet, row, fatal};
  Publish({record});
  ASSERT_TRUE(List({}).ok());
  ASSERT_EQ(listed_.verdicts_size(), 1);
  const pb::Verdict& shown = listed_.verdicts(0);
  ASSERT_EQ(shown.rows_size(), 2);
  EXPECT_EQ(shown.rows(0).row(), "E4");
  EXPECT_FALSE(shown.rows(0).has_end());
  const pb::EvidenceRow& first = shown.rows(1);
  EXPECT_EQ(first.level(), pb::EVIDENCE_LEVEL_STRONG);
  EXPECT_EQ(first.end().node_name(), "node2 mlx5_0");
  EXPECT_EQ(first.signal(), "symbol errors");
  EXPECT_EQ(first.unit(), "count");
  EXPECT_EQ(first.window().seconds(), 720);
  EXPECT_EQ(first.age().seconds(), 9);
  EXPECT_EQ(first.count(), 40u);
}

TEST_F(VerdictServiceTest, ListsVerdictsThatMatchTheFilters) {
  PublishFour();
  pb::ListVerdictsRequest request;
  request.add_names("leaf2");
  ASSERT_TRUE(List(request).ok());
  EXPECT_THAT(Names(), ElementsAre("node2/mlx5_0/1", "node1/mlx5_1/1"));
  request.set_names(0, "node1");  // A host: both of its HCAs.
  ASSERT_TRUE(List(request).ok());
  EXPECT_THAT(Names(), ElementsAre("node1/mlx5_1/1", "node1/mlx5_0/1"));
  request.set_bad_only(true);
  ASSERT_TRUE(List(request).ok());
  EXPECT_THAT(Names(), ElementsAre("node1/mlx5_1/1"));
  request.Clear();
  request.add_verdicts("UNKNOWN");
  request.add_verdicts("SUSPECT");
  ASSERT_TRUE(List(request).ok());
  EXPECT_THAT(Names(), ElementsAre("node1/mlx5_0/1", "leaf1/3"));
  request.add_verdicts("NOISY");
  auto status = List(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("NOISY_PHY, FLAPPING"));
  EXPECT_EQ(DetailOf<google::rpc::BadRequest>(status).field_violations(0).field(), "verdicts");
  request.set_verdicts(2, "HEALTHY");
  EXPECT_EQ(List(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.Clear();
  request.add_names("nowhere");
  EXPECT_EQ(List(request).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(VerdictServiceTest, PagesOfOneListingAreOfOneView) {
  PublishFour();
  pb::ListVerdictsRequest request;
  request.set_page_size(2);
  ASSERT_TRUE(List(request).ok());
  EXPECT_EQ(Names().size(), 2u);
  request.set_page_token(listed_.next_page_token());
  maker_.view.number = 2;
  Publish({});
  ASSERT_TRUE(List(request).ok());
  EXPECT_THAT(Names(), ElementsAre("node1/mlx5_0/1"));
  EXPECT_EQ(listed_.next_page_token(), "");
  request.set_page_token(request.page_token().substr(0, 40) + ".77");
  EXPECT_EQ(ReasonOf(List(request)), "PAGE_TOKEN_EXPIRED");
}

TEST_F(VerdictServiceTest, WithoutAnAssessmentListsAreEmptyAndGetsRefused) {
  ASSERT_TRUE(List({}).ok());
  EXPECT_FALSE(listed_.enabled());
  EXPECT_FALSE(listed_.has_assessed());
  EXPECT_TRUE(listed_.counts().empty());
  pb::GetVerdictRequest request;
  request.set_port("leaf2/1");
  pb::GetVerdictResponse response;
  auto status = Call(&Stub::GetVerdict, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "VERDICTS_OFF");
  maker_.view.snapshot = nullptr;
  maker_.view.number = 0;
  Publish({});
  status = Call(&Stub::GetVerdict, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "NOT_ASSESSED");
}

TEST_F(VerdictServiceTest, GetsAVerdictWithItsText) {
  PublishFour();
  backend_.on_evaluate = [&](PortRef port, const daemon::VerdictDone& done) {
    if (port == trunk_)
      return done(absl::NotFoundError("leaf1/3 is read at one end only"), nullptr);
    auto record = std::make_shared<VerdictRecord>(Record(node2_, Verdict::kNoisyPhy, 0.95));
    record->found.rows.resize(2);
    record->evidence = std::make_shared<const policy::LinkEvidence>();
    EXPECT_EQ(port, (PortRef{fabric_.leaf2, PortNum(1)}));
    done(absl::OkStatus(), record);
  };
  pb::GetVerdictRequest request;
  request.set_port("leaf2/1");
  pb::GetVerdictResponse response;
  ASSERT_TRUE(Call(&Stub::GetVerdict, request, &response).ok());
  EXPECT_EQ(response.verdict().verdict(), "NOISY_PHY");
  EXPECT_EQ(response.verdict().rows_size(), 2);
  EXPECT_THAT(response.text(), HasSubstr("NOISY_PHY  node2/mlx5_0/1 - leaf2/1"));
  request.set_port("leaf1/3");
  const auto status = Call(&Stub::GetVerdict, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(status), "LINK_NOT_ASSESSED");
}

TEST_F(VerdictServiceTest, AnAmbiguousNameIsRefusedWithItsPorts) {
  PublishFour();
  std::vector<PortRef> asked;
  backend_.on_evaluate = [&](PortRef port, const daemon::VerdictDone& done) {
    asked.push_back(port);
    done(absl::OkStatus(), std::make_shared<VerdictRecord>(Record(node2_, Verdict::kSuspect, 0)));
  };
  pb::GetVerdictRequest request;
  pb::GetVerdictResponse response;
  for (const char* name : {"node2", "node2/mlx5_0", "node2 mlx5_0/1"}) {
    request.set_port(name);
    EXPECT_TRUE(Call(&Stub::GetVerdict, request, &response).ok()) << name;
  }
  EXPECT_THAT(asked, ElementsAre(node2_, node2_, node2_));
  const std::pair<const char*, const char*> several[] = {
      {"node1", "node1/mlx5_0/1, node1/mlx5_1/1"}, {"leaf1", "leaf1/1, leaf1/2, leaf1/3, leaf1/4"}};
  for (const auto& [name, ports] : several) {
    request.set_port(name);
    const auto status = Call(&Stub::GetVerdict, request, &response);
    EXPECT_EQ(ReasonOf(status), "AMBIGUOUS_NAME") << name;
    EXPECT_THAT(status.error_message(), HasSubstr(ports));
  }
  request.set_port("leaf1/0");
  EXPECT_EQ(Call(&Stub::GetVerdict, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(VerdictServiceTest, PassesCommandsAboutVerdictsOn) {
  PublishFour();
  std::vector<VerdictCommand> commands;
  backend_.on_verdict = [&](VerdictCommand command, const daemon::VerdictDone& done) {
    commands.push_back(std::move(command));
    if (commands.back().kind == VerdictCommand::Kind::kResetBreaker)
      return done(absl::OkStatus(), nullptr);
    auto record = std::make_shared<VerdictRecord>(Record(node2_, Verdict::kNoisyPhy, 0.95));
    record->response.acknowledged = {commands.back().by, commands.back().reason, 1, std::nullopt};
    done(absl::OkStatus(), record);
  };
  pb::AckVerdictRequest ack;
  ack.set_port("node2");
  pb::AckVerdictResponse acked;
  ASSERT_TRUE(Call(&Stub::AckVerdict, ack, &acked).ok());
  EXPECT_FALSE(acked.verdict().acknowledged().by().empty());
  pb::OverruleVerdictRequest overrule;
  overrule.set_port("leaf2/1");
  overrule.set_reason("needed");
  overrule.mutable_ttl()->set_seconds(3600);
  pb::OverruleVerdictResponse overruled;
  ASSERT_TRUE(Call(&Stub::OverruleVerdict, overrule, &overruled).ok());
  pb::ReleaseVerdictRequest release;
  release.set_port("leaf2/1");
  release.set_reason("new cable");
  pb::ReleaseVerdictResponse released;
  ASSERT_TRUE(Call(&Stub::ReleaseVerdict, release, &released).ok());
  pb::ResetVerdictBreakerRequest reset;
  reset.set_reason("it was the firmware");
  pb::ResetVerdictBreakerResponse closed;
  ASSERT_TRUE(Call(&Stub::ResetVerdictBreaker, reset, &closed).ok());
  ASSERT_EQ(commands.size(), 4u);
  EXPECT_EQ(commands[0].kind, VerdictCommand::Kind::kAcknowledge);
  EXPECT_EQ(commands[0].port, node2_);
  EXPECT_EQ(commands[1].kind, VerdictCommand::Kind::kOverrule);
  EXPECT_EQ(commands[1].port, (PortRef{fabric_.leaf2, PortNum(1)}));
  EXPECT_EQ(commands[1].reason, "needed");
  EXPECT_EQ(commands[1].ttl, Duration(std::chrono::hours(1)));
  EXPECT_EQ(commands[2].kind, VerdictCommand::Kind::kRelease);
  EXPECT_EQ(commands[2].reason, "new cable");
  EXPECT_EQ(commands[3].by, commands[0].by);
  EXPECT_EQ(commands[3].reason, "it was the firmware");
}

TEST_F(VerdictServiceTest, RefusesInvalidCommands) {
  PublishFour();
  backend_.on_verdict = [](const VerdictCommand& command, const daemon::VerdictDone& done) {
    done(command.kind == VerdictCommand::Kind::kResetBreaker
             ? absl::UnavailableError("fabricd is stopping")
             : absl::FailedPreconditionError("leaf2/1 has no bad verdict"),
         nullptr);
  };
  pb::OverruleVerdictRequest overrule;
  pb::OverruleVerdictResponse overruled;
  overrule.set_port("leaf2/1");
  auto status = Call(&Stub::OverruleVerdict, overrule, &overruled);
  EXPECT_EQ(DetailOf<google::rpc::BadRequest>(status).field_violations(0).field(), "reason");
  overrule.set_reason("needed");
  overrule.mutable_ttl();
  status = Call(&Stub::OverruleVerdict, overrule, &overruled);
  EXPECT_EQ(DetailOf<google::rpc::BadRequest>(status).field_violations(0).field(), "ttl");
  overrule.clear_ttl();
  status = Call(&Stub::OverruleVerdict, overrule, &overruled);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "NO_VERDICT");
  pb::ResetVerdictBreakerRequest reset;
  pb::ResetVerdictBreakerResponse closed;
  status = Call(&Stub::ResetVerdictBreaker, reset, &closed);
  EXPECT_EQ(DetailOf<google::rpc::BadRequest>(status).field_violations(0).field(), "reason");
  reset.set_reason("why not");
  EXPECT_EQ(ReasonOf(Call(&Stub::ResetVerdictBreaker, reset, &closed)), "VERDICTS_BUSY");
}

TEST_F(VerdictServiceTest, ListsCongestionTrees) {
  const PortRef egress{fabric_.leaf2, PortNum(1)}, up{fabric_.spine, PortNum(2)};
  telemetry::CongestionRoot small, large;
  small.port = {fabric_.leaf1, PortNum(1)};
  small.kind = telemetry::CongestionKind::kIncast;
  large.port = egress;
  large.kind = telemetry::CongestionKind::kSlowReceiver;
  large.wait = {0.6, 0.1};
  large.victims = {{up, {0.4, 0.2}, egress, 1}, {trunk_, {0.3, 0.2}, up, 2}};
  maker_.view.congestion.roots = {small, large};
  maker_.view.congestion.without_root = {trunk_};
  Publish({});
  pb::ListCongestionRequest request;
  pb::ListCongestionResponse response;
  request.set_max_victims(1);
  ASSERT_TRUE(Call(&Stub::ListCongestion, request, &response).ok());
  ASSERT_EQ(response.trees_size(), 2);
  EXPECT_EQ(response.total_size(), 2u);
  EXPECT_EQ(response.without_root(), 1u);
  EXPECT_TRUE(response.has_assessed());
  const pb::CongestionTree& tree = response.trees(0);
  EXPECT_EQ(tree.root().name(), "leaf2/1");
  EXPECT_EQ(tree.root().wait_share(), 0.6);
  EXPECT_EQ(tree.kind(), "SLOW_RECEIVER");
  EXPECT_EQ(tree.peer_name(), "node2/mlx5_0/1");
  EXPECT_EQ(tree.victims_total(), 2u);
  ASSERT_EQ(tree.victims_size(), 1);
  EXPECT_EQ(tree.victims(0).towards().node_name(), "leaf2");
  EXPECT_EQ(tree.victims(0).hops(), 1u);
  EXPECT_EQ(response.trees(1).kind(), "INCAST");
  request.add_names("node2");  // The peer of a root.
  ASSERT_TRUE(Call(&Stub::ListCongestion, request, &response).ok());
  EXPECT_EQ(response.trees_size(), 1);
  request.set_names(0, "leaf1/3");  // A victim.
  ASSERT_TRUE(Call(&Stub::ListCongestion, request, &response).ok());
  ASSERT_EQ(response.trees_size(), 1);
  EXPECT_EQ(response.trees(0).root().name(), "leaf2/1");
  request.set_max_victims(-1);
  EXPECT_EQ(Call(&Stub::ListCongestion, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace fabricd::rpc::testing
