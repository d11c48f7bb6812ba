// SPDX-License-Identifier: Apache-2.0
#include "shell/recorded_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/shell/table_rows.h"
namespace fabricd::shell {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(DigestOfARow, IsOfItsRoutesHoweverLongItIs) {
  routing::Row longer = RowTo(3, 4096);
  longer.Resize(8192, routing::kNoRoute);
  EXPECT_EQ(DigestOf(longer), DigestOf(RowTo(3, 4096)));
  EXPECT_NE(DigestOf(RowTo(4, 4096)), DigestOf(RowTo(3, 4096)));
  routing::Row other = RowTo(3, 4096);
  other.Set(5, 9);
  EXPECT_NE(DigestOf(other), DigestOf(RowTo(3, 4096)));
  EXPECT_EQ(DigestOf(routing::Row()), DigestOf(routing::Row(64, routing::kNoRoute)));
}

TEST(LoadTables, DamagedRowsAreRefused) {
  const auto code = [](const RowKey& key, const std::string& text) {
    return LoadTables({{key, text}}).status().code();
  };
  const auto digest = [&](const std::string& text) {
    return code(RecordedTables::DigestKey(0), text);
  };
  const auto change = [&](const std::string& text) {
    return code(RecordedTables::ChangesKey(1), text);
  };
  EXPECT_EQ(digest("0x01 02\n"), absl::StatusCode::kOk);
  EXPECT_EQ(change("1\n0x01 0,1f 4c:3:12,7e:ff:2\n0x02 - -\n"), absl::StatusCode::kOk);
  for (const char* text : {"0x01\n", "0x01 xyz\n", "0x01 02 03\n"})
    EXPECT_EQ(digest(text), absl::StatusCode::kDataLoss) << text;
  for (const char* text :
       {"0x01 0 -\n1\n", "0\n", "x\n", "1\n0x01 0\n", "1\n0x01 fff -\n", "1\n0x01 x -\n",
        "1\n0x01 0 4c:3\n", "1\n0x01 0 4c:3:100\n", "1\nx 0 -\n"})
    EXPECT_EQ(change(text), absl::StatusCode::kDataLoss) << text;
  EXPECT_EQ(code(RecordedTables::WindowKey(), "many"), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(RecordedTables::BaseKey(), "first"), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code({"switch_tables", "other"}, "1"), absl::StatusCode::kDataLoss);
  EXPECT_THAT(LoadTables({{{"other", "0"}, "x"}})->digests, IsEmpty());
  EXPECT_THAT(LoadTables({{{"tables", "0"}, "0x01 02\n"}})->digests, IsEmpty())
      << "of a release that does not name its changes";
}

TEST(LoadTables, AChangeIsReadAsItWasWritten) {
  TableChange change;
  change.switches[Guid(0x2c90300a1b2c3)] = {{0, 31, 767}, {{76, 3, 18}, {0xBFFF, 255, 2}}};
  change.switches[Guid(2)] = {{5}, {}};
  change.switches[Guid(3)] = {{}, {{64, 1, 255}}};
  const auto record = LoadTables({{RecordedTables::ChangesKey(70), ChangeText(70, change)}});
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->changes.at(70), change);
  const std::string both = ChangeText(70, change) + ChangeText(71, {});
  const auto two = LoadTables({{RecordedTables::ChangesKey(0), both}});
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_THAT(two->changes, ElementsAre(Pair(70, change), Pair(71, TableChange())));
}

class VouchedTest : public testing::Test {
 protected:
  VouchedTest() {
    known_.read = std::make_shared<const Rows>(
        Rows{{Guid(1), RowTo(1, 128)}, {Guid(2), RowTo(2, 128)}, {Guid(3), RowTo(3, 128)}});
    known_.master = Guid(0x17);
    record_.is_marked = true;
    record_.digests = {{Guid(1), DigestOf(RowTo(1, 128))}, {Guid(2), DigestOf(RowTo(9, 128))}};
  }

  using Rows = sweep::ReaderTables::Rows;
  sweep::ReaderTables known_;
  RecordedTables record_;
};

TEST_F(VouchedTest, AreThoseThatWereReadAsTheyWereConfirmed) {
  EXPECT_EQ(Vouched(known_, {}, Guid(0x17)), nullptr);
  const auto vouched = Vouched(known_, record_, Guid(0x17));
  ASSERT_NE(vouched, nullptr);
  ASSERT_EQ(vouched->rows.size(), 1u);
  EXPECT_EQ(vouched->rows.at(Guid(1)), RowTo(1, 128));
}

TEST_F(VouchedTest, AComputedRowReplacesOneThatWasReadUnderAnotherMaster) {
  known_.computed =
      std::make_shared<const Rows>(Rows{{Guid(1), RowTo(1, 128)}, {Guid(2), RowTo(9, 128)}});
  known_.master = Guid(0x99);
  const auto vouched = Vouched(known_, record_, Guid(0x17));
  EXPECT_EQ(vouched->rows.at(Guid(1)), RowTo(1, 128));
  EXPECT_EQ(vouched->rows.at(Guid(2)), RowTo(9, 128));
  EXPECT_THAT(vouched->computed, ElementsAre(Guid(2))) << "the other one was read";
  EXPECT_TRUE(vouched->unread.empty());
}

TEST_F(VouchedTest, BlocksOfAComputedRowThatDifferFromTheReadOneAreUnread) {
  routing::Row changed = RowTo(2, 128);
  changed.Resize(192, routing::kNoRoute);
  changed.Set(70, 9);
  changed.Set(150, 9);
  record_.digests[Guid(2)] = DigestOf(changed);
  record_.base = 1;
  record_.changes[2].switches[Guid(2)] = {{0}, {}};
  known_.computed = std::make_shared<const Rows>(Rows{{Guid(2), changed}});
  // Where the SM of the reading is not known it may be this master.
  for (const Guid predecessor : {Guid(0x17), Guid()}) {
    const auto vouched = Vouched(known_, record_, predecessor);
    EXPECT_EQ(vouched->rows.at(Guid(2)), changed);
    EXPECT_THAT(vouched->unread.at(Guid(2)), ElementsAre(0, 1, 2));
    EXPECT_THAT(vouched->computed, IsEmpty()) << "adaptive routing was read with the row";
    EXPECT_FALSE(vouched->unread.contains(Guid(1)));
  }
}

TEST_F(VouchedTest, ARowThatIsConfirmedByNeitherSourceIsNotVouchedFor) {
  known_.computed = std::make_shared<const Rows>(Rows{{Guid(2), RowTo(3, 128)}});
  EXPECT_FALSE(Vouched(known_, record_, Guid(0x17))->rows.contains(Guid(2)));
}

TEST_F(VouchedTest, AComputedRowCountsWhereNoneWasRead) {
  known_.read = nullptr;
  known_.computed =
      std::make_shared<const Rows>(Rows{{Guid(1), RowTo(1, 128)}, {Guid(2), RowTo(8, 128)}});
  const auto vouched = Vouched(known_, record_, Guid(0x17));
  ASSERT_NE(vouched, nullptr);
  EXPECT_EQ(vouched->rows.size(), 1u);
  EXPECT_THAT(vouched->computed, ElementsAre(Guid(1)));
}

TEST_F(VouchedTest, AComputedRowIsBroughtUpToTheDigestByTheChanges) {
  known_.read = nullptr;
  known_.computed = std::make_shared<const Rows>(Rows{{Guid(1), RowTo(1, 128)}});
  routing::Row repaired = RowTo(1, 128);
  repaired.Set(7, 4);
  record_.digests = {{Guid(1), DigestOf(repaired)}};
  record_.base = 1;
  record_.changes[1].switches[Guid(1)] = {{0}, {{7, 1, 4}}};
  const auto vouched = Vouched(known_, record_, Guid(0x17));
  ASSERT_NE(vouched, nullptr);
  EXPECT_EQ(vouched->rows.at(Guid(1)), repaired);
}

TEST_F(VouchedTest, IsNothingWhereAChangeIsMissing) {
  record_.base = 7;
  record_.changes[3] = {};
  record_.changes[8] = {};
  record_.changes[9] = {};
  EXPECT_NE(Vouched(known_, record_, Guid(0x17)), nullptr);
  record_.changes.erase(8);
  EXPECT_EQ(Vouched(known_, record_, Guid(0x17)), nullptr);
}

TEST_F(VouchedTest, AnEntryBeyondTheTableThatWasReadIsAdded) {
  routing::Row longer = RowTo(1, 128);
  longer.Resize(192, routing::kNoRoute);
  longer.Set(130, 4);
  record_.digests = {{Guid(1), DigestOf(longer)}};
  record_.base = 1;
  record_.changes[1].switches[Guid(1)] = {{2}, {{130, 255, 4}}};
  const auto vouched = Vouched(known_, record_, Guid(0x17));
  ASSERT_NE(vouched, nullptr);
  EXPECT_EQ(vouched->rows.at(Guid(1))[130], 4);
}

}  // namespace
}  // namespace fabricd::shell
