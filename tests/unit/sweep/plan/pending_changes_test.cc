// SPDX-License-Identifier: Apache-2.0
#include "sweep/plan/pending_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/partitions_text.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using routing::ReplanGoal;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

constexpr NodeIndex kA(3), kB(5), kC(8);

class PendingChangesTest : public testing::Test {
 protected:
  PendingChangesTest() : snapshot_(small_.builder.Build()) {}

  void Partition(std::string_view text) {
    const policy::ParsedPartitions parsed = policy::ParsePartitions(text);
    ASSERT_TRUE(parsed.ok()) << policy::FaultsText(parsed.faults);
    index_ =
        std::make_shared<policy::PartitionIndex>(parsed.partitions, policy::PartitionSet(), true);
  }
  static PendingChanges::SharedAliases Aliases(Guid port, uint64_t alias) {
    fabric::AliasBlock block{port};
    block.said = 2;
    block.info.guids[1] = Guid(alias);
    return std::make_shared<const fabric::AliasGuids>(std::vector{block});
  }
  KeyInput Keys() { return changes_.WithKeyScope({index_}, *snapshot_); }
  // A run over `scope` has looked at all keys that it had to.
  void FinishKeys(bool everywhere = false) {
    const GuidInput input = changes_.MakeGuidInput();
    changes_.NoteKeysDone(input.aliases, input.changed, everywhere);
  }

  SmallFabric small_{3};
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  std::shared_ptr<const policy::PartitionIndex> index_ =
      std::make_shared<policy::PartitionIndex>(policy::Partitions(), policy::PartitionSet(), true);
  PendingChanges changes_{nullptr};
};

// ---- scope

TEST_F(PendingChangesTest, AtFirstAllNodesAreToBeLookedAt) {
  EXPECT_EQ(changes_.scope(), std::nullopt);
  EXPECT_TRUE(changes_.reregisters());
}

TEST_F(PendingChangesTest, AReportedChangeConcernsTheNodesItTouchedAndIsUrgent) {
  changes_.WantAll(ReplanGoal::kIdeal);
  EXPECT_FALSE(changes_.IsUrgent());
  EXPECT_TRUE(changes_.WantNodes({kB, kA, kB}, /*is_under_way=*/false));
  EXPECT_THAT(changes_.scope(), Optional(ElementsAre(kA, kB)));
  EXPECT_EQ(changes_.goal(), ReplanGoal::kUrgent);
  EXPECT_TRUE(changes_.IsUrgent());
}

TEST_F(PendingChangesTest, AChangeTakesUpWhatASupersededRunHadNotFinished) {
  changes_.WantNodes({kA}, false);
  EXPECT_TRUE(changes_.WantNodes({kC}, /*is_under_way=*/true));
  EXPECT_THAT(changes_.scope(), Optional(ElementsAre(kA, kC)));
  EXPECT_TRUE(changes_.WantNodes({kB}, /*is_under_way=*/false));
  EXPECT_THAT(changes_.scope(), Optional(ElementsAre(kB)));
}

TEST_F(PendingChangesTest, AChangeDuringARunOverAllNodesConcernsAllNodes) {
  changes_.WantAll(ReplanGoal::kIdeal);
  EXPECT_FALSE(changes_.WantNodes({kA}, /*is_under_way=*/true));
  EXPECT_EQ(changes_.scope(), std::nullopt);
  EXPECT_EQ(changes_.goal(), ReplanGoal::kUrgent);
  EXPECT_FALSE(changes_.IsUrgent());
}

TEST_F(PendingChangesTest, WhatWasLeftUndoneIsPartOfEachScope) {
  changes_.AddUndone(std::vector{kC, kA});
  changes_.WantNodes({kB}, false);
  EXPECT_THAT(changes_.scope(), Optional(ElementsAre(kA, kB, kC)));
  changes_.WantWholePlan();
  EXPECT_THAT(changes_.scope(), Optional(ElementsAre(kA, kC)));
  EXPECT_EQ(changes_.goal(), ReplanGoal::kWhole);
  changes_.ClearUndone();
  changes_.WantNodes({kB}, false);
  EXPECT_THAT(changes_.scope(), Optional(ElementsAre(kB)));
}

TEST_F(PendingChangesTest, ARunForTreesLooksAtNoNode) {
  changes_.AddUndone(std::vector{kC});
  changes_.WantTreesOnly();
  EXPECT_THAT(changes_.scope(), Optional(IsEmpty()));
}

TEST_F(PendingChangesTest, AScopeCanGrowToAllNodes) {
  changes_.WantNodes({kA}, false);
  changes_.IncludeAll();
  EXPECT_EQ(changes_.scope(), std::nullopt);
  EXPECT_EQ(changes_.goal(), ReplanGoal::kUrgent);
}

// ---- cables

TEST_F(PendingChangesTest, CablesAreCheckedOnceAfterLinksRoseAndAlwaysForAllNodes) {
  changes_.WantNodes({kA}, false);
  EXPECT_FALSE(changes_.TakeCableCheck());
  changes_.NoteLinksRose();
  EXPECT_TRUE(changes_.TakeCableCheck());
  EXPECT_FALSE(changes_.TakeCableCheck());
  changes_.WantAll(ReplanGoal::kIdeal);
  EXPECT_TRUE(changes_.TakeCableCheck());
  EXPECT_TRUE(changes_.TakeCableCheck());
}

// ---- P_Keys and GUIDs

TEST_F(PendingChangesTest, AllPortsAreLookedAtUntilARunHasDoneSoForThesePartitions) {
  changes_.BeginKeys(1, {});
  EXPECT_TRUE(Keys().all);
  EXPECT_TRUE(Keys().all);  // That run was superseded.
  FinishKeys();
  EXPECT_FALSE(Keys().all);
  changes_.BeginKeys(2, {});
  EXPECT_EQ(changes_.partitions_generation(), 2u);
  EXPECT_TRUE(Keys().all);
  FinishKeys();
  changes_.BeginKeys(2, {small_.Host(1)});
  EXPECT_TRUE(Keys().all);
}

TEST_F(PendingChangesTest, GuidsAreReadEverywhereWhilePartitionsNameOneThatNoPortHas) {
  Partition("storage=0x12: 0x1000, 0x77;");
  changes_.BeginKeys(1, {});
  Keys();
  EXPECT_TRUE(changes_.MakeGuidInput().read_all);
  FinishKeys();
  Partition("storage=0x12: 0x1000, 0x1001;");
  changes_.BeginKeys(2, {});
  Keys();
  EXPECT_FALSE(changes_.MakeGuidInput().read_all);
}

TEST_F(PendingChangesTest, NodesWhoseAliasesChangedAreLookedAtUntilARunHasDoneSo) {
  EXPECT_TRUE(changes_.SetAliases(Aliases(Guid(0x1001), 0xA1), *snapshot_));
  EXPECT_THAT(changes_.MakeGuidInput().changed, ElementsAre(small_.hosts[1]));
  FinishKeys();
  EXPECT_THAT(changes_.MakeGuidInput().changed, IsEmpty());
}

TEST_F(PendingChangesTest, AliasesOfAbsentPortsAreNoReasonToLook) {
  EXPECT_FALSE(changes_.SetAliases(Aliases(Guid(0x9999), 0xA1), *snapshot_));
  EXPECT_THAT(changes_.MakeGuidInput().changed, IsEmpty());
}

TEST_F(PendingChangesTest, ARunWithOlderAliasesLeavesTheNodesToBeLookedAt) {
  changes_.SetAliases(Aliases(Guid(0x1001), 0xA1), *snapshot_);
  const GuidInput older = changes_.MakeGuidInput();
  changes_.SetAliases(Aliases(Guid(0x1001), 0xA2), *snapshot_);
  changes_.NoteKeysDone(older.aliases, older.changed, /*everywhere=*/true);
  EXPECT_THAT(changes_.MakeGuidInput().changed, ElementsAre(small_.hosts[1]));
}

TEST_F(PendingChangesTest, ARunOverAllNodesHasLookedAtNodesWhoseAliasesChangedMeanwhileToo) {
  changes_.SetAliases(Aliases(Guid(0x1001), 0xA1), *snapshot_);
  changes_.NoteKeysDone(changes_.MakeGuidInput().aliases, {}, /*everywhere=*/true);
  EXPECT_THAT(changes_.MakeGuidInput().changed, IsEmpty());
}

}  // namespace
}  // namespace fabricd::sweep
