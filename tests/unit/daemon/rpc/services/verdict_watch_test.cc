// SPDX-License-Identifier: Apache-2.0
// WatchVerdicts: the verdicts that stand, then their changes.
#include <set>

#include "tests/unit/daemon/rpc/services/verdict_service_fixture.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A running WatchVerdicts.
class VerdictWatch {
 public:
  VerdictWatch(pb::VerdictService::Stub& stub, const pb::WatchVerdictsRequest& request) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    reader_ = stub.WatchVerdicts(&context_, request);
  }
  ~VerdictWatch() { context_.TryCancel(); }
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

class VerdictWatchTest : public VerdictServiceTest {
 protected:
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
};

TEST_F(VerdictWatchTest, WatchSendsTheCurrentVerdictsThenChanges) {
  PublishFour();
  VerdictWatch watch(*stub_, {});
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
  VerdictWatch resumed(*stub_, request);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(resumed.NextWord(), "FLAPPING node2/mlx5_0/1");
  EXPECT_EQ(resumed.NextWord(), "SYNCED");
}

TEST_F(VerdictWatchTest, WatchSendsVerdictsOfNamedLinks) {
  PublishFour();
  pb::WatchVerdictsRequest request;
  request.add_names("node2");
  VerdictWatch watch(*stub_, request);
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
  EXPECT_EQ(ReasonOf(VerdictWatch(*stub_, request).Finish()), "NODE_NOT_FOUND");
}

TEST_F(VerdictWatchTest, WatchEndsWhereTooMuchChangesAtOnce) {
  PublishFour();
  pb::WatchVerdictsRequest request;
  request.add_names("node2");
  VerdictWatch watch(*stub_, request);
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

TEST_F(VerdictWatchTest, WatchFromAnExpiredVersionReturnsWhereToBegin) {
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
  const auto status = VerdictWatch(*stub, request).Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(ReasonOf(status), "RESOURCE_VERSION_TOO_OLD");
  request.set_resource_version(DetailOf<google::rpc::ErrorInfo>(status).metadata().at("oldest"));
  EXPECT_EQ(VerdictWatch(*stub, request).NextWord(), "SUSPECT node2/mlx5_0/1");
}

}  // namespace
}  // namespace fabricd::rpc::testing
