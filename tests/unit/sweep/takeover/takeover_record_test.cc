// SPDX-License-Identifier: Apache-2.0
#include "sweep/takeover/takeover_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

StoredRows RowsOf(const TakeoverRecord& record) {
  StoredRows rows;
  for (const auto& [key, value] : TakeoverRows(record)) {
    if (value) rows[key] = *value;
  }
  return rows;
}

TEST(TakeoverRecord, ComesBackFromItsRows) {
  TakeoverRecord record;
  record.sm_ports = {Guid(0x1001), Guid(0xFFFF'0000'0000'0001)};
  record.prefixes = {0xFE80'0000'0000'0000, 0};
  record.lmcs = {0, 7};
  record.protect_bits = {0, 3};
  record.accepted = {"0123456789abcdef"};
  record.outvoted = 1'800'000'000'000;
  record.routing = 0xFFFF'0000'0000'0001;
  const auto loaded = LoadTakeover(RowsOf(record));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(*loaded, record);
  EXPECT_TRUE(loaded->WasMaster());
}

TEST(TakeoverRecord, WithoutRowsThereWasNoMastership) {
  const auto loaded = LoadTakeover({{{"service", "x"}, "y"}});
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(*loaded, TakeoverRecord());
  EXPECT_FALSE(loaded->WasMaster());
  EXPECT_EQ(*LoadTakeover(RowsOf({})), TakeoverRecord());
}

TEST(TakeoverRecord, DamagedRowsAreNamed) {
  const auto loaded = LoadTakeover({{{"takeover", "lmcs"}, "0x1 seven"}});
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(LoadTakeover({{{"takeover", "routing"}, "rail"}}).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST(TakeoverRecord, KeepsTheNewest) {
  std::vector<int> list;
  for (int i = 0; i < 20; ++i) NoteNewest(list, i);
  EXPECT_EQ(list.size(), TakeoverRecord::kMost);
  EXPECT_EQ(list.back(), 19);
  NoteNewest(list, list.front());
  EXPECT_EQ(list.size(), TakeoverRecord::kMost);
  EXPECT_EQ(list.back(), 12);
}

}  // namespace
}  // namespace fabricd::sweep
