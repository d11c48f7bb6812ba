// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/state_tables.h"

#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

constexpr uint8_t kDownState = 1, kActiveState = 4;
using TableTrust = DeviceTable::TableTrust;

class StateTablesTest : public testing::Test {
 protected:
  StateTablesTest() { devices_.SetPath(node_, {1}); }

  const NodeIndex node_{7};
  const PortRef port_{node_, PortNum(3)};
  SmOptions options_;
  DeviceTable devices_{options_};
  StateTables tables_{devices_};
};

TEST_F(StateTablesTest, AChangeThatPortInfoConfirmsMakesATableTrusted) {
  tables_.Note(port_, kDownState, /*is_change=*/true);
  tables_.OnPortInfo(port_, kActiveState, kActiveState);
  EXPECT_EQ(devices_.table_trust(node_), TableTrust::kUnknown) << "it may be ahead";
  tables_.OnPortInfo(port_, kActiveState, kDownState);
  EXPECT_EQ(devices_.table_trust(node_), TableTrust::kRight);
  tables_.OnDirty(node_);
  EXPECT_FALSE(tables_.NeedsPorts(node_, /*shows_changes=*/false));
}

TEST_F(StateTablesTest, ATableThatHasMissedAReportedChangeIsNotReadAgain) {
  tables_.Note(port_, kActiveState, /*is_change=*/false);
  EXPECT_FALSE(tables_.NeedsPorts(node_, false)) << "nothing was reported";
  tables_.OnPortInfo(port_, kActiveState, kDownState);
  EXPECT_TRUE(tables_.MayRead(node_));
  tables_.OnDirty(node_);
  EXPECT_TRUE(tables_.NeedsPorts(node_, false));
  EXPECT_FALSE(tables_.NeedsPorts(node_, true));
  tables_.OnPortInfo(port_, kActiveState, kDownState);
  EXPECT_FALSE(tables_.MayRead(node_));
}

// The neighbour has reported the change first, and PortInfo of this end was read because of that.
TEST_F(StateTablesTest, AChangeThatPortInfoHasShownBeforeMakesATableTrustedToo) {
  tables_.OnPortInfo(port_, kActiveState, kDownState);
  const auto change = devices_.TakeSeenChange(node_);
  EXPECT_FALSE(devices_.TakeSeenChange(node_));
  const PortRef other{node_, PortNum(4)};
  EXPECT_FALSE(tables_.HasShown(other, kDownState, kDownState, change));
  EXPECT_FALSE(tables_.HasShown(port_, kDownState, kDownState, std::nullopt));
  EXPECT_FALSE(tables_.HasShown(port_, kDownState, kActiveState, change)) << "it is late";
  EXPECT_FALSE(tables_.HasShown(port_, kActiveState, kActiveState, change)) << "it is up again";
  EXPECT_EQ(devices_.table_trust(node_), TableTrust::kUnknown);
  EXPECT_TRUE(tables_.HasShown(port_, kDownState, kDownState, change));
  EXPECT_EQ(devices_.table_trust(node_), TableTrust::kRight);
}

}  // namespace
}  // namespace fabricd::sweep
