// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/progress_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shell/core_inputs.h"
#include "store/memory_store.h"

namespace fabricd::daemon {
namespace {

using sweep::Phase;
using ::testing::SizeIs;

TEST(LoadOfTest, ACoreAtRestIsNotBusy) {
  EXPECT_EQ(LoadOf(Phase::kIdle, 0, false), telemetry::CoreLoad());
}

TEST(LoadOfTest, ARerouteIsBusyAndAPeriodicSweepIsNot) {
  for (const Phase phase : {Phase::kSurveying, Phase::kRouting, Phase::kProgramming,
                            Phase::kAssigningLids, Phase::kBringingUp})
    EXPECT_TRUE(LoadOf(phase, 1, false).busy) << sweep::PhaseName(phase);
  EXPECT_FALSE(LoadOf(Phase::kDiscovering, 1, false).busy);
  EXPECT_TRUE(LoadOf(Phase::kDiscovering, 1, false).smps);
}

TEST(LoadOfTest, ManySmpsOrABusySaMakeItBusy) {
  EXPECT_TRUE(LoadOf(Phase::kDiscovering, 1000, false).busy);
  EXPECT_TRUE(LoadOf(Phase::kIdle, 0, true).busy);
}

TEST(LoadOfTest, OnlyLidsAndTablesAreWrites) {
  EXPECT_TRUE(LoadOf(Phase::kAssigningLids, 1, false).writing);
  EXPECT_TRUE(LoadOf(Phase::kProgramming, 1, false).writing);
  EXPECT_FALSE(LoadOf(Phase::kRouting, 1, false).writing);
}

class ProgressReporterTest : public ::testing::Test {
 protected:
  static std::unique_ptr<EventLog> OpenLog(store::MemoryStore& store) {
    const PostToStore full = [](const auto&) { return false; };
    return *EventLog::Open(store, full, {store, full}, {});
  }
  ProgressReporter::Links Links() {
    return {publisher_, [this] { return sa_is_busy_; },
            [this](const telemetry::CoreLoad& load) { loads_.push_back(load); }};
  }
  void PublishUp() {
    sweep::FabricView view = *sweep::EmptyView();
    view.subnet_up = true;
    view.sweeps_done = 1;
    publisher_.OnPublished(std::make_shared<const sweep::FabricView>(view), {}, {});
  }

  store::MemoryStore store_;
  CommandPort commands_;
  std::unique_ptr<EventLog> events_ = OpenLog(store_);
  ViewPublisher publisher_{commands_, *events_, [](const auto&) {}, ""};
  std::unique_ptr<sweep::Core> core_ = shell::CoreInputs().MakeCore();
  std::vector<telemetry::CoreLoad> loads_;
  bool sa_is_busy_ = false;
};

TEST_F(ProgressReporterTest, TheLoadIsReportedWhenItChanges) {
  ProgressReporter reporter(Links(), /*once=*/false);
  reporter.Report(*core_);
  EXPECT_THAT(loads_, SizeIs(0));
  sa_is_busy_ = true;
  reporter.Report(*core_);
  reporter.Report(*core_);
  ASSERT_THAT(loads_, SizeIs(1));
  EXPECT_TRUE(loads_[0].busy);
}

TEST_F(ProgressReporterTest, ADaemonThatStaysHasNoEnd) {
  ProgressReporter reporter(Links(), /*once=*/false);
  PublishUp();
  EXPECT_EQ(reporter.FindEnd(*core_), std::nullopt);
}

TEST_F(ProgressReporterTest, OnceEndsWithZeroWhenTheSubnetIsUp) {
  ProgressReporter reporter(Links(), /*once=*/true);
  EXPECT_EQ(reporter.FindEnd(*core_), std::nullopt);
  PublishUp();
  EXPECT_EQ(reporter.FindEnd(*core_), 0);
}

}  // namespace
}  // namespace fabricd::daemon
