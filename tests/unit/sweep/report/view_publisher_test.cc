// SPDX-License-Identifier: Apache-2.0
#include "sweep/report/view_publisher.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::Field;

class ViewPublisherTest : public testing::Test {
 protected:
  ViewPublisherTest() {
    local_.port_guid = Guid(0x1000);
    wire::PortInfo info = SmallFabric::Up();
    info.lid = Lid(77);  // As another SM has set it.
    small_.builder.SetPortInfo(small_.Host(0), info);
    observed_.builder() = std::move(small_.builder);
    observed_.OnDiscovered(small_.Host(0), {});
    lids_.Update(observed_.snapshot(), problems_);
  }
  std::shared_ptr<const FabricView> Make(Phase phase = Phase::kIdle) {
    return publisher_.Make({options_, phase, observed_, has_own_link_, lids_, planner_, multicast_,
                            mastership_, guard_, partitions_, problems_, isolated_, policy_},
                           devices_.applied());
  }

  SmallFabric small_{2};
  CoreOptions options_;
  bool has_own_link_ = true;
  mad::LocalPort local_;
  mad::TransactionEngine engine_{{}};
  DeviceTable devices_{options_.sm};
  Effects effects_;
  ProblemList problems_;
  ObservedFabric observed_{local_};
  OpenQuestions questions_{effects_.questions};
  LidManager lids_{options_, questions_, {}};
  Planner planner_{options_, questions_, effects_.log};
  Multicast multicast_{nullptr, questions_};
  Mastership mastership_{options_, local_, devices_, engine_, questions_, effects_};
  PartitionKeeper partitions_{options_, effects_, questions_, {}};
  TakeoverGuard guard_{options_, questions_, {}};
  std::vector<PortRef> isolated_;
  std::shared_ptr<const policy::PolicyView> policy_ = std::make_shared<policy::PolicyView>();
  ViewPublisher publisher_;
};

TEST_F(ViewPublisherTest, TheFirstViewIsDueAndLaterOnesAfterChangesOnly) {
  EXPECT_TRUE(publisher_.TakeChanged());
  EXPECT_FALSE(publisher_.TakeChanged());
  publisher_.MarkChanged();
  EXPECT_TRUE(publisher_.TakeChanged());
}

TEST_F(ViewPublisherTest, AnotherStateOfTheSmIsAChange) {
  publisher_.TakeChanged();
  publisher_.ShowState(wire::SmState::kNotActive);
  EXPECT_FALSE(publisher_.TakeChanged());
  publisher_.ShowState(wire::SmState::kMaster);
  EXPECT_TRUE(publisher_.TakeChanged());
  publisher_.ShowState(wire::SmState::kMaster);
  EXPECT_FALSE(publisher_.TakeChanged());
}

TEST_F(ViewPublisherTest, TheEndOfASweepIsAChangeAndHeavyOnesAreCounted) {
  publisher_.TakeChanged();
  SweepReport report;
  report.smps_sent = 5;
  publisher_.OnSweepEnd(report, /*is_heavy=*/true);
  EXPECT_TRUE(publisher_.TakeChanged());
  publisher_.OnSweepEnd(report, /*is_heavy=*/false);
  EXPECT_EQ(publisher_.sweeps_done(), 1u);
  const auto view = Make();
  EXPECT_EQ(view->sweeps_done, 1u);
  EXPECT_EQ(view->last_sweep.smps_sent, 5u);
}

TEST_F(ViewPublisherTest, GenerationsGrowFromViewToView) {
  const auto first = Make();
  EXPECT_EQ(Make()->generation.value(), first->generation.value() + 1);
}

TEST_F(ViewPublisherTest, AViewShowsTheSnapshotWithItsLidsAndProblems) {
  problems_.Add(ProblemKind::kNoPlan, ProblemSubject::Subnet(), "none");
  publisher_.SetSubnetUp(true);
  const auto view = Make();
  EXPECT_EQ(view->snapshot, observed_.snapshot());
  EXPECT_EQ(view->lids, lids_.table());
  EXPECT_TRUE(view->subnet_up);
  EXPECT_THAT(view->problems, ElementsAre(Field(&Problem::kind, ProblemKind::kNoPlan)));
  EXPECT_EQ(view->plan, nullptr);
  EXPECT_FALSE(view->plan_stands);
}

TEST_F(ViewPublisherTest, UntilTheSubnetIsUpAViewShowsTheMlidsOfForeignEntries) {
  EXPECT_EQ(Make()->foreign_mlids, nullptr);
  routing::MulticastBlock block{};
  block[2] = 0b10;
  devices_.applied().Mft(NodeIndex(0)).Confirm({}, block);
  const auto shown = Make()->foreign_mlids;
  ASSERT_NE(shown, nullptr);
  EXPECT_THAT(*shown, ElementsAre(Lid(0xC002)));
  EXPECT_EQ(Make()->foreign_mlids, shown) << "the same object";
  publisher_.SetSubnetUp(true);
  EXPECT_EQ(Make()->foreign_mlids, nullptr);
}

TEST_F(ViewPublisherTest, OnlyTheMasterShowsTheLidThatItAssigned) {
  EXPECT_EQ(Make()->sm.lid, Lid(77));
  mastership_.Start();
  (void)mastership_.OnDiscovered(observed_.snapshot(), {}, {}, Instant{});
  ASSERT_TRUE(mastership_.IsMaster());
  EXPECT_EQ(Make()->sm.lid, lids_.table()->Of(small_.Host(0)).base);
}

TEST_F(ViewPublisherTest, AViewShowsWhetherTheOwnPortHasALink) {
  EXPECT_TRUE(Make()->sm.has_link);
  has_own_link_ = false;
  EXPECT_FALSE(Make()->sm.has_link);
}

TEST_F(ViewPublisherTest, WhileASweepReadsThePortTablesOfTheLastOneAreShown) {
  const auto before = Make()->tables;
  devices_.applied().PKeys(small_.Host(0)).GrowTo(1);
  EXPECT_EQ(Make(Phase::kDiscovering)->tables, before);
  EXPECT_NE(Make(Phase::kIdle)->tables, before);
}

}  // namespace
}  // namespace fabricd::sweep
