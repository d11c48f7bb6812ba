// SPDX-License-Identifier: Apache-2.0
// The verbs about counters against a server in this process: what they print, and their exit codes
// (DESIGN §4).
#include "tests/unit/cli/command_fixture.h"
#include "tests/unit/daemon/rpc/running_server.h"
#include "tests/unit/daemon/rpc/sample_telemetry.h"

namespace fabricd::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class TelemetryCommandsTest : public testing::CommandFixture {
 protected:
  TelemetryCommandsTest() {
    backend_.telemetry_view = rpc::testing::SampleTelemetry(fabric_, view_->snapshot).Make();
  }
  int Run(std::vector<std::string> words) { return RunAt(running_.socket(), std::move(words)); }

  rpc::testing::SmallFabric fabric_;
  std::shared_ptr<const sweep::FabricView> view_ = fabric_.View();
  rpc::testing::FakeBackend backend_{view_};
  rpc::testing::RunningServer running_{backend_};
};

TEST_F(TelemetryCommandsTest, ErrorsAreFindings) {
  EXPECT_EQ(Run({"errors"}), 1);
  EXPECT_THAT(out_, HasSubstr("leaf1/1   symbol_errors=130 link_downed>=1"));
  EXPECT_THAT(error_, HasSubstr("nothing is known of 3 of 10 ports"));
  EXPECT_EQ(Run({"errors", "leaf1", "--since", "1h", "--counters", "symbol_errors"}), 1);
  EXPECT_THAT(out_, HasSubstr("symbol_errors=100 "));
  EXPECT_THAT(out_, Not(HasSubstr("link_downed")));
  EXPECT_EQ(Run({"errors", "node[1-2]", "--since", "1h"}), 0);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_THAT(error_, HasSubstr("No errors in the last 1h at 3 ports."));
  EXPECT_EQ(Run({"errors", "leaf1[1]", "leaf2/[1-2]", "-o", "name"}), 1);
  EXPECT_EQ(out_, "port/leaf1/1\nport/leaf2/1\n");
  EXPECT_EQ(Run({"errors", "-o", "name"}), 1);
  EXPECT_EQ(out_, "port/leaf1/1\nport/leaf1/3\nport/leaf2/1\n");
  EXPECT_EQ(Run({"errors", "--refresh", "-o", "ibqueryerrors"}), 1);
  EXPECT_THAT(out_, AllOf(HasSubstr("GUID 0x200000 port 1: [SymbolErrorCounter == 130]"),
                          HasSubstr("## Summary: 6 nodes checked, 2 bad nodes found")));
  EXPECT_EQ(Run({"errors", "-o", "json"}), 1);
  EXPECT_THAT(out_, HasSubstr("\"count\": 130"));
  EXPECT_EQ(Run({"errors", "nobody"}), 3);
  EXPECT_EQ(Run({"errors", "--since", "soon"}), 2);
  EXPECT_EQ(Run({"errors", "--counters", "colour"}), 2);
}

TEST_F(TelemetryCommandsTest, NoErrorsIsReportedOnlyForTheCoveredTime) {
  EXPECT_EQ(Run({"errors", "node[1-2]"}), 0);
  EXPECT_THAT(error_, HasSubstr("No errors in the last 2h at 3 ports."));  // When it began.
  EXPECT_EQ(Run({"errors", "node[1-2]", "--since", "72h"}), 0);
  EXPECT_THAT(error_, HasSubstr("No errors in the last 2h at 3 ports."));
}

TEST_F(TelemetryCommandsTest, ErrorsOfUnreadPortsAreUnknown) {
  rpc::testing::TelemetryMaker maker(view_->snapshot);
  maker.view.state = telemetry::State::kStandby;
  backend_.telemetry_view = maker.Make();
  EXPECT_EQ(Run({"errors"}), 4);
  EXPECT_THAT(error_,
              AllOf(HasSubstr("nothing is known of 10 of 10 ports now: telemetry is STANDBY"),
                    Not(HasSubstr("No errors"))));
  EXPECT_EQ(Run({"errors", "-o", "json"}), 4);
  EXPECT_THAT(out_, HasSubstr("\"ports_not_fresh\": 10"));
}

TEST_F(TelemetryCommandsTest, TopRanksAndPrintsOnceWithoutATerminal) {
  EXPECT_EQ(Run({"top", "ports", "-n", "2", "--watch"}), 0) << error_;
  EXPECT_THAT(out_, StartsWith("NAME      XMIT-GBPS   RCV-GBPS   UTIL"));
  EXPECT_THAT(out_, HasSubstr("\nleaf1/1   48.0"));
  EXPECT_THAT(out_, Not(HasSubstr("\x1b")));
  EXPECT_EQ(Run({"top", "links", "--sort", "wait"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("25.0%"));
  EXPECT_EQ(Run({"top", "host", "--sort", "rcv", "-o", "wide"}), 0) << error_;
  EXPECT_EQ(Run({"top", "sw", "-o", "json"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("\"total_size\": 3"));
  EXPECT_EQ(Run({"top", "partitions"}), 2);
  EXPECT_EQ(Run({"top", "ports", "--sort", "colour"}), 2);
  EXPECT_EQ(Run({"top", "ports", "-n", "0"}), 2);
  EXPECT_EQ(Run({"top"}), 2);
}

TEST_F(TelemetryCommandsTest, PortsShowTheirCounters) {
  EXPECT_EQ(Run({"describe", "port", "leaf1/1"}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("symbol BER"), HasSubstr("Errors of the last 24 hours"),
                          HasSubstr("symbol_errors   130")));
  EXPECT_EQ(Run({"describe", "port", "leaf1/1", "-o", "perfquery"}), 0) << error_;
  EXPECT_THAT(out_, StartsWith("# Port counters: Lid 1 port 1 (CapMask: 0x"));
  EXPECT_THAT(out_, HasSubstr("\nSymbolErrorCounter:..............1130\n"));
  EXPECT_EQ(Run({"describe", "port", "spine/1", "-o", "perfquery"}), 1);
  EXPECT_EQ(Run({"describe", "node", "leaf1", "-o", "perfquery"}), 2);
  EXPECT_EQ(Run({"describe", "port", "leaf1/0"}), 0) << error_;
  EXPECT_EQ(Run({"get", "ports", "leaf1", "-o", "wide"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("XMIT-GBPS   RCV-GBPS   WAIT   ERRORS   BER"));
  EXPECT_THAT(out_, HasSubstr("48.0        8.00       2.0%   101      1.0e-12"));
}

TEST_F(TelemetryCommandsTest, TheHistoryIsPlottedInAsciiWhereTheLocaleIsNoUtf8) {
  backend_.on_history = [](PortRef, Duration span) {
    telemetry::HistoryAnswer answer;
    answer.known = true;
    answer.step = 30'000;
    const auto ms = static_cast<telemetry::Millis>(
        std::chrono::duration_cast<std::chrono::milliseconds>(span).count());
    for (telemetry::Millis at = 30'000; at <= ms; at += 30'000)
      answer.samples.push_back({at, true, 5e9F, true, 0.5F});
    return answer;
  };
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) unsetenv(name);
  EXPECT_EQ(Run({"history", "leaf1/1"}), 0) << error_;
  EXPECT_THAT(out_, StartsWith("leaf1/1 <-> node1 mlx5_0/1, 80 Gb/s, steps of 30s\n"));
  setenv("LC_ALL", "C.UTF-8", 1);
  EXPECT_EQ(Run({"history", "leaf1/1", "--since", "10m"}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("█"), HasSubstr("10m ago")));
  EXPECT_EQ(Run({"history", "leaf1/1", "--ascii"}), 0) << error_;
  EXPECT_THAT(out_, Not(HasSubstr("█")));
  EXPECT_EQ(Run({"history", "leaf1/1", "-o", "wide"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("40.0        40.0       50.0%"));
  unsetenv("LC_ALL");
  backend_.on_history = nullptr;
  EXPECT_EQ(Run({"history", "leaf1/1"}), 4);
  EXPECT_EQ(Run({"history", "leaf1/99"}), 3);
  EXPECT_EQ(Run({"history"}), 2);
}

TEST_F(TelemetryCommandsTest, InventoryJobAndStatus) {
  EXPECT_EQ(Run({"inventory"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("MCP4Y10-N002   MT2231VB00391   2m       52C    1.5W"));
  EXPECT_EQ(Run({"inventory", "leaf1"}), 0);
  EXPECT_THAT(error_, HasSubstr("No device tells of its cables"));
  EXPECT_EQ(Run({"inventory", "-o", "name"}), 0);
  EXPECT_EQ(out_, "port/node2 mlx5_0/1\n");
  EXPECT_EQ(Run({"job", "node[1-2]"}), 0) << error_;
  EXPECT_THAT(out_, AllOf(StartsWith("2 hosts, 10 ports"), HasSubstr("leaf2/3")));
  EXPECT_EQ(Run({"job", "node9"}), 3);
  EXPECT_EQ(Run({"job"}), 2);
  EXPECT_EQ(Run({"describe", "telemetry", "leaf1"}), 2);
  EXPECT_EQ(Run({"get", "telemetry"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("POLLING"));
  EXPECT_EQ(Run({"describe", "telemetry"}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("10 active: 7 fresh, 1 stale"), HasSubstr("KEYED")));
  EXPECT_EQ(Run({"get", "telemetry", "-o", "custom-columns=STATE:.state,FRESH:.ports_fresh"}), 0);
  EXPECT_THAT(out_, HasSubstr("POLLING   7"));
}

}  // namespace
}  // namespace fabricd::cli
