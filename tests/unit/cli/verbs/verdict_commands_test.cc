// SPDX-License-Identifier: Apache-2.0
// The verbs about verdicts against a server in this process: what they print, and their exit codes.
#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/unit/cli/command_fixture.h"
#include "tests/unit/daemon/rpc/running_server.h"
#include "tests/unit/daemon/rpc/sample_verdicts.h"

namespace fabricd::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class VerdictCommandsTest : public testing::CommandFixture {
 protected:
  VerdictCommandsTest() {
    backend_.on_verdict = [this](const daemon::VerdictCommand& command,
                                 const daemon::VerdictDone& done) {
      commands_.push_back(command);
      done(absl::OkStatus(), command.kind == daemon::VerdictCommand::Kind::kResetBreaker
                                 ? nullptr
                                 : std::make_shared<const query::VerdictRecord>(Noisy()));
    };
    backend_.on_evaluate = [this](PortRef port, const daemon::VerdictDone& done) {
      auto record = std::make_shared<query::VerdictRecord>(
          maker_.Record(port, policy::Verdict::kNoisyPhy, 0.9));
      record->evidence = std::make_shared<const policy::LinkEvidence>();
      done(absl::OkStatus(), record);
    };
  }
  query::VerdictRecord Noisy() const {
    return maker_.Record({fabric_.node2, PortNum(1)}, policy::Verdict::kNoisyPhy, 0.9);
  }
  void PublishTwo() {
    maker_.view.counts[static_cast<size_t>(policy::Verdict::kNoisyPhy)] = 1;
    backend_.PublishVerdicts(maker_.Make(
        {Noisy(), maker_.Record({fabric_.node1_0, PortNum(1)}, policy::Verdict::kSuspect, 0.5)}));
  }
  int Run(std::vector<std::string> words) { return RunAt(running_.socket(), std::move(words)); }

  rpc::testing::SmallFabric fabric_;
  rpc::testing::FakeBackend backend_{fabric_.View()};
  rpc::testing::RunningServer running_{backend_};
  rpc::testing::VerdictMaker maker_{backend_.view()->snapshot};
  std::vector<daemon::VerdictCommand> commands_;
};

TEST_F(VerdictCommandsTest, FiltersByNameVerdictAndStage) {
  PublishTwo();
  EXPECT_EQ(Run({"verdicts"}), 0) << error_;
  EXPECT_THAT(out_, AllOf(StartsWith("LINK             VERDICT     STAGE"),
                          HasSubstr("\nnode2/mlx5_0/1   NOISY_PHY   BAD"), HasSubstr("SUSPECT")));
  EXPECT_THAT(error_, HasSubstr("1 links, 1 NOISY_PHY; assessed "));
  EXPECT_EQ(Run({"get", "vd", "--bad", "-o", "name"}), 0) << error_;
  EXPECT_EQ(out_, "verdict/node2/mlx5_0/1\n");
  EXPECT_EQ(Run({"verdicts", "leaf1", "--verdict", "suspect,noisy-phy", "-o", "name"}), 0);
  EXPECT_EQ(out_, "verdict/node1/mlx5_0/1\n");
  EXPECT_EQ(Run({"get", "verdict/node2/mlx5_0/1", "-o", "json"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("\"verdict\": \"NOISY_PHY\""));
  EXPECT_EQ(Run({"verdicts", "leaf1/3"}), 0);
  EXPECT_THAT(error_, HasSubstr("No resources found."));
  EXPECT_EQ(Run({"verdicts", "--verdict", "loud"}), 2);
  EXPECT_THAT(error_, HasSubstr("\"LOUD\" is no verdict"));
  EXPECT_EQ(Run({"verdicts", "nowhere"}), 3);
}

TEST_F(VerdictCommandsTest, WithoutAnAssessmentTheFabricIsUnknown) {
  EXPECT_EQ(Run({"verdicts"}), 4);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_THAT(error_, HasSubstr("no verdicts: telemetry does not poll"));
  EXPECT_EQ(Run({"congestion"}), 4);
  EXPECT_THAT(error_, HasSubstr("nothing is known of congestion"));
  EXPECT_EQ(Run({"check", "fabric"}), 3);
  EXPECT_THAT(out_, StartsWith("UNKNOWN: no verdicts"));
  running_.server->Shutdown();
  EXPECT_EQ(Run({"check", "fabric", "--timeout", "1s"}), 3);
  EXPECT_THAT(out_, StartsWith("UNKNOWN: "));
}

TEST_F(VerdictCommandsTest, DescribesByEitherPort) {
  PublishTwo();
  EXPECT_EQ(Run({"describe", "verdict", "leaf2/1"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("NOISY_PHY  leaf2/1 - node2/mlx5_0/1  confidence 0.90"));
  EXPECT_EQ(Run({"describe", "verdict", "node2", "-o", "json"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("\"text\": "));
  EXPECT_EQ(Run({"describe", "verdict", "node1"}), 2);
  EXPECT_THAT(error_, HasSubstr("name one: node1/mlx5_0/1, node1/mlx5_1/1"));
  EXPECT_EQ(Run({"describe", "verdict"}), 2);
}

TEST_F(VerdictCommandsTest, AcknowledgesOverrulesAndReleases) {
  PublishTwo();
  EXPECT_EQ(Run({"verdicts", "ack", "node2"}), 0) << error_;
  EXPECT_EQ(out_, "node2/mlx5_0/1 - leaf2/1 acknowledged (NOISY_PHY)\n");
  EXPECT_EQ(Run({"verdicts", "overrule", "leaf2/1", "--reason", "needed", "--for", "2h"}), 0);
  EXPECT_EQ(Run({"verdicts", "release", "leaf2/1", "--reason", "new cable", "-o", "name"}), 0);
  EXPECT_EQ(out_, "verdict/node2/mlx5_0/1\n");
  EXPECT_EQ(Run({"verdicts", "reset-breaker", "--reason", "firmware"}), 0) << error_;
  ASSERT_EQ(commands_.size(), 4u);
  EXPECT_EQ(commands_[1].kind, daemon::VerdictCommand::Kind::kOverrule);
  EXPECT_EQ(commands_[1].ttl, Duration(std::chrono::hours(2)));
  EXPECT_EQ(commands_[2].reason, "new cable");
  EXPECT_EQ(commands_[3].kind, daemon::VerdictCommand::Kind::kResetBreaker);
  EXPECT_EQ(Run({"verdicts", "overrule", "leaf2/1"}), 2);
  EXPECT_EQ(Run({"verdicts", "overrule", "leaf2/1", "--reason", "x", "--for", "soon"}), 2);
  EXPECT_EQ(Run({"verdicts", "reset-breaker"}), 2);
  backend_.on_verdict = [](const auto&, const daemon::VerdictDone& done) {
    done(absl::FailedPreconditionError("leaf2/1 has no bad verdict"), nullptr);
  };
  EXPECT_EQ(Run({"verdicts", "ack", "leaf2/1"}), 6);
  EXPECT_THAT(error_, HasSubstr("leaf2/1: leaf2/1 has no bad verdict"));
}

TEST_F(VerdictCommandsTest, WatchContinuesWithChanges) {
  PublishTwo();
  const query::VerdictRecord record = Noisy();
  fabric::FabricEvent healed;
  healed.type = "VerdictChanged";
  healed.node = maker_.Held(record.a).node;
  healed.port = record.a.port;
  healed.peer = maker_.Held(record.b).node;
  healed.peer_port = record.b.port;
  healed.facts = {{"verdict", "HEALTHY"}, {"before", "NOISY_PHY"}, {"stage", "HEALTHY"}};
  // Again and again, as nobody knows when the watch has begun.
  std::atomic<bool> over = false;
  std::thread daemon([&] {
    while (!over) {
      backend_.log->Append({healed}, Instant());
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  EXPECT_EQ(Run({"verdicts", "--bad", "-w", "--timeout", "2s"}), 4);
  over = true;
  daemon.join();
  EXPECT_THAT(out_, AllOf(HasSubstr("NOISY_PHY"), HasSubstr("HEALTHY"), Not(HasSubstr("SUSPECT"))));
  // It is listed no more then, so what follows is of no interest.
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 3) << out_;
}

TEST_F(VerdictCommandsTest, CongestionAndTheWholeFabric) {
  telemetry::CongestionRoot root;
  root.port = {fabric_.leaf2, PortNum(1)};
  root.kind = telemetry::CongestionKind::kIncast;
  root.wait = {0.5, 0.9};
  maker_.view.congestion.roots = {root};
  PublishTwo();
  EXPECT_EQ(Run({"congestion"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("leaf2/1 -> node2/mlx5_0/1  INCAST  wait 50.0%"));
  EXPECT_EQ(Run({"congestion", "leaf1", "-o", "json"}), 0) << error_;
  EXPECT_THAT(out_, Not(HasSubstr("INCAST")));
  EXPECT_EQ(Run({"congestion", "--victims", "0"}), 2);
  EXPECT_EQ(Run({"check", "fabric"}), 2);
  EXPECT_THAT(out_, AllOf(StartsWith("CRITICAL: "), HasSubstr("NOISY_PHY node2/mlx5_0/1 BAD")));
}

}  // namespace
}  // namespace fabricd::cli
