// SPDX-License-Identifier: Apache-2.0
#include "config/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "config/principal.h"

namespace fabricd::config {
namespace {

Config Unusual() {
  Config config;
  config.fabric = "sim:superpod:sus=1,hosts=2";
  config.listen = {"unix:/a b.sock"};
  config.log.level = LogLevel::kDebug;
  config.sm.m_key = MKey(0x1234567812345678);
  config.sm.m_key_lease_period = std::chrono::seconds(60);
  config.smp.timeout = std::chrono::milliseconds(1500);
  config.topology.rail_pattern = R"re(mlx5_"(\d+)")re";
  config.routing.chain = {"up_down", "min_hop"};
  config.routing.roots = {};
  config.security.admins = {"user:root", "spiffe://cluster/ops"};
  return config;
}

TEST(Settings, YamlIsReadBackToTheSame) {
  for (const Config& config : {Config{}, Unusual()}) {
    const std::string yaml = ToYaml(config, Secrets::kShow);
    const auto read = LoadYaml(yaml, "again", nullptr);
    ASSERT_TRUE(read.ok()) << read.status() << yaml;
    EXPECT_EQ(*read, config);
  }
}

TEST(Settings, SecretsAreMaskedUnlessTheyAreTheDefault) {
  const std::string yaml = ToYaml(Unusual(), Secrets::kMask);
  EXPECT_THAT(yaml, ::testing::HasSubstr("m_key: \"***\""));
  EXPECT_THAT(yaml, ::testing::HasSubstr("sm_key: \"0x0000000000000001\""));
  EXPECT_THAT(yaml, ::testing::Not(::testing::HasSubstr("1234567812345678")));
  for (const Setting& setting : Settings(Unusual()))
    EXPECT_THAT(setting.value, ::testing::Not(::testing::HasSubstr("1234567812345678")));
  EXPECT_EQ(Settings(Unusual()).size(), Settings(Config{}).size());
}

TEST(Settings, ChosenKeysWithComments) {
  const std::string yaml = ToYaml(
      Config{}, Secrets::kShow,
      [](const std::string& path) { return path == "fabric" || path == "sm.priority"; },
      [](const std::string& path) { return path == "fabric" ? "" : "who wins"; });
  EXPECT_EQ(yaml, "fabric: \"umad\"\nsm:\n  # who wins\n  priority: 0\n");
}

TEST(Settings, AReloadKeepsKeysThatNeedARestart) {
  Config wanted = Unusual();
  wanted.sm.priority = 7;
  const Config got = WithoutRestarts(wanted, Config{});
  for (const Change& change : Diff(Config{}, got))
    EXPECT_NE(change.reload, ReloadClass::kRestart) << change.path;
  for (const Change& change : Diff(got, wanted))
    EXPECT_EQ(change.reload, ReloadClass::kRestart) << change.path;
  EXPECT_EQ(got.sm.priority, 7);
  EXPECT_EQ(got.security.admins, wanted.security.admins);
}

TEST(Settings, TheModeNeedsARestart) {
  Config wanted;
  wanted.mode = "observe";
  const std::vector<Change> changes = Diff(Config{}, wanted);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].path, "mode");
  EXPECT_EQ(changes[0].from, "");
  EXPECT_EQ(changes[0].reload, ReloadClass::kRestart);
  EXPECT_EQ(WithoutRestarts(wanted, Config{}).mode, "");
}

TEST(Principal, ReadsAndWrites) {
  for (const char* text : {"user:alice", "group:1001", "dns:head1.example", "cn:prometheus one",
                           "spiffe://cluster/ns/slurm"}) {
    const auto principal = ParsePrincipal(text);
    ASSERT_TRUE(principal) << text;
    EXPECT_EQ(ToText(*principal), text);
  }
  for (const char* text : {"", "alice", "user:", "user: alice", "spiffe://cluster", "spiffe:///x",
                           "spiffe://cluster/", "spiffe://cluster/a b", "USER:alice"})
    EXPECT_FALSE(ParsePrincipal(text)) << text;
}

}  // namespace
}  // namespace fabricd::config
