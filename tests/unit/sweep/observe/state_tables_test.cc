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
  tables_.Compare(port_, kActiveState);
  EXPECT_EQ(devices_.table_trust(node_), TableTrust::kUnknown) << "it may be ahead";
  tables_.Compare(port_, kDownState);
  EXPECT_EQ(devices_.table_trust(node_), TableTrust::kRight);
  tables_.OnDirty(node_);
  EXPECT_FALSE(tables_.NeedsPorts(node_, /*shows_changes=*/false));
}

TEST_F(StateTablesTest, ATableThatHasMissedAReportedChangeIsNotReadAgain) {
  tables_.Note(port_, kActiveState, /*is_change=*/false);
  EXPECT_FALSE(tables_.NeedsPorts(node_, false)) << "nothing was reported";
  tables_.Compare(port_, kDownState);
  EXPECT_TRUE(tables_.MayRead(node_));
  tables_.OnDirty(node_);
  EXPECT_TRUE(tables_.NeedsPorts(node_, false));
  EXPECT_FALSE(tables_.NeedsPorts(node_, true));
  tables_.Compare(port_, kDownState);
  EXPECT_FALSE(tables_.MayRead(node_));
}

}  // namespace
}  // namespace fabricd::sweep
