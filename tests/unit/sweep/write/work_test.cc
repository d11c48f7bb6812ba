// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/work.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

TEST(Work, EachKindNamesAnAttribute) {
  for (int work = 0; work < static_cast<int>(Work::kCount); ++work)
    EXPECT_NE(AttributeOf(static_cast<Work>(work)), wire::AttributeId::kNone) << work;
  EXPECT_EQ(AttributeOf(Work::kCount), wire::AttributeId::kNone);
}

TEST(Work, ForwardingTablesAndSwitchInfoBelongToTheSwitchAsAWhole) {
  for (Work work : {Work::kReadLft, Work::kSetLft, Work::kReadMft, Work::kSetMft, Work::kSetMftTop,
                    Work::kSetSwitchInfo})
    EXPECT_TRUE(IsOfSwitch(work));
  for (Work work : {Work::kSetPKeys, Work::kConfigurePort, Work::kSetGuids, Work::kSetMap})
    EXPECT_FALSE(IsOfSwitch(work));
}

TEST(ProgramStage, EachHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int stage = 0; stage <= static_cast<int>(ProgramStage::kDone); ++stage)
    names.insert(StageName(static_cast<ProgramStage>(stage)));
  EXPECT_EQ(names.size(), static_cast<size_t>(ProgramStage::kDone) + 1);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(StageName(ProgramStage::kTables), "forwarding tables");
}

}  // namespace
}  // namespace fabricd::sweep
