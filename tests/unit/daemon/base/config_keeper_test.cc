// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/config_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"

namespace fabricd::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using How = ConfigKeeper::How;
using Apply = ConfigKeeper::Apply;

class ConfigKeeperTest : public testing::Test {
 protected:
  ConfigKeeperTest() : keeper_(config::Config{}, "/etc/x.yaml", Hooks()) {}
  ConfigKeeper::Hooks Hooks() {
    ConfigKeeper::Hooks hooks;
    hooks.load = [this](std::vector<config::Fault>*) { return file_; };
    hooks.apply = [this](const config::Config& wanted, Apply how) {
      applied_.push_back({wanted, how});
      return refusal_;
    };
    hooks.tell = [this](fabric::FabricEvent event) { events_.push_back(std::move(event)); };
    return hooks;
  }
  absl::StatusOr<config::Config> file_ = config::Config{};
  absl::Status refusal_;
  std::vector<std::pair<config::Config, Apply>> applied_;
  std::vector<fabric::FabricEvent> events_;
  ConfigKeeper keeper_;
};

TEST_F(ConfigKeeperTest, LiveKeysNeedNoSweep) {
  file_->log.level = config::LogLevel::kDebug;
  const auto report = keeper_.Reload(How::kAsNeeded, "user:alice", nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->swept);
  ASSERT_EQ(applied_.size(), 1u);
  EXPECT_EQ(applied_[0].second, Apply::kQuiet);
  EXPECT_EQ(keeper_.in_force()->log.level, config::LogLevel::kDebug);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].type, "ConfigReloaded");
  EXPECT_THAT(events_[0].message, HasSubstr("log.level"));
  // The same again changes nothing; a signal sweeps all the same.
  EXPECT_TRUE(keeper_.Reload(How::kAsNeeded, "", nullptr)->changes.empty());
  EXPECT_TRUE(keeper_.Reload(How::kSweepAlways, "", nullptr)->swept);
}

TEST_F(ConfigKeeperTest, KeysThatNeedARestartStayPending) {
  file_->lid.lmc = 2;
  file_->sm.priority = 3;
  auto report = keeper_.Reload(How::kAsNeeded, "", nullptr);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->swept);
  EXPECT_EQ(report->changes.size(), 2u);
  EXPECT_THAT(report->waiting, ElementsAre(Field(&config::Change::path, "lid.lmc")));
  EXPECT_EQ(applied_[0].first.lid.lmc, 0);
  EXPECT_EQ(applied_[0].first.sm.priority, 3);
  file_->sm.priority = 4;
  report = keeper_.Reload(How::kAsNeeded, "", nullptr);
  EXPECT_THAT(report->changes, ElementsAre(Field(&config::Change::path, "sm.priority")));
  EXPECT_THAT(report->waiting, ElementsAre(Field(&config::Change::path, "lid.lmc")));
  EXPECT_EQ(keeper_.accepted()->lid.lmc, 2);
  EXPECT_EQ(keeper_.in_force()->lid.lmc, 0);
}

TEST_F(ConfigKeeperTest, TheNextOneOfTheProcessGoesOnWithTheAcceptedConfiguration) {
  file_->lid.lmc = 2;
  file_->sm.priority = 3;
  ASSERT_TRUE(keeper_.Reload(How::kAsNeeded, "", nullptr).ok());
  const config::Config accepted = *file_;
  file_ = InvalidArgument("x.yaml:1: no");
  ASSERT_FALSE(keeper_.Reload(How::kAsNeeded, "", nullptr).ok());
  ConfigKeeper next(keeper_.kept(), "/etc/x.yaml", Hooks());
  EXPECT_EQ(next.in_force()->sm.priority, 3);
  EXPECT_EQ(next.in_force()->lid.lmc, 0);
  EXPECT_EQ(next.accepted()->lid.lmc, 2);
  EXPECT_TRUE(next.last_refused());
  // It waits for a start of the process still.
  file_ = accepted;
  const auto report = next.Reload(How::kAsNeeded, "", nullptr);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->changes.empty());
  EXPECT_THAT(report->waiting, ElementsAre(Field(&config::Change::path, "lid.lmc")));
}

TEST_F(ConfigKeeperTest, ADryRunChangesNothing) {
  file_->sm.priority = 3;
  const auto report = keeper_.Reload(How::kDryRun, "", nullptr);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->changes.size(), 1u);
  EXPECT_EQ(applied_[0].second, Apply::kJudge);
  EXPECT_EQ(keeper_.in_force()->sm.priority, 0);
  EXPECT_TRUE(events_.empty());
}

TEST_F(ConfigKeeperTest, ARefusedReloadKeepsTheConfiguration) {
  file_->sm.priority = 3;
  refusal_ = NotFound("/etc/roots: cannot be read");
  EXPECT_EQ(keeper_.Reload(How::kAsNeeded, "", nullptr).status().code(),
            absl::StatusCode::kNotFound);
  file_ = InvalidArgument("x.yaml:1: no");
  EXPECT_FALSE(keeper_.Reload(How::kAsNeeded, "", nullptr).ok());
  EXPECT_TRUE(keeper_.last_refused());
  EXPECT_EQ(keeper_.in_force()->sm.priority, 0);
  EXPECT_EQ(keeper_.accepted()->sm.priority, 0);
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_EQ(events_[1].type, "ConfigRefused");
  EXPECT_THAT(events_[1].message, HasSubstr("x.yaml:1: no"));
  file_ = config::Config{};
  refusal_ = absl::OkStatus();
  EXPECT_TRUE(keeper_.Reload(How::kAsNeeded, "", nullptr).ok());
  EXPECT_FALSE(keeper_.last_refused());
}

TEST_F(ConfigKeeperTest, SecretsAreMasked) {
  file_->sm.m_key = MKey(0x1234567812345678);
  const auto report = keeper_.Reload(How::kAsNeeded, "", nullptr);
  ASSERT_EQ(report->changes.size(), 1u);
  EXPECT_EQ(report->changes[0].to, "***");
  EXPECT_EQ(keeper_.accepted()->sm.m_key, MKey(0x1234567812345678));
}

TEST(ConfigKeeper, WithoutAFileThereIsNothingToReload) {
  ConfigKeeper keeper(config::Config{}, "", {});
  EXPECT_EQ(keeper.Reload(How::kAsNeeded, "", nullptr).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace fabricd::daemon
