// SPDX-License-Identifier: Apache-2.0
// Verdicts and congestion as clients see them, and what clients say of verdicts.
#include <set>

#include "fabric/v1/verdict_service.grpc.pb.h"
#include "tests/unit/daemon/rpc/running_server.h"
#include "tests/unit/daemon/rpc/sample_verdicts.h"

namespace fabricd::rpc::testing {
namespace {

using daemon::VerdictCommand;
using policy::Stage;
using policy::Verdict;
using query::VerdictRecord;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Stub = pb::VerdictService::Stub;

// A running WatchVerdicts.
class Watch {
 public:
  Watch(Stub& stub, const pb::WatchVerdictsRequest& request) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    reader_ = stub.WatchVerdicts(&context_, request);
  }
  ~Watch() { context_.TryCancel(); }
  pb::WatchVerdictsResponse Next() {
    pb::WatchVerdictsResponse response;
    EXPECT_TRUE(reader_->Read(&response));
    return response;
  }
  // "NOISY_PHY node1/mlx5_0/1", "SYNCED".
  std::string NextWord() {
    const auto response = Next();
    if (response.has_synced()) return "SYNCED";
    if (response.has_bookmark()) return "BOOKMARK";
    return response.change().verdict().verdict() + " " + response.change().verdict().a_name();
  }
  grpc::Status Finish() { return reader_->Finish(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<pb::WatchVerdictsResponse>> reader_;
};

class VerdictServiceTest : public ::testing::Test {
 protected:
  VerdictRecord Record(PortRef a, Verdict verdict, double confidence,
                       Stage stage = Stage::kBad) const {
    return maker_.Record(a, verdict, confidence, stage);
  }
  void Publish(std::vector<VerdictRecord> records) {
    backend_.PublishVerdicts(maker_.Make(std::move(records)));
  }
  void PublishFour() {
    Publish({Record(node1_0_, Verdict::kSuspect, 0.5), Record(node1_1_, Verdict::kNoisyPhy, 0.85),
             Record(node2_, Verdict::kNoisyPhy, 0.95), Record(trunk_, Verdict::kUnknown, 0)});
  }
  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    response->Clear();
    return running_.Call(*stub_, method, request, response);
  }
  grpc::Status List(const pb::ListVerdictsRequest& request) {
    return Call(&Stub::ListVerdicts, request, &listed_);
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const pb::Verdict& verdict : listed_.verdicts()) names.push_back(verdict.a_name());
    return names;
  }
  fabric::FabricEvent Changed(const VerdictRecord& record, const std::string& verdict,
                              const std::string& before) const {
    fabric::FabricEvent event;
    event.type = "VerdictChanged";
    const policy::HeldPort a = maker_.Held(record.a), b = maker_.Held(record.b);
    event.node = a.node;
    event.port = a.port;
    event.peer = b.node;
    event.peer_port = b.port;
    event.facts = {{"verdict", verdict},    {"before", before},    {"stage", "BAD"},
                   {"culprit", "cable"},    {"confidence", "0.9"}, {"action", "cordon"},
                   {"held_back", "budget"}, {"hold", "7"},         {"reason", "why"}};
    return event;
  }
  void EmitEvent(fabric::FabricEvent event) { backend_.log->Append({std::move(event)}, Instant()); }

  SmallFabric fabric_;
  const PortRef node1_0_{fabric_.node1_0, PortNum(1)}, node1_1_{fabric_.node1_1, PortNum(1)},
      node2_{fabric_.node2, PortNum(1)}, trunk_{fabric_.leaf1, PortNum(3)};
  FakeBackend backend_{fabric_.View()};
  RunningServer running_{backend_};
  const std::unique_ptr<Stub> stub_ = pb::VerdictService::NewStub(running_.channel);
  VerdictMaker maker_{backend_.view()->snapshot};
  pb::ListVerdictsResponse listed_;
};

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

TEST_F(VerdictServiceTest, WatchSendsTheCurrentVerdictsThenChanges) {
  PublishFour();
  Watch watch(*stub_, {});
  std::set<std::string> standing;
  for (int i = 0; i < 4; ++i) standing.insert(watch.NextWord());
  EXPECT_THAT(standing, ElementsAre("NOISY_PHY node1/mlx5_1/1", "NOISY_PHY node2/mlx5_0/1",
                                    "SUSPECT node1/mlx5_0/1", "UNKNOWN leaf1/3"));
  const auto synced = watch.Next();
  ASSERT_TRUE(synced.has_synced());
  fabric::FabricEvent other;
  other.type = "LinkUp";
  other.node = kNode2;
  EmitEvent(other);
  const VerdictRecord record = Record(node2_, Verdict::kFlapping, 0.7);
  EmitEvent(Changed(record, "FLAPPING", "NOISY_PHY"));
  pb::VerdictChange change = watch.Next().change();
  EXPECT_EQ(change.before(), "NOISY_PHY");
  EXPECT_EQ(change.resource_version(), backend_.log->version());
  EXPECT_TRUE(change.has_time());
  // The view says otherwise by now: what the history keeps.
  const pb::Verdict& kept = change.verdict();
  EXPECT_EQ(kept.verdict(), "FLAPPING");
  EXPECT_EQ(kept.stage(), "BAD");
  EXPECT_EQ(kept.a_name(), "node2/mlx5_0/1");
  EXPECT_EQ(kept.b_name(), "leaf2/1");
  EXPECT_EQ(kept.culprit(), "cable");
  EXPECT_EQ(kept.confidence(), 0.9);
  EXPECT_EQ(kept.action(), "cordon");
  EXPECT_EQ(kept.held_back(), "budget");
  EXPECT_EQ(kept.hold_id(), "7");
  EXPECT_EQ(kept.reason(), "why");
  EXPECT_FALSE(kept.has_since());
  Publish({record});
  EmitEvent(Changed(record, "FLAPPING", "NOISY_PHY"));
  change = watch.Next().change();
  EXPECT_TRUE(change.verdict().has_since());
  EXPECT_EQ(change.verdict().confidence(), 0.7);
  fabric::FabricEvent said = Changed(record, "FLAPPING", "");
  said.type = "VerdictAcknowledged";
  EmitEvent(said);
  EXPECT_EQ(watch.Next().change().before(), "FLAPPING");
  backend_.log->Beat();
  EXPECT_EQ(watch.NextWord(), "BOOKMARK");

  pb::WatchVerdictsRequest request;
  request.set_resource_version(synced.synced().resource_version());
  Watch resumed(*stub_, request);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(resumed.NextWord(), "FLAPPING node2/mlx5_0/1");
  EXPECT_EQ(resumed.NextWord(), "SYNCED");
}

TEST_F(VerdictServiceTest, WatchSendsVerdictsOfNamedLinks) {
  PublishFour();
  pb::WatchVerdictsRequest request;
  request.add_names("node2");
  Watch watch(*stub_, request);
  EXPECT_EQ(watch.NextWord(), "NOISY_PHY node2/mlx5_0/1");
  EXPECT_EQ(watch.NextWord(), "SYNCED");
  EmitEvent(Changed(Record(node1_0_, Verdict::kSuspect, 1), "CHATTY", "SUSPECT"));
  fabric::FabricEvent gone = Changed(Record(node2_, Verdict::kSuspect, 1), "HEALTHY", "NOISY_PHY");
  gone.peer = Guid(0xDEAD);  // Not part of the fabric.
  EmitEvent(gone);
  const auto change = watch.Next().change();
  EXPECT_EQ(change.verdict().verdict(), "HEALTHY");
  EXPECT_EQ(change.verdict().b_name(), "0x000000000000dead/1");
  request.set_names(0, "nowhere");
  EXPECT_EQ(ReasonOf(Watch(*stub_, request).Finish()), "NODE_NOT_FOUND");
}

TEST_F(VerdictServiceTest, WatchEndsWhereTooMuchChangesAtOnce) {
  PublishFour();
  pb::WatchVerdictsRequest request;
  request.add_names("node2");
  Watch watch(*stub_, request);
  EXPECT_EQ(watch.NextWord(), "NOISY_PHY node2/mlx5_0/1");
  EXPECT_EQ(watch.NextWord(), "SYNCED");
  fabric::FabricEvent rest;
  rest.type = "VerdictChanged";
  rest.message = "verdicts about 300 more links changed";
  EmitEvent(rest);
  const auto status = watch.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(ReasonOf(status), "RESOURCE_VERSION_TOO_OLD");
  EXPECT_THAT(status.error_message(), HasSubstr("300 more links"));
  const auto info = DetailOf<google::rpc::ErrorInfo>(status);
  EXPECT_EQ(info.metadata().at("oldest"), backend_.log->version());
}

TEST_F(VerdictServiceTest, WatchFromAnExpiredVersionReturnsWhereToBegin) {
  backend_.log = *daemon::EventLog::Open(backend_.store, backend_.on_store,
                                         {backend_.store, backend_.on_store}, {.ring = 1});
  RunningServer small(backend_);
  const auto stub = pb::VerdictService::NewStub(small.channel);
  PublishFour();
  const std::string begin = backend_.log->version();
  for (int i = 0; i < 3; ++i)
    EmitEvent(Changed(Record(node2_, Verdict::kSuspect, 1), "SUSPECT", "HEALTHY"));
  pb::WatchVerdictsRequest request;
  request.set_resource_version(begin);
  const auto status = Watch(*stub, request).Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(ReasonOf(status), "RESOURCE_VERSION_TOO_OLD");
  request.set_resource_version(DetailOf<google::rpc::ErrorInfo>(status).metadata().at("oldest"));
  EXPECT_EQ(Watch(*stub, request).NextWord(), "SUSPECT node2/mlx5_0/1");
}

}  // namespace
}  // namespace fabricd::rpc::testing
