// SPDX-License-Identifier: Apache-2.0
#include "sweep/desired/pending_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sweep/desired/desired_tracker.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

DesiredState Desired(uint64_t generation = 1) {
  DesiredState desired;
  desired.keys.generation = generation;
  desired.guids.aliases = std::make_shared<const fabric::AliasGuids>();
  return desired;
}

TEST(PendingChanges, EverythingIsPendingBeforeTheFirstRun) {
  PendingChanges pending;
  EXPECT_TRUE(pending.is_all());
  EXPECT_EQ(pending.ScopeFor(Desired()).nodes, std::nullopt);
}

TEST(PendingChanges, ARunThatEndsLeavesTheNodesWithUnconfirmedWrites) {
  PendingChanges pending;
  pending.Mark(NodeIndex(5));
  pending.OnRunEnded({NodeIndex(3), NodeIndex(1)});
  EXPECT_FALSE(pending.is_all());
  EXPECT_THAT(pending.ScopeFor(Desired()).nodes, Optional(ElementsAre(NodeIndex(1), NodeIndex(3))));
  pending.OnRunEnded({});
  EXPECT_THAT(pending.ScopeFor(Desired()).nodes, Optional(IsEmpty()));
}

TEST(PendingChanges, ASupersededRunLeavesAllThatItLookedAt) {
  PendingChanges pending;
  pending.OnRunEnded({});
  pending.Mark(NodeIndex(4));
  EXPECT_THAT(pending.ScopeFor(Desired()).nodes, Optional(ElementsAre(NodeIndex(4))));
  pending.Mark(NodeIndex(2));  // Found while that run was at it.
  EXPECT_THAT(pending.ScopeFor(Desired()).nodes, Optional(ElementsAre(NodeIndex(2), NodeIndex(4))));
}

TEST(PendingChanges, AHeavySweepMakesEverythingPendingOnceAllWasRead) {
  PendingChanges pending;
  pending.OnRunEnded({NodeIndex(1)});
  pending.OnSweepStart();
  EXPECT_FALSE(pending.is_all());
  EXPECT_THAT(pending.nodes(), IsEmpty());
  pending.MarkAll();
  EXPECT_TRUE(pending.is_all());
}

TEST(PendingChanges, KeysAreLookedAtEverywhereUntilARunHasWrittenThem) {
  PendingChanges pending;
  pending.OnRunEnded({});
  const DesiredState first = Desired(1), second = Desired(2);
  EXPECT_TRUE(pending.ScopeFor(first).all_keys);
  pending.OnKeysDone(first, pending.ScopeFor(first), nullptr);
  EXPECT_FALSE(pending.ScopeFor(first).all_keys);
  EXPECT_TRUE(pending.ScopeFor(second).all_keys);
}

class TrackedAliases : public testing::Test {
 protected:
  static std::shared_ptr<const fabric::AliasGuids> Aliases(Guid port) {
    wire::GuidInfo info;
    info.guids[1] = Guid(0xA1);
    return std::make_shared<const fabric::AliasGuids>(
        std::vector<fabric::AliasBlock>{{port, 0, 0x02, info}});
  }
  static std::vector<NodeIndex> KeyNodes(const DesiredTracker& tracker) {
    return tracker.pending().ScopeFor(Desired()).key_nodes;
  }

  SmallFabric small_{2};
  std::shared_ptr<const fabric::AliasGuids> none_ = std::make_shared<const fabric::AliasGuids>();
  DesiredTracker tracker_{none_};
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_ = small_.builder.Build();
};

TEST_F(TrackedAliases, NodesOfChangedAliasesArePendingUntilTheirGuidsAreProgrammed) {
  const auto aliases = Aliases(Guid(0x1001));
  EXPECT_TRUE(tracker_.SetAliases(aliases, *snapshot_));
  EXPECT_THAT(KeyNodes(tracker_), ElementsAre(small_.hosts[1]));
  DesiredState desired = Desired();
  desired.guids.aliases = aliases;
  tracker_.OnKeysProgrammed(desired, tracker_.pending().ScopeFor(desired));
  EXPECT_THAT(KeyNodes(tracker_), IsEmpty());
}

TEST_F(TrackedAliases, ARunForOlderAliasesLeavesTheirNodesPending) {
  EXPECT_TRUE(tracker_.SetAliases(Aliases(Guid(0x1001)), *snapshot_));
  DesiredState desired = Desired();
  desired.guids.aliases = none_;
  tracker_.OnKeysProgrammed(desired, tracker_.pending().ScopeFor(desired));
  EXPECT_THAT(KeyNodes(tracker_), ElementsAre(small_.hosts[1]));
}

TEST_F(TrackedAliases, AliasesOfPortsThatAreNotThereChangeNothing) {
  EXPECT_FALSE(tracker_.SetAliases(Aliases(Guid(0x9999)), *snapshot_));
}

}  // namespace
}  // namespace fabricd::sweep
