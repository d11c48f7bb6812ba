// SPDX-License-Identifier: Apache-2.0
#include "telemetry/records.h"

#include <gtest/gtest.h>

#include "tests/support/fabrics.h"

namespace fabricd::telemetry {
namespace {

constexpr Millis kSeconds = 1000;

class RecordsTest : public ::testing::Test {
 protected:
  RecordsTest() {
    testing::FabricMaker maker;
    const size_t leaf = maker.AddSwitch(4);
    maker.Host(leaf);
    fabric_ = maker.Build();
    records_.Fit(*fabric_.snapshot);
    up_ = *fabric_.snapshot->port(port());
    records_.EnterState(port(), up_, true, 10 * kSeconds);
  }
  PortRef port() const { return {fabric_.node[0], PortNum(1)}; }
  // Of a reading at `at`, the one before at `since`.
  void Count(Counter counter, Millis since, Millis at) {
    Outcome outcome;
    outcome.since = since;
    outcome.errors.push_back({counter, 1});
    records_.Enter(port(), outcome, false, at);
  }
  std::vector<bool> AtChange() const {
    std::vector<bool> at_change;
    for (const ErrorEntry& entry : records_.FindDevice(port().node)->errors.entries())
      at_change.push_back(entry.at_change != 0);
    return at_change;
  }

  testing::TestFabric fabric_;
  Records records_{HistoryOptions()};
  fabric::Port up_, down_;
};

TEST_F(RecordsTest, TheFirstReadingOfALinkIsNoChange) {
  EXPECT_EQ(records_.Find(port())->changed_at, 0u);
  EXPECT_EQ(records_.Find(port())->up_since, 10 * kSeconds);
  EXPECT_EQ(records_.Find(port())->peer, (PortRef{fabric_.node[1], PortNum(1)}));
  Count(Counter::kSymbolErrors, 20 * kSeconds, 50 * kSeconds);
  EXPECT_EQ(AtChange(), std::vector{false});
}

TEST_F(RecordsTest, ErrorsOfTheMinuteBeforeALinkGoesDownAreMarked) {
  Count(Counter::kSymbolErrors, 20 * kSeconds, 50 * kSeconds);
  Count(Counter::kSymbolErrors, 200 * kSeconds, 230 * kSeconds);
  records_.EnterState(port(), down_, false, 260 * kSeconds);
  EXPECT_EQ(AtChange(), (std::vector{false, true}));
  EXPECT_EQ(records_.Find(port())->up_since, 0u);
}

TEST_F(RecordsTest, ErrorsThatMayBeOfTheFirstTenMinutesOfALinkAreMarked) {
  records_.EnterState(port(), down_, false, 100 * kSeconds);
  records_.EnterState(port(), up_, false, 200 * kSeconds);
  EXPECT_EQ(records_.Find(port())->up_since, 200 * kSeconds);
  // What a reading brings is of the time since the one before.
  Count(Counter::kSymbolErrors, 230 * kSeconds, 530 * kSeconds);
  Count(Counter::kSymbolErrors, 530 * kSeconds, 830 * kSeconds);
  Count(Counter::kSymbolErrors, 830 * kSeconds, 1130 * kSeconds);
  EXPECT_EQ(AtChange(), (std::vector{true, true, false}));
}

TEST_F(RecordsTest, ALinkDownThatNoSweepSawIsAChange) {
  Count(Counter::kSymbolErrors, 170 * kSeconds, 200 * kSeconds);
  Count(Counter::kLinkDowned, 200 * kSeconds, 230 * kSeconds);
  Count(Counter::kSymbolErrors, 230 * kSeconds, 260 * kSeconds);
  EXPECT_EQ(AtChange(), (std::vector{true, true, true}));
  EXPECT_EQ(records_.Find(port())->changed_at, 230 * kSeconds);
  EXPECT_EQ(records_.Find(port())->up_since, 230 * kSeconds);
}

TEST_F(RecordsTest, ALinkDownThatASweepSawIsThatChange) {
  records_.EnterState(port(), down_, false, 210 * kSeconds);
  records_.EnterState(port(), up_, false, 220 * kSeconds);
  Count(Counter::kLinkDowned, 200 * kSeconds, 230 * kSeconds);
  EXPECT_EQ(records_.Find(port())->changed_at, 220 * kSeconds);
}

TEST_F(RecordsTest, ErrorsOfAnotherLinkAreForgotten) {
  Count(Counter::kSymbolErrors, 20 * kSeconds, 50 * kSeconds);
  records_.ReplaceLink(port(), 100 * kSeconds);
  EXPECT_TRUE(AtChange().empty());
  EXPECT_EQ(records_.Find(port())->up_since, 100 * kSeconds);
}

}  // namespace
}  // namespace fabricd::telemetry
