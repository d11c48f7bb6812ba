// SPDX-License-Identifier: Apache-2.0
#include "store/contents.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rng.h"
#include "common/status.h"
#include "store/hold_text.h"
#include "store/lid_index.h"
#include "store/memory_store.h"
#include "tests/unit/store/sample_hold.h"

namespace fabricd::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(HoldText, ParsesBackToTheSameHold) {
  policy::Hold plain;
  plain.id = 3;
  for (const policy::Hold& hold : {MakeHold(7), plain}) {
    policy::Hold parsed;
    ASSERT_TRUE(ParseHold(HoldText(hold), parsed)) << HoldText(hold);
    EXPECT_EQ(parsed, hold);
  }
  EXPECT_THAT(HoldText(MakeHold(7)), HasSubstr("\nowner=slurm\n"));
}

TEST(HoldText, RefusesTextOfOthers) {
  const std::string good = HoldText(MakeHold(7));
  policy::Hold parsed;
  for (const std::string& text :
       {std::string(), std::string("id=0\nkind=1\ntarget_kind=1\n"), good + "new_field=1\n",
        good + "owner=again\n", good + "no field\n", good + "behinds=\\x\n",
        std::string("id=1\nkind=9\ntarget_kind=1\n"), std::string("id=1\nkind=1\ntarget_kind=x\n"),
        std::string("id=1\nkind=1\ntarget_kind=1\nports=0x7/256\n")})
    EXPECT_FALSE(ParseHold(text, parsed)) << text;
}

Contents MakeContents() {
  Contents contents;
  contents.lids = {{Guid(0x10), Lid(4), 2, 77}, {Guid(0x11), Lid(9), 0, -5}};
  contents.holds.holds = {MakeHold(3), MakeHold(20)};
  contents.holds.highest_id = 21;
  contents.rows = {{{"group", "ff12/a b"}, std::string("\0\n", 2)}, {{"service", "1"}, ""}};
  return contents;
}

TEST(Contents, FlatRowsReadBackToTheSame) {
  const Contents contents = MakeContents();
  const FlatRows flat = Flatten(contents);
  EXPECT_EQ(flat.at("lid/0x0000000000000010"), "4 2 77");
  EXPECT_EQ(flat.at("hold_highest"), "21");
  EXPECT_EQ(flat.at("row/group/ff12/a b"), std::string("\0\n", 2));
  const auto read = Unflatten(flat, "here");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->lids, contents.lids);
  EXPECT_EQ(read->holds.holds, contents.holds.holds);
  EXPECT_EQ(read->holds.highest_id, 21u);
  EXPECT_EQ(read->rows, contents.rows);
  EXPECT_EQ(CountText(*read), "2 LIDs, 2 holds, 2 rows");
}

TEST(Contents, EveryFaultIsNamedWithItsKey) {
  FlatRows flat = Flatten(MakeContents());
  flat["lid/0x0000000000000012"] = "6 0 0";  // Within 4-7.
  flat["lid/0x0000000000000013"] = "6 0";
  flat["lid/leaf1"] = "7 0 0";
  flat["lid/0x0000000000000014"] = "49152 0 0";
  flat["hold/4"] = flat["hold/3"];
  flat["hold/x"] = flat["hold/3"];
  flat["row/no slash"] = "";
  flat["other"] = "";
  flat["hold_highest"] = "19";
  std::vector<std::string> faults;
  const Contents good = Unflatten(flat, faults);
  EXPECT_EQ(good.lids.size(), 2u);
  EXPECT_EQ(good.holds.holds.size(), 2u);
  EXPECT_THAT(
      faults,
      testing::UnorderedElementsAre(
          HasSubstr("lid/0x0000000000000012: ports 0x0000000000000010 and "),
          HasSubstr("lid/0x0000000000000013: no LID record"), HasSubstr("lid/leaf1: no LID record"),
          HasSubstr("lid/0x0000000000000014: port 0x0000000000000014: LIDs"), "hold/4: no hold",
          "hold/x: no hold", "row/no slash: no key of this schema", "other: no key of this schema",
          "hold_highest: 19 is below the hold 20"));
  const auto status = Unflatten(flat, "etcd /x/").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), testing::StartsWith("etcd /x/: "));
  EXPECT_THAT(Message(status), testing::EndsWith("4 more"));
}

TEST(Contents, DifferencesLeadFromOneStoreToTheOther) {
  MemoryStore store;
  ASSERT_TRUE(store.PutLids({{Guid(0x11), Lid(4), 0, 0}, {Guid(0x12), Lid(9), 0, 0}}).ok());
  policy::Hold old;
  old.id = 2;
  ASSERT_TRUE(store.ChangeHolds({old}, {}).ok());
  ASSERT_TRUE(store.ChangeRows({{{"service", "1"}, "x"}, {{"service", "2"}, "y"}}).ok());
  const Contents wanted = MakeContents();
  const auto before = ReadContents(store);
  ASSERT_TRUE(before.ok());
  const FlatChanges changes = Difference(Flatten(*before), Flatten(wanted));
  ASSERT_TRUE(WriteChanges(store, changes).ok());
  const auto after = ReadContents(store);
  EXPECT_EQ(Flatten(*after), Flatten(wanted));
  EXPECT_THAT(Difference(Flatten(*after), Flatten(wanted)), IsEmpty());
  FlatRows rows = Flatten(*before);
  Apply(changes, rows);
  EXPECT_EQ(rows, Flatten(wanted));
}

// The id of a hold that was not acknowledged is taken back in etcd, and never in a store.
TEST(Contents, AHoldStandsWhereTheOneAfterItIsUndone) {
  MemoryStore store;
  policy::Hold first, second;
  first.id = 7;
  first.owner = "ops";
  second.id = 8;
  ASSERT_TRUE(store.ChangeHolds({first}, {}).ok());
  const FlatRows before = Flatten(*ReadContents(store));
  ASSERT_TRUE(store.ChangeHolds({second}, {}).ok());
  ASSERT_TRUE(WriteChanges(store, Difference(Flatten(*ReadContents(store)), before)).ok());
  EXPECT_THAT(store.LoadHolds()->holds, testing::ElementsAre(first));
  EXPECT_EQ(store.LoadHolds()->highest_id, 8u);
}

// Against CheckLids of all records.
TEST(LidIndex, AgreesWithACheckOfAllRecords) {
  Rng rng(7);
  std::map<Guid, LidRecord> stored;
  LidIndex index;
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<LidRecord> puts;
    const uint64_t count = round % 50 == 0 ? 70 : 1 + rng.Below(4);
    for (uint64_t i = 0; i < count; ++i) {
      const auto lmc = static_cast<uint8_t>(rng.Below(3));
      const auto lid = static_cast<uint16_t>((1 + rng.Below(400)) << lmc);
      puts.push_back({Guid(1 + rng.Below(120)), Lid(lid), lmc, round});
    }
    std::map<Guid, LidRecord> merged = stored;
    for (const LidRecord& record : puts) merged[record.port_guid] = record;
    std::vector<LidRecord> all;
    for (const auto& [guid, record] : merged) all.push_back(record);
    const absl::Status expected = CheckLids(all);
    const absl::Status status = index.CheckPut(puts);
    ASSERT_EQ(status.code(), expected.code()) << round << ": " << status << " / " << expected;
    refused += !status.ok();
    if (!status.ok()) continue;
    index.Put(puts);
    stored = std::move(merged);
    if (rng.Chance(0.5)) continue;
    const Guid gone(1 + rng.Below(120));
    index.Remove({gone});
    stored.erase(gone);
  }
  EXPECT_GT(refused, 300);
  EXPECT_LT(refused, 2700);
}

}  // namespace
}  // namespace fabricd::store
