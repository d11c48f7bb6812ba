// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"
#include "config/exclusion.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "config/mode.h"

namespace fabricd::config {

void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.line << " " << fault.path << ": " << fault.message;
}

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

auto IsFault(const std::string& path, int line, const std::string& message_part) {
  return testing::AllOf(testing::Field(&Fault::path, path), testing::Field(&Fault::line, line),
                        testing::Field(&Fault::message, HasSubstr(message_part)));
}

std::vector<Fault> FaultsOf(const std::string& text) {
  std::vector<Fault> faults;
  const absl::StatusOr<Config> config = LoadYaml(text, "test.yaml", &faults);
  EXPECT_EQ(config.ok(), faults.empty());
  if (!config.ok()) {
    EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  }
  return faults;
}

Config Accepted(const std::string& text) {
  const absl::StatusOr<Config> config = LoadYaml(text, "test.yaml", nullptr);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : Config{};
}

TEST(LoadYaml, NothingIsTheDefaults) {
  EXPECT_EQ(Accepted(""), Config{});
  EXPECT_EQ(Accepted("# only a comment\n"), Config{});
  EXPECT_EQ(Accepted("sm:\n  # priority: 3\nlink:\n"), Config{});
}

TEST(LoadYaml, ReadsEveryType) {
  const Config config = Accepted(R"(
fabric: "sim:superpod"
listen: [unix:/tmp/a.sock, "[::1]:7443", localhost:0]
log: {level: warning}
sm:
  priority: 15
  m_key: 0xDEADbeef00000001
  m_key_lease_period: 60s
  m_key_protect: 0x2
smp:
  timeout: 1.5s
security:
  tls_cert: /etc/fabricd/tls/cert.pem
  tls_key: /etc/fabricd/tls/key.pem
  tls_ca: /etc/fabricd/tls/ca.pem
  viewers: ["dns:prometheus.example", "spiffe://cluster/ns/monitoring"]
sweep:
  light_interval: 200ms
  heavy_interval: 20m
  on_trap: false
routing:
  roots: []
  chain: [up_down]
)");
  EXPECT_EQ(config.fabric, "sim:superpod");
  EXPECT_THAT(config.listen, ElementsAre("unix:/tmp/a.sock", "[::1]:7443", "localhost:0"));
  EXPECT_EQ(config.log.level, LogLevel::kWarning);
  EXPECT_EQ(config.sm.priority, 15);
  EXPECT_EQ(config.sm.m_key, MKey(0xDEADBEEF00000001u));
  EXPECT_EQ(config.sm.m_key_lease_period, seconds(60));
  EXPECT_EQ(config.sm.m_key_protect, 2);
  EXPECT_EQ(config.smp.timeout, milliseconds(1500));
  EXPECT_EQ(config.sweep.light_interval, milliseconds(200));
  EXPECT_EQ(config.sweep.heavy_interval, std::chrono::minutes(20));
  EXPECT_FALSE(config.sweep.on_trap);
  EXPECT_THAT(config.routing.chain, ElementsAre("up_down"));
  // What was not written keeps its default.
  EXPECT_EQ(config.sm.sm_key, SmKey(1));
  EXPECT_EQ(config.link, Link{});
}

TEST(LoadYaml, AStoreInEtcdNeedsItsAddresses) {
  const Config config = Accepted(R"(
store: etcd
etcd:
  endpoints: ["head1:2379", "[::1]:2379"]
  prefix: /fabricd/ib0/
  tls_ca: /etc/ca.pem
  tls_cert: /etc/a.pem
  tls_key: /etc/a.key
  user: fabricd
  password_file: /etc/password
  advertise: head1:7471
  lease: 10s
)");
  EXPECT_EQ(config.etcd.endpoints.size(), 2u);
  EXPECT_EQ(config.etcd.lease, seconds(10));
  EXPECT_THAT(FaultsOf("store: etcd\n"),
              ElementsAre(IsFault("etcd.endpoints", 0, "is needed with `store: etcd`")));
  EXPECT_THAT(FaultsOf("store: raft\n"), ElementsAre(IsFault("store", 1, "sqlite or etcd")));
  EXPECT_THAT(
      FaultsOf("etcd:\n  endpoints: [\"http://head1:2379\"]\n  prefix: /fabricd\n"
               "  tls_cert: a.pem\n  user: fabricd\n  lease: 2500ms\n  advertise: head1\n"),
      testing::UnorderedElementsAre(IsFault("etcd.endpoints[0]", 2, "expected HOST:PORT"),
                                    IsFault("etcd.prefix", 3, "ends with a slash"),
                                    IsFault("etcd.tls_cert", 4, "expected an absolute path"),
                                    IsFault("etcd.password_file", 1, "is needed with etcd.user"),
                                    IsFault("etcd.lease", 6, "expected whole seconds"),
                                    IsFault("etcd.advertise", 7, "expected HOST:PORT or")));
}

TEST(LoadYaml, ThreeFaultsGiveThreeLines) {
  const std::string text =
      "sm:\n"
      "  priority: 16\n"
      "sweep:\n"
      "  light_intervall: 10s\n"
      "smp:\n"
      "  timeout: soon\n";
  EXPECT_THAT(
      FaultsOf(text),
      ElementsAre(IsFault("sm.priority", 2, "expected 0-15, got 16"),
                  IsFault("sweep.light_intervall", 4, "did you mean 'light_interval'?"),
                  IsFault("smp.timeout", 6, "duration such as 10s, 200ms or 0, got 'soon'")));
  EXPECT_EQ(Message(LoadYaml(text, "f.yaml", nullptr).status()),
            "f.yaml:2: sm.priority: expected 0-15, got 16\n"
            "f.yaml:4: sweep.light_intervall: unknown key; did you mean 'light_interval'?\n"
            "f.yaml:6: smp.timeout: expected a duration such as 10s, 200ms or 0, got 'soon'");
}

TEST(LoadYaml, ReportsFaultsOfEveryPassInFileOrder) {
  EXPECT_THAT(
      FaultsOf("routing:\n"
               "  chain: [up_down, magic]\n"
               "  lanes_max: 16\n"
               "  balance: best\n"
               "nonsense: 1\n"
               "fabric: ethernet\n"),
      ElementsAre(IsFault("routing.chain[1]", 2, "unknown engine 'magic'"),
                  IsFault("routing.lanes_max", 3, "expected 1-15"),
                  IsFault("routing.balance", 4, "expected all-to-all or shift"),
                  IsFault("nonsense", 5, "unknown key"), IsFault("fabric", 6, "got 'ethernet'")));
}

TEST(LoadYaml, RepeatedKeys) {
  EXPECT_THAT(FaultsOf("sm:\n  priority: 1\n  priority: 2\nlid: {lmc: 1}\nsm: {}\n"),
              ElementsAre(IsFault("sm.priority", 3, "repeated key, first on line 2"),
                          IsFault("sm", 5, "repeated key, first on line 1")));
}

TEST(LoadYaml, WrongKinds) {
  EXPECT_THAT(FaultsOf("sm: 5\n"
                       "listen: unix:/x\n"
                       "log:\n"
                       "  level: [info]\n"
                       "sweep:\n"
                       "  on_trap: yes\n"
                       "  light_interval:\n"
                       "routing:\n"
                       "  roots: [{a: b}]\n"),
              ElementsAre(IsFault("sm", 1, "expected a section, got a value"),
                          IsFault("listen", 2, "expected a list, got a value"),
                          IsFault("log.level", 4, "expected a value, got a list"),
                          IsFault("sweep.on_trap", 6, "expected true or false, got 'yes'"),
                          IsFault("sweep.light_interval", 7, "no value"),
                          IsFault("routing.roots[0]", 9, "expected text, got a section")));
}

TEST(LoadYaml, Numbers) {
  EXPECT_THAT(FaultsOf("lid:\n  lmc: 8\n"), ElementsAre(IsFault("lid.lmc", 2, "expected 0-7")));
  EXPECT_THAT(FaultsOf("lid:\n  lmc: -1\n"),
              ElementsAre(IsFault("lid.lmc", 2, "whole number from 0, got '-1'")));
  EXPECT_THAT(FaultsOf("lid:\n  lmc: 1.0\n"), ElementsAre(IsFault("lid.lmc", 2, "whole number")));
  EXPECT_THAT(FaultsOf("lid:\n  lmc: 4294967297\n"),
              ElementsAre(IsFault("lid.lmc", 2, "whole number")));
  EXPECT_EQ(Accepted("lid: {lmc: 0x7}").lid.lmc, 7);
}

TEST(LoadYaml, HexKeys) {
  EXPECT_EQ(Accepted("sm: {sm_key: '0xffffffffffffffff'}").sm.sm_key, SmKey(~uint64_t{0}));
  EXPECT_EQ(Accepted("sm: {subnet_prefix: 0xfec0000000000000}").sm.subnet_prefix,
            0xFEC0000000000000u);
  for (const char* bad : {"1", "0x", "0x10000000000000000", "0xg", "-0x1", "'0x1 '"}) {
    EXPECT_THAT(FaultsOf(fmt::format("sm:\n  m_key: {}\n", bad)),
                ElementsAre(IsFault("sm.m_key", 2, "hexadecimal digits after 0x")))
        << bad;
  }
}

TEST(LoadYaml, Durations) {
  const auto polling = [](const std::string& text) {
    return Accepted("sm: {polling_timeout: " + text + "}").sm.polling_timeout;
  };
  EXPECT_EQ(polling("10s"), seconds(10));
  EXPECT_EQ(polling("200ms"), milliseconds(200));
  EXPECT_EQ(polling("1m"), seconds(60));
  EXPECT_EQ(polling("1h"), seconds(3600));
  EXPECT_EQ(polling("0.25s"), milliseconds(250));
  EXPECT_EQ(polling("150000us"), milliseconds(150));
  for (const char* bad : {"10", "s", "10 s", "-1s", "1e3s", "infs", "nans", "10sec", "''"}) {
    EXPECT_THAT(FaultsOf(fmt::format("sm:\n  polling_timeout: {}\n", bad)),
                ElementsAre(IsFault("sm.polling_timeout", 2, "expected a duration")))
        << bad;
  }
  EXPECT_THAT(FaultsOf("sm: {polling_timeout: 0}"),
              ElementsAre(IsFault("sm.polling_timeout", 1, "expected 100ms to 3600s, got 0s")));
  EXPECT_THAT(FaultsOf("sweep: {light_interval: 1ms}"),
              ElementsAre(IsFault("sweep.light_interval", 1, "expected 0 or 100ms to")));
  EXPECT_EQ(Accepted("sweep: {light_interval: 0}").sweep.light_interval, Duration::zero());
}

TEST(LoadYaml, ContradictionsNameTheKeyThatLoses) {
  EXPECT_THAT(FaultsOf("sm:\n  m_key_protect: 1\n  m_key_lease_period: 15s\n"),
              ElementsAre(IsFault("sm.m_key_protect", 2, "needs a sm.m_key"),
                          IsFault("sm.m_key_lease_period", 3, "needs a sm.m_key")));
  EXPECT_THAT(FaultsOf("sm:\n  m_key: 0x1\n  m_key_lease_period: 1500ms\n"),
              ElementsAre(IsFault("sm.m_key_lease_period", 3, "whole seconds")));
  EXPECT_THAT(FaultsOf("smp:\n  window: 8\n"),
              ElementsAre(IsFault("smp.window_initial", 1, "16 is more than smp.window, 8")));
  EXPECT_THAT(FaultsOf("routing:\n  lanes_max: 3\nlink:\n  max_operational_vls: 2\n"),
              ElementsAre(IsFault("routing.lanes_max", 2, "which is 2 lanes")));
  EXPECT_THAT(FaultsOf("routing:\n  roots: [a]\n  roots_file: /r\n"),
              ElementsAre(IsFault("routing.roots_file", 3, "together with routing.roots")));
  EXPECT_THAT(FaultsOf("routing: {chain: [min_hop, min_hop]}\nlisten: []\n"),
              ElementsAre(IsFault("routing.chain[1]", 1, "listed twice"),
                          IsFault("listen", 2, "at least one address")));
  // A refused value is not judged a second time through its default.
  EXPECT_THAT(FaultsOf("smp:\n  window: x\n  window_initial: 200\n"),
              ElementsAre(IsFault("smp.window", 2, "whole number")));
}

TEST(LoadYaml, Addresses) {
  for (const char* bad : {"unix:", "unix:relative", "7443", "host:", ":7443", "host:65536",
                          "::1:7443", "[]:1", "[[]:1", "http://host:1", "host:1x"}) {
    EXPECT_THAT(FaultsOf(fmt::format("listen: ['{}']", bad)),
                ElementsAre(IsFault("listen[0]", 1, "expected unix:/PATH or HOST:PORT")))
        << bad;
  }
  EXPECT_THAT(FaultsOf("http_listen: unix:/x\nstate_dir: var\n"),
              ElementsAre(IsFault("http_listen", 1, "expected HOST:PORT"),
                          IsFault("state_dir", 2, "absolute path")));
  EXPECT_EQ(Accepted("fabric: umad:mlx5_0:1").fabric, "umad:mlx5_0:1");
  for (const char* bad : {"umad:", "sim:", "sim", "umadx", ""}) {
    EXPECT_THAT(FaultsOf(fmt::format("fabric: '{}'", bad)),
                ElementsAre(IsFault("fabric", 1, "expected umad")))
        << bad;
  }
}

TEST(LoadYaml, ReadsOptionsOfMetrics) {
  EXPECT_EQ(Accepted("telemetry: {metrics_counters: main}\n").telemetry.metrics_counters, "main");
  EXPECT_THAT(FaultsOf("telemetry:\n  metrics: hosts\n  metrics_counters: some\n"),
              ElementsAre(IsFault("telemetry.metrics", 2, "expected all, switches or none"),
                          IsFault("telemetry.metrics_counters", 3, "expected all or main")));
}

TEST(LoadYaml, Modes) {
  EXPECT_EQ(Accepted("").mode, "");
  for (const char* word : {"observe", "standby", "manage"})
    EXPECT_EQ(Accepted(fmt::format("fabric: umad\nmode: {}\n", word)).mode, word);
  for (const char* bad : {"master", "Manage", "manage "})
    EXPECT_THAT(FaultsOf(fmt::format("mode: '{}'\n", bad)),
                ElementsAre(IsFault(
                    "mode", 1, fmt::format("expected observe, standby or manage, got '{}'", bad))));
  EXPECT_THAT(FaultsOf("mode: [manage]\n"),
              ElementsAre(IsFault("mode", 1, "expected a value, got a list")));
}

TEST(LoadYaml, TheModeOfTheCommandLineWins) {
  const auto mode = [](const std::string& text, const std::string& option) {
    const absl::StatusOr<Config> config = LoadYaml(text, "f.yaml", nullptr, option);
    return config.ok() ? config->mode : Message(config.status());
  };
  EXPECT_EQ(mode("", "manage"), "manage");
  EXPECT_EQ(mode("mode: observe\n", "manage"), "manage");
  EXPECT_EQ(mode("mode: observe\n", ""), "observe");
  EXPECT_EQ(mode("mode: manage\n", "standby"), "standby");
  // A typing error in the file stays one.
  EXPECT_THAT(mode("mode: mange\n", "manage"), HasSubstr("f.yaml:1: mode: expected observe"));
}

TEST(ChooseMode, AWordDecidesOnAnyFabric) {
  for (const bool was_master : {false, true})
    for (const char* fabric : {"umad", "sim:superpod"}) {
      EXPECT_EQ(ChooseMode("observe", fabric, was_master).mode, SmMode::kObserve);
      EXPECT_EQ(ChooseMode("standby", fabric, was_master).mode, SmMode::kStandby);
      EXPECT_EQ(ChooseMode("manage", fabric, was_master).mode, SmMode::kManage);
      EXPECT_EQ(ChooseMode("manage", fabric, was_master).warning, "");
    }
}

TEST(ChooseMode, WithoutAWordARealFabricIsObservedAndASimulatedOneManaged) {
  EXPECT_EQ(ChooseMode("", "umad", false).mode, SmMode::kObserve);
  EXPECT_EQ(ChooseMode("", "umad:mlx5_0:1", false).mode, SmMode::kObserve);
  EXPECT_EQ(ChooseMode("", "sim:superpod:sus=1", false).mode, SmMode::kManage);
}

TEST(ChooseMode, AnUpgradeWithoutAWordGoesOnManagingAndWarns) {
  const ModeChoice choice = ChooseMode("", "umad", true);
  EXPECT_EQ(choice.mode, SmMode::kManage);
  EXPECT_THAT(choice.warning, HasSubstr("Write 'mode: manage'"));
}

TEST(LoadYaml, Patterns) {
  EXPECT_EQ(Accepted("topology: {rail_pattern: 'mlx5_([0-9]+)$'}").topology.rail_pattern,
            "mlx5_([0-9]+)$");
  EXPECT_THAT(FaultsOf("topology:\n  rail_pattern: '('\n  host_pattern: 'a'\n"),
              ElementsAre(IsFault("topology.rail_pattern", 2, "no regular expression"),
                          IsFault("topology.host_pattern", 3, "one group in parentheses, got 0")));
}

TEST(LoadYaml, Exclusions) {
  EXPECT_EQ(ParseExclusion("0x2c9"), (Exclusion{Guid(0x2c9), std::nullopt}));
  EXPECT_EQ(ParseExclusion("0x2c9 until 1970-01-02"), (Exclusion{Guid(0x2c9), 86'400'000}));
  EXPECT_EQ(ParseExclusion("0x2c9 until 1970-01-01T01:00:00+01:00"), (Exclusion{Guid(0x2c9), 0}));
  for (const char* bad : {"", "2c9", "0x", "0x0", "0x2c9 ", "0x2c9 until", "0x2c9 until tomorrow",
                          "0x2c9 until 2026-13-01", "0x12345678901234567"})
    EXPECT_THAT(FaultsOf(fmt::format("conditions:\n  exclude: ['0x1', '{}']\n", bad)),
                ElementsAre(IsFault("conditions.exclude[1]", 2, "expected a GUID")))
        << bad;
}

TEST(LoadYaml, BrokenYaml) {
  EXPECT_THAT(FaultsOf("sm:\n  priority: [1\n"), ElementsAre(IsFault("", 3, "not YAML")));
  EXPECT_THAT(FaultsOf("sm: *nowhere\n"), ElementsAre(IsFault("", 1, "not YAML")));
  EXPECT_THAT(FaultsOf("- a\n- b\n"), ElementsAre(IsFault("", 1, "expected a section")));
  EXPECT_THAT(FaultsOf("fabric: umad\n---\nfabric: umad\n"),
              ElementsAre(IsFault("", 2, "more than one YAML document")));
  EXPECT_THAT(FaultsOf("fabric: umad\n...\nfabric: umad\n"),
              ElementsAre(IsFault("", 3, "more than one YAML document")));
  EXPECT_THAT(FaultsOf("fabric: umad\nlid:\n  lmc:\x04 8\n"),
              ElementsAre(IsFault("", 3, "not text: byte 0x04")));
  EXPECT_EQ(Accepted("%YAML 1.2\n# first\n--- # begins\nlid: {lmc: 1}\n...\n# end\n").lid.lmc, 1);
  EXPECT_EQ(Accepted("topology:\n  rail_pattern: |-\n    --- (.)\n").topology.rail_pattern,
            "--- (.)");
  EXPECT_THAT(FaultsOf("? [a]\n: b\n"), ElementsAre(IsFault("", 1, "a key must be plain text")));
  EXPECT_FALSE(FaultsOf(std::string(100000, '[')).empty());
}

TEST(LoadFile, ReportsWhyAFileCannotBeRead) {
  std::vector<Fault> faults;
  EXPECT_EQ(LoadFile("/nonexistent/fabricd.yaml", &faults).status().code(),
            absl::StatusCode::kNotFound);
  const absl::Status is_directory = LoadFile("/", &faults).status();
  EXPECT_EQ(is_directory.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Message(is_directory), "/: Is a directory");
}

TEST(LoadFile, ReadsAFile) {
  const std::string path = testing::TempDir() + "/load_file_test.yaml";
  std::ofstream(path) << "sm: {priority: 9}\n";
  const absl::StatusOr<Config> config = LoadFile(path, nullptr);
  std::remove(path.c_str());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->sm.priority, 9);
}

TEST(LoadYaml, ReportsFaultsOfTlsAndRoles) {
  EXPECT_THAT(FaultsOf("listen: [\"0.0.0.0:7443\"]\n"),
              ElementsAre(IsFault("security.tls_cert", 0, "needed to listen on HOST:PORT"),
                          IsFault("security.tls_key", 0, "needed"),
                          IsFault("security.tls_ca", 0, "needed")));
  EXPECT_THAT(FaultsOf("security:\n  tls_ca: ca.pem\n  admins: [root]\n  viewers:\n"
                       "  - spiffe://cluster\n  - \"dns:\"\n  - group:ops\n"),
              ElementsAre(IsFault("security.tls_ca", 2, "absolute"),
                          IsFault("security.admins[0]", 3, "expected user:NAME"),
                          IsFault("security.viewers[0]", 5, "spiffe://DOMAIN/PATH"),
                          IsFault("security.viewers[1]", 6, "dns:NAME")));
}

TEST(LoadYaml, FaultsContainNoKeys) {
  const std::vector<Fault> faults = FaultsOf("sm: {m_key: 0123456789abcdef}\n");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_THAT(faults[0].message, Not(HasSubstr("0123456789abcdef")));
}

TEST(Diff, NamesChangesAndWhenTheyTakeEffect) {
  const Config before;
  EXPECT_TRUE(Diff(before, before).empty());
  Config after;
  after.sm.priority = 5;
  after.sm.m_key = MKey(0x10);
  after.link.hoq_life = 20;
  after.routing.chain = {"min_hop"};
  const std::vector<Change> changes = Diff(before, after);
  ASSERT_EQ(changes.size(), 4u);
  EXPECT_EQ(changes[0].path, "sm.priority");
  EXPECT_EQ(changes[0].from, "0");
  EXPECT_EQ(changes[0].to, "5");
  EXPECT_EQ(changes[0].reload, ReloadClass::kResweep);
  EXPECT_EQ(changes[1].path, "sm.m_key");
  EXPECT_EQ(changes[1].to, "***");  // Goes to logs and over the API.
  EXPECT_EQ(changes[1].reload, ReloadClass::kRestart);
  EXPECT_EQ(changes[2].path, "link.hoq_life");
  EXPECT_EQ(changes[2].reload, ReloadClass::kResweep);
  EXPECT_EQ(changes[3].to, "[min_hop]");
}

}  // namespace
}  // namespace fabricd::config
