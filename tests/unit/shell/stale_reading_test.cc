// SPDX-License-Identifier: Apache-2.0
#include "shell/stale_reading.h"

#include <gtest/gtest.h>

#include "tests/unit/shell/table_rows.h"

namespace fabricd::shell {
namespace {

using std::chrono::seconds;
using Rows = sweep::ReaderTables::Rows;

class StaleReadingTest : public testing::Test {
 protected:
  static constexpr uint8_t kSwitches = 2 * StaleReading::kShare;
  static constexpr Guid kMaster{0x17};

  StaleReadingTest() {
    known_.master = kMaster;
    Read(1);
    record_.is_marked = true;
    Confirm(kSwitches, 1);
  }
  // Every route of every table leaves by this port.
  void Read(uint8_t port) {
    Rows rows;
    for (uint8_t i = 1; i <= kSwitches; ++i) rows.emplace(Guid(i), RowTo(port, 128));
    known_.read = std::make_shared<const Rows>(std::move(rows));
  }
  // Of the first `switches`.
  void Confirm(uint8_t switches, uint8_t port) {
    for (uint8_t i = 1; i <= switches; ++i) record_.digests[Guid(i)] = DigestOf(RowTo(port, 128));
  }
  bool Look(Duration at) { return stale_.Look(known_, record_, kMaster, Instant() + at); }

  sweep::ReaderTables known_;
  RecordedTables record_;
  StaleReading stale_;
};

TEST_F(StaleReadingTest, IsOneThatTheRecordDoesNotConfirm) {
  EXPECT_FALSE(Look(seconds(0)));
  Confirm(3, 2);
  EXPECT_TRUE(Look(seconds(1)));
}

TEST_F(StaleReadingTest, IsNotOneThatTheRecordConfirmsForAllButFewSwitches) {
  Confirm(2, 2);
  EXPECT_FALSE(Look(seconds(0)));
}

TEST_F(StaleReadingTest, IsNotOneWithoutARecordOrBeforeTheFirstReadingHasEnded) {
  Confirm(kSwitches, 2);
  record_.is_marked = false;
  EXPECT_FALSE(Look(seconds(0)));
  record_.is_marked = true;
  known_.read = nullptr;
  EXPECT_FALSE(Look(seconds(1)));
}

TEST_F(StaleReadingTest, IsNotOneWhoseChangesAreRecorded) {
  record_.base = 1;
  routing::Row changed = RowTo(1, 128);
  changed.Set(7, 4);
  for (uint8_t i = 1; i <= kSwitches; ++i) {
    record_.digests[Guid(i)] = DigestOf(changed);
    record_.changes[1].switches[Guid(i)] = {{0}, {{7, 1, 4}}};
  }
  EXPECT_FALSE(Look(seconds(0)));
}

TEST_F(StaleReadingTest, IsNotOneWhoseRowsTheNodeHasComputed) {
  Confirm(kSwitches, 2);
  Rows rows;
  for (uint8_t i = 1; i <= kSwitches; ++i) rows.emplace(Guid(i), RowTo(2, 128));
  known_.computed = std::make_shared<const Rows>(std::move(rows));
  EXPECT_FALSE(Look(seconds(0)));
}

// Otherwise a table that stays wrong would be read again and again.
TEST_F(StaleReadingTest, IsFoundOnceAMinuteAtMost) {
  Confirm(kSwitches, 2);
  EXPECT_TRUE(Look(seconds(0)));
  EXPECT_FALSE(Look(seconds(1)));
  Read(3);
  EXPECT_FALSE(Look(seconds(59)));
  EXPECT_TRUE(Look(StaleReading::kBetween));
  Confirm(kSwitches, 3);
  EXPECT_FALSE(Look(2 * StaleReading::kBetween));
}

}  // namespace
}  // namespace fabricd::shell
