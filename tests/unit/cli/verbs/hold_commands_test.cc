// SPDX-License-Identifier: Apache-2.0
// The verbs about holds, readiness and events against a server in this process: what they ask of
// the core, what they print, and their exit codes (DESIGN §4).
#include <thread>

#include "common/status.h"
#include "daemon/record/event_log.h"
#include "tests/unit/cli/command_fixture.h"
#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::cli {
namespace {

using rpc::testing::FakeBackend;
using rpc::testing::RunningServer;
using rpc::testing::SmallFabric;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class HoldCommandsTest : public testing::CommandFixture {
 protected:
  // The core grants everything: holds get ids from 1, and are in effect at once unless `pending_`.
  HoldCommandsTest() {
    backend_.on_hold = [this](daemon::HoldCommand command, const daemon::HoldDone& done) {
      if (auto* create = std::get_if<sweep::CreateHold>(&command)) return Create(*create, done);
      if (auto* remove = std::get_if<sweep::DeleteHold>(&command)) return Delete(*remove, done);
      if (auto* clear = std::get_if<sweep::ClearDamping>(&command)) {
        cleared_.push_back(*clear);
        return done(absl::OkStatus(), nullptr);
      }
      Acknowledge(std::get<sweep::AckHold>(command), done);
    };
  }
  void Create(const sweep::CreateHold& command, const daemon::HoldDone& done) {
    created_.push_back(command);
    auto outcome = std::make_shared<sweep::HoldOutcome>();
    outcome->hold = command.hold;
    outcome->consequences.paths_moved = 12;
    if (!refusal_.ok()) return done(refusal_, command.validate_only ? outcome : nullptr);
    if (!command.validate_only) {
      outcome->hold.id = ++last_id_;
      outcome->hold.created = 1;
      const auto state = pending_ ? policy::HoldState::kPending : policy::HoldState::kInEffect;
      fabric_.policy.holds.push_back({outcome->hold, state, "tables are being written"});
      backend_.Publish(fabric_.View(++generation_));
    }
    done(absl::OkStatus(), outcome);
  }
  void Delete(const sweep::DeleteHold& command, const daemon::HoldDone& done) {
    for (auto it = fabric_.policy.holds.begin(); it != fabric_.policy.holds.end(); ++it) {
      if (it->hold.id != command.request.id) continue;
      auto outcome = std::make_shared<sweep::HoldOutcome>();
      outcome->hold = it->hold;
      fabric_.policy.holds.erase(it);
      backend_.Publish(fabric_.View(++generation_));
      return done(absl::OkStatus(), outcome);
    }
    done(absl::NotFoundError("none"), nullptr);
  }
  void Acknowledge(const sweep::AckHold& command, const daemon::HoldDone& done) {
    for (auto& status : fabric_.policy.holds) {
      if (status.hold.id != command.id) continue;
      status.hold.acknowledged = 5;
      backend_.Publish(fabric_.View(++generation_));
      auto outcome = std::make_shared<sweep::HoldOutcome>();
      outcome->hold = status.hold;
      return done(absl::OkStatus(), outcome);
    }
    done(absl::NotFoundError("none"), nullptr);
  }

  int Run(std::vector<std::string> words) { return RunAt(running_.socket(), std::move(words)); }
  void EmitEvent(const std::string& type, Guid node = Guid(),
                 fabric::Severity severity = fabric::Severity::kInfo) {
    fabric::FabricEvent event;
    event.type = type;
    event.node = node;
    event.severity = severity;
    event.message = type + " has happened";
    backend_.log->Append({event}, Instant());
  }

  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View()};
  std::vector<sweep::CreateHold> created_;
  std::vector<sweep::ClearDamping> cleared_;
  absl::Status refusal_;
  bool pending_ = false;
  uint64_t last_id_ = 0, generation_ = 10;
  RunningServer running_{backend_};
};

TEST_F(HoldCommandsTest, EveryVerbAndItsInverse) {
  const std::vector<std::vector<std::string>> verbs = {
      {"cordon", "uncordon", "cordoned", "uncordoned"},
      {"drain", "undrain", "drained", "undrained"},
      {"isolate", "release", "isolated", "released"},
      {"disable", "enable", "disabled", "enabled"}};
  uint64_t id = 0;
  for (size_t i = 0; i < verbs.size(); ++i) {
    const auto& verb = verbs[i];
    ++id;
    ASSERT_EQ(Run({verb[0], "host", "node2", "--reason", "BER"}), 0) << error_;
    EXPECT_EQ(out_, fmt::format("host/node2 {} (hold {})\n", verb[2], id));
    EXPECT_EQ(static_cast<size_t>(created_.back().hold.kind), i + 1);
    ASSERT_EQ(Run({verb[1], "node2"}), 0) << error_;
    EXPECT_EQ(out_, fmt::format("host/node2 {} (hold {} lifted)\n", verb[3], id));
    EXPECT_EQ(Run({verb[1], "node2"}), 3) << out_;
    EXPECT_EQ(Run({verb[1], "node2", "--ignore-not-found"}), 0);
  }
  EXPECT_THAT(fabric_.policy.holds, IsEmpty());
}

// A node that waits beside the master may not have heard of a hold, or of its end.
TEST_F(HoldCommandsTest, HoldsAreWaitedForAndLiftedWhereTheMasterKeepsThem) {
  SmallFabric shown;
  FakeBackend behind(shown.View());
  auto view = std::make_shared<sweep::FabricView>(*shown.View());
  view->sm.state = wire::SmState::kNotActive;
  behind.Publish(view);
  behind.nodes = {{.endpoint = "unix:" + running_.socket(), .state = "MASTER"},
                  {.state = daemon::SharingNode::kWaiting, .is_this = true}};
  const RunningServer waiting(behind);
  // Only the master knows whether it is in effect.
  ASSERT_EQ(RunAt(waiting.socket(), {"cordon", "host", "node2", "--reason", "BER", "--wait"}), 0)
      << error_;
  EXPECT_EQ(fabric_.policy.holds.size(), 1u);
  EXPECT_EQ(RunAt(waiting.socket(), {"uncordon", "node2", "--ignore-not-found"}), 0) << error_;
  EXPECT_EQ(out_, "host/node2 uncordoned (hold 1 lifted)\n");
  EXPECT_THAT(fabric_.policy.holds, IsEmpty());
  // Where no master is named, what it shows is not believed.
  behind.nodes.clear();
  EXPECT_EQ(RunAt(waiting.socket(), {"uncordon", "node2", "--ignore-not-found"}), 6);
  EXPECT_THAT(error_, HasSubstr("what it shows may be old"));
}

TEST_F(HoldCommandsTest, OptionsReachTheCore) {
  ASSERT_EQ(Run({"drain", "hca/node2/mlx5_0", "--reason", "BER", "--mode", "soft", "--for", "2h",
                 "--owner", "slurm", "--force", "--request-id", "r-1", "-o", "name"}),
            0)
      << error_;
  EXPECT_EQ(out_, "hold/1\n");
  const policy::Hold& hold = created_.at(0).hold;
  EXPECT_EQ(hold.mode, policy::DrainMode::kSoft);
  EXPECT_EQ(hold.target.kind, policy::TargetKind::kHca);
  EXPECT_EQ(hold.owner, "slurm");
  EXPECT_EQ(hold.request_id, "r-1");
  EXPECT_TRUE(hold.forced);
  EXPECT_EQ(created_.at(0).ttl, std::chrono::hours(2));
}

TEST_F(HoldCommandsTest, HostlistsMakeOneHoldEach) {
  ASSERT_EQ(Run({"cordon", "node[1-2]", "--reason", "BER"}), 0) << error_;
  EXPECT_EQ(out_, "host/node1 cordoned (hold 1)\nhost/node2 cordoned (hold 2)\n");
  ASSERT_EQ(Run({"drain", "port", "leaf1[3]", "--reason", "BER"}), 0) << error_;
  EXPECT_EQ(out_, "port/leaf1/3 drained (hold 3)\n");
  // What is there is done, what is not is told, and the exit code says so.
  EXPECT_EQ(Run({"isolate", "node[2-3]", "--reason", "BER"}), 3);
  EXPECT_EQ(out_, "host/node2 isolated (hold 4)\n");
  EXPECT_THAT(error_, HasSubstr("node3"));
  EXPECT_EQ(Run({"uncordon", "node[1-2]"}), 0) << error_;
}

TEST_F(HoldCommandsTest, UsageErrors) {
  EXPECT_EQ(Run({"cordon", "node2"}), 2);  // No reason.
  EXPECT_EQ(Run({"cordon", "host", "--reason", "x"}), 2);
  EXPECT_EQ(Run({"cordon", "node[1-", "--reason", "x"}), 2);
  EXPECT_EQ(Run({"cordon", "node2", "--reason", "x", "--for", "soon"}), 2);
  EXPECT_EQ(Run({"cordon", "node2", "--reason", "x", "--dry-run", "client"}), 2);
  EXPECT_EQ(Run({"drain", "node2", "--reason", "x", "--mode", "firm"}), 2);
  EXPECT_EQ(Run({"events", "--since", "ever"}), 2);
  EXPECT_EQ(Run({"wait", "host", "--for", "ready"}), 2);
  EXPECT_EQ(Run({"wait", "host", "node1", "--for", "nonsense"}), 2);
  EXPECT_EQ(Run({"wait", "hold", "1", "--for", "nonsense"}), 2);
  EXPECT_THAT(created_, IsEmpty());
}

TEST_F(HoldCommandsTest, AGuardsRefusal) {
  refusal_ = FailedPrecondition("guard \"connectivity\": would cut off 2");
  EXPECT_EQ(Run({"drain", "switch", "leaf1", "--reason", "x"}), 6);
  EXPECT_THAT(error_, HasSubstr("would cut off 2"));
  EXPECT_EQ(Run({"drain", "switch", "leaf1", "--reason", "x", "--dry-run", "server"}), 6);
  EXPECT_THAT(out_, HasSubstr("Paths moved:   12 table entries"));
  EXPECT_THAT(error_, HasSubstr("would be refused: guard \"connectivity\""));
  refusal_ = absl::OkStatus();
  EXPECT_EQ(Run({"drain", "switch", "leaf1", "--reason", "x", "--dry-run=server"}), 0);
  EXPECT_THAT(fabric_.policy.holds, IsEmpty());
}

TEST_F(HoldCommandsTest, AResetIsADisableThatIsLiftedOnceItIsInEffect) {
  ASSERT_EQ(Run({"reset", "port", "leaf1/1", "--reason", "stuck"}), 0) << error_;
  EXPECT_EQ(out_,
            "port/leaf1/1 disabled (hold 1)\nhold 1 in effect\n"
            "port/leaf1/1 enabled (hold 1 lifted)\nport/leaf1/1 is ACTIVE again\n");
  EXPECT_EQ(created_.at(0).hold.kind, policy::HoldKind::kDisable);
  EXPECT_EQ(created_.at(0).hold.reason, "stuck");
  ASSERT_TRUE(created_.at(0).ttl.has_value()) << "it ends by itself";
  EXPECT_EQ(*created_.at(0).ttl, std::chrono::seconds(60));
  EXPECT_THAT(fabric_.policy.holds, IsEmpty());
}

TEST_F(HoldCommandsTest, AResetThatDoesNotComeIntoEffectIsTakenBack) {
  pending_ = true;
  EXPECT_EQ(Run({"--timeout", "300ms", "reset", "leaf1/1", "--reason", "x"}), 4);
  EXPECT_THAT(error_, HasSubstr("tables are being written"));
  EXPECT_THAT(fabric_.policy.holds, IsEmpty());
}

TEST_F(HoldCommandsTest, AResetLeavesADisableThatStandsAlone) {
  ASSERT_EQ(Run({"disable", "port", "leaf1/1", "--reason", "broken"}), 0) << error_;
  EXPECT_EQ(Run({"reset", "port", "leaf1/1", "--reason", "x"}), 6);
  EXPECT_THAT(error_, HasSubstr("is disabled already: hold 1"));
  EXPECT_EQ(created_.size(), 1u);
  EXPECT_EQ(fabric_.policy.holds.size(), 1u);
  EXPECT_EQ(Run({"reset", "host", "node1", "--reason", "x"}), 2);
}

TEST_F(HoldCommandsTest, AClearedDampingIsPrinted) {
  policy::DampedLink link;
  link.a = {fabric_.leaf1, PortNum(3)};
  link.b = {fabric_.spine, PortNum(1)};
  link.penalty = 3500;
  link.flaps = 4;
  link.suppressed = true;
  fabric_.policy.damped = {link};
  backend_.Publish(fabric_.View(++generation_));
  EXPECT_EQ(Run({"clear", "damping", "leaf1/3", "--reason", "new cable", "--dry-run=server"}), 0);
  const std::string ends = "leaf1/3 ↔ MF0;spine:MQM8700/U1/1: penalty 3500 of 4 flaps";
  EXPECT_EQ(out_, ends + " would be cleared; routes may use it again\n");
  ASSERT_EQ(Run({"clear", "damping", "leaf[1-2]/3", "--reason", "new cable"}), 0) << error_;
  EXPECT_EQ(out_, ends + " cleared; routes may use it again\nleaf2/3 has no damped link\n");
  ASSERT_EQ(cleared_.size(), 3u);
  EXPECT_TRUE(cleared_[0].validate_only);
  EXPECT_FALSE(cleared_[1].validate_only);
  EXPECT_EQ(cleared_[1].end, link.a);
  EXPECT_EQ(Run({"clear", "damping", "spine/1", "--reason", "x", "-o", "name"}), 0) << error_;
  EXPECT_EQ(out_, "link/leaf1/3\n");
  EXPECT_EQ(Run({"clear", "damping", "leaf9/3", "--reason", "x"}), 3);
  EXPECT_EQ(Run({"clear", "damping", "leaf1/3"}), 2) << "a reason is required";
}

TEST_F(HoldCommandsTest, WaitingUntilItIsInEffect) {
  pending_ = true;
  EXPECT_EQ(Run({"--timeout", "300ms", "drain", "node2", "--reason", "x", "--wait"}), 4);
  EXPECT_THAT(error_, HasSubstr("tables are being written"));
  fabric_.policy.holds[0].state = policy::HoldState::kInEffect;
  pending_ = false;
  EXPECT_EQ(Run({"drain", "node1", "--reason", "x", "--wait"}), 0) << error_;
  EXPECT_EQ(out_, "host/node1 drained (hold 2)\nhold 2 in effect\n");
  EXPECT_EQ(Run({"wait", "hold", "1", "2", "--for", "in-effect"}), 0) << error_;
  EXPECT_EQ(Run({"wait", "hold", "9", "--for", "deleted"}), 0) << error_;
  EXPECT_EQ(Run({"wait", "hold", "9", "--for", "in-effect"}), 3);
  EXPECT_EQ(Run({"wait", "host", "node[1-2]", "--for", "in-effect"}), 0) << error_;
  EXPECT_EQ(Run({"wait", "host", "node1", "--for", "held"}), 0) << error_;
  EXPECT_EQ(Run({"--timeout", "200ms", "wait", "host", "node1", "--for", "condition=FabricReady"}),
            4);
}

TEST_F(HoldCommandsTest, OthersHoldsStay) {
  ASSERT_EQ(Run({"cordon", "node2", "--reason", "BER", "--owner", "slurm"}), 0);
  ASSERT_EQ(Run({"cordon", "node2", "--reason", "mine"}), 0);
  EXPECT_EQ(Run({"uncordon", "node2"}), 0);
  EXPECT_THAT(out_, HasSubstr("hold 2 lifted"));
  EXPECT_THAT(error_, HasSubstr("stays cordoned: hold 1 of slurm (BER)"));
  EXPECT_EQ(Run({"uncordon", "node2"}), 3);
  EXPECT_EQ(Run({"uncordon", "node2", "--owner", "slurm"}), 0) << error_;
  ASSERT_EQ(Run({"cordon", "node2", "--reason", "BER", "--owner", "slurm"}), 0);
  EXPECT_EQ(Run({"uncordon", "node2", "--all-owners"}), 0) << error_;
}

TEST_F(HoldCommandsTest, ListsAndAcknowledges) {
  ASSERT_EQ(Run({"cordon", "node[1-2]", "--reason", "BER"}), 0);
  for (const char* form : {"table", "wide", "json", "yaml", "name"}) {
    EXPECT_EQ(Run({"get", "holds", "-o", form}), 0) << error_;
    EXPECT_THAT(out_, Not(IsEmpty()));
    EXPECT_EQ(Run({"holds", "-o", form}), 0) << error_;
  }
  EXPECT_EQ(Run({"get", "holds", "2", "-o", "name"}), 0);
  EXPECT_EQ(out_, "hold/2\n");
  EXPECT_EQ(Run({"get", "hold/node1", "-o", "name"}), 0);
  EXPECT_EQ(out_, "hold/1\n");
  EXPECT_EQ(Run({"get", "holds", "77"}), 3);
  EXPECT_EQ(Run({"ack", "1", "2"}), 0) << error_;
  EXPECT_EQ(out_, "hold 1 acknowledged\nhold 2 acknowledged\n");
  EXPECT_EQ(Run({"ack", "77"}), 3);
  EXPECT_EQ(Run({"wait", "hold", "1", "--for", "acknowledged"}), 0) << error_;
  EXPECT_EQ(Run({"get", "conditions"}), 0);
  EXPECT_EQ(Run({"get", "links", "--damped"}), 0);
}

TEST_F(HoldCommandsTest, ReadinessIsAFinding) {
  EXPECT_EQ(Run({"readiness", "node1"}), 0) << error_;
  ASSERT_EQ(Run({"cordon", "node2", "--reason", "BER"}), 0);
  EXPECT_EQ(Run({"readiness", "node[1-2]"}), 1);
  EXPECT_THAT(out_, HasSubstr("HELD"));
  EXPECT_THAT(error_, HasSubstr("1 of 2 hosts are not READY"));
  EXPECT_EQ(Run({"readiness"}), 1);
  EXPECT_EQ(Run({"readiness", "node9", "-o", "json"}), 1);
  EXPECT_THAT(out_, HasSubstr("READINESS_UNKNOWN"));
}

TEST_F(HoldCommandsTest, EventsInEveryForm) {
  EXPECT_EQ(Run({"events"}), 0);
  EXPECT_THAT(error_, HasSubstr("No events found"));
  EmitEvent("LinkUp", rpc::testing::kLeaf1);
  EmitEvent("LinkDown", rpc::testing::kNode2, fabric::Severity::kError);
  EmitEvent("SubnetUp");
  for (const char* form : {"table", "wide", "json", "yaml"}) {
    EXPECT_EQ(Run({"events", "-o", form}), 0) << error_;
    for (const char* type : {"LinkUp", "LinkDown", "SubnetUp"})
      EXPECT_THAT(out_, HasSubstr(type)) << form;
  }
  EXPECT_EQ(Run({"events", "-o", "name"}), 2);
  EXPECT_EQ(Run({"events", "--types", "LinkUp,SubnetUp", "--since", "10m", "--no-headers"}), 0);
  EXPECT_THAT(out_, Not(HasSubstr("LinkDown has")));
  EXPECT_EQ(Run({"events", "--node", "node2"}), 0);
  EXPECT_THAT(out_, Not(HasSubstr("LinkUp has")));
  EXPECT_THAT(out_, HasSubstr("LinkDown has"));
  EXPECT_EQ(Run({"events", "--severity", "warning"}), 0);
  EXPECT_THAT(out_, Not(HasSubstr("SubnetUp has")));
  EXPECT_EQ(Run({"events", "-n", "1"}), 0);
  EXPECT_THAT(out_, Not(HasSubstr("LinkDown has")));
  EXPECT_EQ(Run({"get", "events", "node2"}), 0);
  EXPECT_THAT(out_, HasSubstr("LinkDown has"));
}

TEST_F(HoldCommandsTest, EventsAreWatched) {
  EmitEvent("Before");
  std::thread later([this] {
    while (backend_.log->watcher_count() == 0) std::this_thread::yield();
    EmitEvent("After");
  });
  EXPECT_EQ(Run({"--timeout", "1500ms", "events", "-w"}), 4);  // Ended by the time-out.
  later.join();
  EXPECT_THAT(out_, HasSubstr("Before has happened"));
  EXPECT_THAT(out_, HasSubstr("After has happened"));
}

TEST_F(HoldCommandsTest, DescribeShowsHoldsConditionsAndEvents) {
  ASSERT_EQ(Run({"cordon", "node2", "--reason", "BER"}), 0);
  EmitEvent("LinkFlap", rpc::testing::kNode2);
  policy::Condition condition;
  condition.type = "NoisyTraps";
  condition.node = rpc::testing::kNode2;
  condition.port = PortNum(1);
  fabric_.policy.conditions = {condition};
  backend_.Publish(fabric_.View(++generation_));
  EXPECT_EQ(Run({"describe", "node", "node2 mlx5_0"}), 0) << error_;
  for (const char* text : {"Active,Cordoned", "Holds:", "BER", "Conditions:", "NoisyTraps",
                           "Last events:", "LinkFlap has"})
    EXPECT_THAT(out_, HasSubstr(text));
  EXPECT_EQ(Run({"describe", "host", "node2"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("BER"));
  EXPECT_EQ(Run({"describe", "port", "leaf2/1"}), 0) << error_;  // The other end of its link.
  EXPECT_THAT(out_, HasSubstr("BER"));
  EXPECT_THAT(out_, HasSubstr("NoisyTraps"));
  EXPECT_EQ(Run({"describe", "link", "leaf2/1"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("leaf2/1 ↔ node2 mlx5_0/1"));
  EXPECT_THAT(out_, HasSubstr("BER"));
  EXPECT_EQ(Run({"describe", "link", "leaf2"}), 2);
  EXPECT_EQ(Run({"describe", "port", "leaf1/1"}), 0) << error_;
  EXPECT_THAT(out_, Not(HasSubstr("BER")));
}

}  // namespace
}  // namespace fabricd::cli
