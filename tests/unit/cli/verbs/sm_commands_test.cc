// SPDX-License-Identifier: Apache-2.0
// The verbs about the mastership against a server in this process: what they ask of the core, what
// they print, and their exit codes (DESIGN §4).
#include "tests/unit/cli/command_fixture.h"
#include "tests/unit/cli/golden.h"
#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::cli {
namespace {

using ::testing::HasSubstr;

class SmCommandsTest : public testing::CommandFixture {
 protected:
  SmCommandsTest() {
    backend_.on_mastership = [this](daemon::MastershipCommand command,
                                    const daemon::MastershipDone& done) {
      asked_.push_back(command);
      done(status_, status_.ok() ? std::make_shared<sweep::MastershipOutcome>(outcome_) : nullptr);
    };
    const auto view = fabric_.View();
    PortRef leaf;
    view->snapshot->ForEachNode([&](const fabric::Node& node) {
      if (node.description == "leaf1") leaf = {node.index, PortNum(0)};
    });
    outcome_ = {9, 4, sweep::RemoteSm{leaf, Guid(0xAB), 5, wire::SmState::kStandby, 0}, false};
  }
  int Run(std::vector<std::string> words) { return RunAt(running_.socket(), std::move(words)); }

  rpc::testing::SmallFabric fabric_;
  rpc::testing::FakeBackend backend_{fabric_.View()};
  std::vector<daemon::MastershipCommand> asked_;
  sweep::MastershipOutcome outcome_;
  absl::Status status_;
  rpc::testing::RunningServer running_{backend_};
};

TEST_F(SmCommandsTest, PrintsResults) {
  std::string all;
  const auto add = [&](const std::vector<std::string>& words) {
    EXPECT_EQ(Run(words), 0) << error_;
    all += "$ fabricctl";
    for (const std::string& word : words) all += " " + word;
    all += "\n" + out_;
  };
  add({"sm", "step-down", "--dry-run=server"});
  add({"sm", "step-down", "--reason", "firmware"});
  add({"sm", "step-down", "-o", "json"});
  add({"sm", "priority", "4", "--dry-run=server"});
  add({"sm", "priority", "4"});
  outcome_.successor.reset();
  outcome_.before = 4;
  add({"sm", "priority", "4"});
  add({"sm", "priority", "4", "-o", "yaml"});
  testing::ExpectGolden("sm_commands", all);
}

TEST_F(SmCommandsTest, OptionsReachTheCore) {
  ASSERT_EQ(Run({"sm", "step-down", "--request-id", "r-1"}), 0) << error_;
  const auto& down = std::get<sweep::StepDown>(asked_.at(0));
  EXPECT_EQ(down.request_id, "r-1");
  EXPECT_FALSE(down.validate_only);
  ASSERT_EQ(Run({"sm", "priority", "15", "--dry-run=server"}), 0) << error_;
  const auto& priority = std::get<sweep::SetPriority>(asked_.at(1));
  EXPECT_EQ(priority.priority, 15);
  EXPECT_TRUE(priority.validate_only);
}

TEST_F(SmCommandsTest, TheTakeoverPlanIsPrintedAndAHeldOneFails) {
  EXPECT_EQ(Run({"takeover", "plan"}), 6);
  auto view = std::make_shared<sweep::FabricView>(*fabric_.View());
  auto report = std::make_shared<sweep::TakeoverReport>();
  report->id = "0123456789abcdef";
  report->risks = {{sweep::TakeoverRisk::kSubnetPrefix, "0xfec0000000000001", "0xfe80000000000000",
                    24, Guid(), PortNum()}};
  report->sets["PortInfo"] = {56, {{"GidPrefix", 24}}};
  report->lft_blocks = 96;
  report->lft_switches = 8;
  report->active_ports = 90;
  view->takeover = report;
  view->sm.is_held = true;
  backend_.Publish(view);
  EXPECT_EQ(Run({"takeover", "plan"}), 1);
  for (const char* text :
       {"Takeover report 0123456789abcdef: held", "96 blocks of 8 switches", "0 of 90 ACTIVE",
        "SubnetPrefix   0xfec0000000000001   0xfe80000000000000   24", "PortInfo.GidPrefix   24",
        "fabricctl takeover accept 0123456789abcdef"})
    EXPECT_THAT(out_, HasSubstr(text));
  EXPECT_EQ(Run({"takeover", "plan", "-o", "json"}), 1);
  EXPECT_THAT(out_, HasSubstr("\"lft_blocks\": 96"));
}

TEST_F(SmCommandsTest, ATakeoverIsAcceptedByItsId) {
  EXPECT_EQ(Run({"takeover", "accept"}), 2);
  ASSERT_EQ(Run({"takeover", "accept", "0123456789abcdef", "--reason", "change 1"}), 0) << error_;
  EXPECT_EQ(std::get<sweep::AcceptTakeover>(asked_.at(0)).id, "0123456789abcdef");
  status_ = absl::FailedPreconditionError("no takeover is held");
  EXPECT_EQ(Run({"takeover", "accept", "x"}), 6);
  status_ = absl::NotFoundError("another id");
  EXPECT_EQ(Run({"takeover", "accept", "x"}), 1);
}

TEST_F(SmCommandsTest, ExitCodes) {
  EXPECT_EQ(Run({"sm", "priority", "16"}), 2);
  EXPECT_EQ(Run({"sm", "priority"}), 2);
  EXPECT_EQ(Run({"sm", "priority", "high"}), 2);
  EXPECT_EQ(Run({"sm"}), 2);
  EXPECT_TRUE(asked_.empty());
  status_ = absl::FailedPreconditionError("this SM is STANDBY");
  EXPECT_EQ(Run({"sm", "step-down"}), 6);
  EXPECT_THAT(error_, HasSubstr("this SM is STANDBY"));
  status_ = absl::NotFoundError("no other SM stands by");
  EXPECT_EQ(Run({"sm", "step-down"}), 6);
  status_ = absl::AbortedError("it has not taken the subnet");
  EXPECT_EQ(Run({"sm", "step-down"}), 1);
  status_ = absl::UnavailableError("busy");
  EXPECT_EQ(Run({"sm", "priority", "3"}), 4);
}

}  // namespace
}  // namespace fabricd::cli
