// SPDX-License-Identifier: Apache-2.0
#include "sweep/activity/idle_reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sweep/activity/activity_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

class IdleReadsTest : public testing::Test, protected ActivityFixture {
 protected:
  IdleReadsTest() {
    for (const NodeIndex node : small.switches)
      devices.applied().Lft(node).Confirm(0, std::array<uint8_t, 64>{});
  }

  IdleReads reads_{ground(), observed};
};

TEST_F(IdleReadsTest, ASampleIsReadOnlyWhileNothingElseIsDone) {
  reads_.AddSample(false, {}, kNow);
  EXPECT_EQ(reads_.AdvanceReadBack(/*may=*/false, kNow), std::nullopt);
  EXPECT_THAT(Sent(kNow), IsEmpty());
  EXPECT_EQ(reads_.AdvanceReadBack(/*may=*/true, kNow), std::nullopt);
  EXPECT_THAT(Sent(kNow), Not(IsEmpty()));
}

TEST_F(IdleReadsTest, QueuedReadsAreTakenBackWhenSomethingElseIsDone) {
  reads_.AddSample(false, {}, kNow);
  reads_.AdvanceReadBack(true, kNow);
  EXPECT_GT(engine.size(), 0u);
  reads_.AdvanceReadBack(false, kNow);
  EXPECT_EQ(engine.size(), 0u);
  reads_.AdvanceReadBack(true, kNow);
  EXPECT_GT(engine.size(), 0u);
}

TEST_F(IdleReadsTest, CommandsWaitForTheResultOrAreGivenBack) {
  reads_.AddAll(false, {7, 8});
  EXPECT_EQ(reads_.AdvanceReadBack(true, kNow), std::nullopt);
  EXPECT_THAT(reads_.Drop(), ElementsAre(7, 8));
  EXPECT_EQ(reads_.AdvanceReadBack(true, kNow), std::nullopt);
}

TEST_F(IdleReadsTest, WithNothingToReadTheResultComesAtOnce) {
  ActivityFixture empty;
  empty.observed.builder() = fabric::SnapshotBuilder();
  empty.observed.Rebuild();
  IdleReads reads(empty.ground(), empty.observed);
  reads.AddAll(false, {7});
  const auto result = reads.AdvanceReadBack(true, kNow);
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->all);
  EXPECT_THAT(result->commands, ElementsAre(7));
}

TEST_F(IdleReadsTest, VlTablesOfKnownNodesAreReadWhenAClientWantsThem) {
  EXPECT_FALSE(reads_.AdvanceVlTables(true, false));
  reads_.WantVlTables({small.hosts[1], NodeIndex(99)});
  EXPECT_FALSE(reads_.AdvanceVlTables(/*may=*/false, false));
  EXPECT_THAT(Sent(kNow), IsEmpty());
  EXPECT_FALSE(reads_.AdvanceVlTables(/*may=*/true, false));
  const auto sent = Sent(kNow);
  EXPECT_THAT(sent, Not(IsEmpty()));
  for (const wire::Smp& smp : sent) EXPECT_EQ(*smp.path, devices.PathTo(small.hosts[1]));
}

TEST_F(IdleReadsTest, VlTablesThatWereGivenUpAreReadLater) {
  reads_.WantVlTables({small.hosts[1]});
  reads_.AdvanceVlTables(true, false);
  reads_.AdvanceVlTables(false, false);
  EXPECT_EQ(engine.size(), 0u);
  reads_.AdvanceVlTables(true, false);
  EXPECT_GT(engine.size(), 0u);
}

}  // namespace
}  // namespace fabricd::sweep
