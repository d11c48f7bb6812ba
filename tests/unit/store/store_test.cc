// SPDX-License-Identifier: Apache-2.0
// What every Store keeps.
#include "store/store.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "tests/unit/store/store_kinds.h"

namespace fabricd::store {

void PrintTo(const LidRecord& record, std::ostream* out) {
  *out << fmt::format("{{{} {}+{} {}}}", record.port_guid, record.base_lid, record.lmc,
                      record.last_seen);
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

LidRecord Record(uint64_t guid, uint16_t lid, uint8_t lmc = 0, int64_t last_seen = 0) {
  return LidRecord{Guid(guid), Lid(lid), lmc, last_seen};
}

class StoreTest : public StoreContract {
 protected:
  std::vector<LidRecord> Lids() {
    absl::StatusOr<std::vector<LidRecord>> lids = store_->LoadLids();
    EXPECT_TRUE(lids.ok()) << lids.status();
    return lids.ok() ? *lids : std::vector<LidRecord>{};
  }
  absl::StatusCode Put(const std::vector<LidRecord>& records) {
    return store_->PutLids(records).code();
  }
};

TEST_P(StoreTest, BeginsEmpty) { EXPECT_THAT(Lids(), IsEmpty()); }

TEST_P(StoreTest, ReturnsStoredRecordsInOrderOfGuids) {
  // The highest bit set: GUIDs are unsigned.
  const LidRecord high = Record(0xF000000000000001, 1, 0, 1'700'000'000);
  const LidRecord low = Record(0x2, 8, 3, -5);
  ASSERT_EQ(Put({high, low}), absl::StatusCode::kOk);
  EXPECT_THAT(Lids(), ElementsAre(low, high));
}

TEST_P(StoreTest, PutReplaces) {
  ASSERT_EQ(Put({Record(1, 10), Record(2, 11)}), absl::StatusCode::kOk);
  ASSERT_EQ(Put({Record(2, 20, 2, 7)}), absl::StatusCode::kOk);
  EXPECT_THAT(Lids(), ElementsAre(Record(1, 10), Record(2, 20, 2, 7)));
  ASSERT_EQ(Put({}), absl::StatusCode::kOk);
  EXPECT_EQ(Lids().size(), 2u);
}

TEST_P(StoreTest, TwoPortsMaySwapTheirLidsInOneBatch) {
  ASSERT_EQ(Put({Record(1, 10), Record(2, 11)}), absl::StatusCode::kOk);
  ASSERT_EQ(Put({Record(1, 11), Record(2, 10)}), absl::StatusCode::kOk);
  EXPECT_THAT(Lids(), ElementsAre(Record(1, 11), Record(2, 10)));
}

TEST_P(StoreTest, ABatchWithOneBadRecordChangesNothing) {
  ASSERT_EQ(Put({Record(1, 4, 2)}), absl::StatusCode::kOk);
  using enum absl::StatusCode;
  EXPECT_EQ(Put({Record(2, 9), Record(0, 10)}), kInvalidArgument);      // No GUID.
  EXPECT_EQ(Put({Record(2, 9), Record(3, 0)}), kInvalidArgument);       // No LID.
  EXPECT_EQ(Put({Record(2, 9), Record(3, 0xC000)}), kInvalidArgument);  // Multicast.
  EXPECT_EQ(Put({Record(2, 9), Record(3, 10, 2)}), kInvalidArgument);   // Not aligned.
  EXPECT_EQ(Put({Record(2, 9), Record(3, 256, 8)}), kInvalidArgument);  // LMC is 3 bits.
  EXPECT_EQ(Put({Record(2, 9), Record(3, 9)}), kAlreadyExists);         // In the batch.
  EXPECT_EQ(Put({Record(2, 9), Record(3, 7)}), kAlreadyExists);         // Within 4-7 of port 1.
  EXPECT_THAT(Lids(), ElementsAre(Record(1, 4, 2)));
  EXPECT_EQ(Put({Record(2, 9), Record(3, 0xBFFF), Record(4, 8)}), kOk);
  EXPECT_EQ(Lids().size(), 4u);
}

TEST_P(StoreTest, FindsTheOneSharedLidAmongMany) {
  ASSERT_EQ(Put({Record(1, 8, 3), Record(2, 16, 2), Record(3, 20, 0)}), absl::StatusCode::kOk);
  using enum absl::StatusCode;
  EXPECT_EQ(Put({Record(9, 15)}), kAlreadyExists);     // Last of port 1.
  EXPECT_EQ(Put({Record(9, 16)}), kAlreadyExists);     // First of port 2.
  EXPECT_EQ(Put({Record(9, 16, 4)}), kAlreadyExists);  // Around ports 2 and 3.
  EXPECT_EQ(Put({Record(9, 0x40, 6), Record(8, 0x7F)}), kAlreadyExists);
  EXPECT_EQ(Put({Record(9, 0x50), Record(8, 0x51), Record(7, 0x50, 1)}), kAlreadyExists);
  EXPECT_EQ(Put({Record(2, 8)}), kAlreadyExists);  // Moved onto port 1.
  EXPECT_EQ(Put({Record(1, 32, 3), Record(9, 8, 3), Record(8, 21), Record(7, 7)}), kOk);
}

TEST_P(StoreTest, SharedLidNamesBothPorts) {
  ASSERT_EQ(Put({Record(1, 4, 2)}), absl::StatusCode::kOk);
  const absl::Status status = store_->PutLids({Record(2, 6)});
  EXPECT_EQ(Message(status), "ports 0x0000000000000001 and 0x0000000000000002 would share LID 6");
}

TEST_P(StoreTest, RemovedLidsAreFree) {
  ASSERT_EQ(Put({Record(1, 10), Record(2, 11)}), absl::StatusCode::kOk);
  ASSERT_TRUE(store_->RemoveLids({Guid(1), Guid(77)}).ok());
  EXPECT_THAT(Lids(), ElementsAre(Record(2, 11)));
  EXPECT_EQ(Put({Record(3, 10)}), absl::StatusCode::kOk);
}

TEST_P(StoreTest, Meta) {
  EXPECT_EQ(*store_->GetMeta("epoch"), std::nullopt);
  ASSERT_TRUE(store_->PutMeta("epoch", "1").ok());
  ASSERT_TRUE(store_->PutMeta("epoch", "2").ok());
  ASSERT_TRUE(store_->PutMeta("empty", "").ok());
  EXPECT_EQ(*store_->GetMeta("epoch"), "2");
  EXPECT_EQ(*store_->GetMeta("empty"), "");
}

TEST_P(StoreTest, RowsOfPartsAreReadBackUnchanged) {
  using Rows = StoredRows;
  EXPECT_EQ(*store_->LoadRows(), Rows());
  const std::string bytes("a\0b\xFF", 4);
  ASSERT_TRUE(store_->ChangeRows({{{"group", "1"}, bytes}, {{"group", "2"}, ""}}).ok());
  ASSERT_TRUE(
      store_
          ->ChangeRows(
              {{{"group", "2"}, "new"}, {{"group", "3"}, std::nullopt}, {{"other", "1"}, "x"}})
          .ok());
  ASSERT_TRUE(store_->ChangeRows({{{"other", "1"}, std::nullopt}}).ok());
  EXPECT_EQ(*store_->LoadRows(), (Rows{{{"group", "1"}, bytes}, {{"group", "2"}, "new"}}));
}

TEST_P(StoreTest, EverythingIsThereAfterARestart) {
  ASSERT_EQ(Put({Record(1, 10, 0, 5), Record(2, 16, 2)}), absl::StatusCode::kOk);
  ASSERT_TRUE(store_->ChangeRows({{{"group", "a/b c"}, std::string("\0\xFF", 2)}}).ok());
  ASSERT_TRUE(store_->PutMeta("epoch", "7").ok());
  Open();
  EXPECT_THAT(Lids(), ElementsAre(Record(1, 10, 0, 5), Record(2, 16, 2)));
  EXPECT_EQ(*store_->LoadRows(), (StoredRows{{{"group", "a/b c"}, std::string("\0\xFF", 2)}}));
  EXPECT_EQ(*store_->GetMeta("epoch"), "7");
  EXPECT_EQ(Put({Record(3, 17)}), absl::StatusCode::kAlreadyExists);
}

// More than any bound on what is written in one go.
TEST_P(StoreTest, AWriteOfManyRowsIsWholeOrNothing) {
  std::vector<LidRecord> many;
  for (uint16_t lid = 1; lid <= 5000; ++lid) many.push_back(Record(0x1000u + lid, lid));
  ASSERT_EQ(Put(many), absl::StatusCode::kOk);
  EXPECT_EQ(Lids().size(), 5000u);
  RowChanges rows;
  for (int i = 0; i < 40; ++i) rows[{"large", std::to_string(i)}] = std::string(100'000, 'x');
  ASSERT_TRUE(store_->ChangeRows(rows).ok());
  many.back().base_lid = Lid(1);  // Twice.
  for (LidRecord& record : many) record.last_seen = 9;
  EXPECT_EQ(Put(many), absl::StatusCode::kAlreadyExists);
  Open();
  EXPECT_EQ(Lids().size(), 5000u);
  EXPECT_EQ(Lids().back(), Record(0x1000u + 5000, 5000));
  EXPECT_EQ(store_->LoadRows()->size(), 40u);
  for (auto& [key, value] : rows) value = std::nullopt;
  ASSERT_TRUE(store_->ChangeRows(rows).ok());
  EXPECT_THAT(*store_->LoadRows(), IsEmpty());
}

TEST_P(StoreTest, IsWritable) { EXPECT_TRUE(store_->writable().ok()); }

INSTANTIATE_TEST_SUITE_P(Stores, StoreTest, testing::ValuesIn(StoreKinds()), NameOfKind);

}  // namespace
}  // namespace fabricd::store
