// SPDX-License-Identifier: Apache-2.0
#include "sweep/plan/lid_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

class LidManagerTest : public testing::Test {
 protected:
  void SetTops(SmallFabric& fabric, uint16_t top) {
    for (const NodeIndex node : fabric.switches) {
      wire::SwitchInfo info;
      info.linear_fdb_top = top;
      fabric.builder.SetSwitchInfo(node, info);
    }
  }
  // The write that is asked for, as the shell takes it.
  Question TakeWrite(LidManager& lids) {
    lids.AskToStore();
    const Question question = asked_.back();
    asked_.clear();
    return question;
  }
  static const std::vector<LidRecord>& RecordsOf(const Question& question) {
    return std::get<PersistLids>(question.what).records;
  }
  void Store(LidManager& lids, const Question& question, const absl::Status& status) {
    if (questions_.Close({question.id, Persisted{status}})) lids.OnStored(status, own_, problems_);
  }

  CoreOptions options_;
  Guid own_;  // Of a port that has a LID.
  ProblemList problems_;
  std::vector<Question> asked_;
  OpenQuestions questions_{asked_};
};

TEST_F(LidManagerTest, NewAssignmentsAreDurableOnlyOnceTheirWriteIsConfirmed) {
  SmallFabric fabric(2);
  LidManager lids(options_, questions_, {});
  EXPECT_TRUE(lids.IsDurable());
  lids.Update(fabric.builder.Build(), problems_);
  EXPECT_FALSE(lids.IsDurable());
  const Question write = TakeWrite(lids);
  EXPECT_THAT(RecordsOf(write), SizeIs(4));  // Two hosts, two switches.
  EXPECT_TRUE(lids.IsAwaited());
  EXPECT_FALSE(lids.IsDurable());
  Store(lids, write, absl::OkStatus());
  EXPECT_TRUE(lids.IsDurable());
  EXPECT_FALSE(lids.IsAwaited());
}

TEST_F(LidManagerTest, LidsThatCouldNotBeStoredAreWithheldUntilTheNextUpdate) {
  SmallFabric two(2), three(3);
  LidManager lids(options_, questions_, {});
  lids.Update(two.builder.Build(), problems_);
  Store(lids, TakeWrite(lids), absl::OkStatus());
  const size_t before = lids.table()->port_count();
  lids.Update(three.builder.Build(), problems_);
  EXPECT_GT(lids.table()->port_count(), before);
  Store(lids, TakeWrite(lids), absl::UnavailableError("etcd is away"));
  EXPECT_TRUE(lids.IsDurable());
  EXPECT_EQ(lids.table()->port_count(), before);
  EXPECT_THAT(lids.withheld(), ElementsAre(three.hosts.back()));
  EXPECT_THAT(problems_.List(), testing::Contains(Field(&Problem::kind, ProblemKind::kNoLid)));
  lids.Update(three.builder.Build(), problems_);
  EXPECT_FALSE(lids.IsDurable());
  EXPECT_THAT(lids.withheld(), testing::IsEmpty());
  Store(lids, TakeWrite(lids), absl::OkStatus());
  EXPECT_TRUE(lids.IsDurable());
  EXPECT_GT(lids.table()->port_count(), before);
}

TEST_F(LidManagerTest, RecordsOfAFailedWriteArePartOfTheNext) {
  own_ = Guid(0x10);
  SmallFabric two(2);
  LidManager lids(options_, questions_, {});
  lids.Update(two.builder.Build(), problems_);
  Store(lids, TakeWrite(lids), absl::UnavailableError("disk full"));
  EXPECT_FALSE(lids.IsDurable());
  SmallFabric three(3);
  lids.Update(three.builder.Build(), problems_);
  EXPECT_THAT(RecordsOf(TakeWrite(lids)), ElementsAre(Field(&LidRecord::port_guid, Guid(0x10)),
                                                      Field(&LidRecord::port_guid, Guid(0x11)),
                                                      Field(&LidRecord::port_guid, Guid(0x1000)),
                                                      Field(&LidRecord::port_guid, Guid(0x1001)),
                                                      Field(&LidRecord::port_guid, Guid(0x1002))));
}

TEST_F(LidManagerTest, AWriteWhoseAnswerIsLostIsRepeatedAndALateAnswerIsIgnored) {
  SmallFabric fabric(2);
  LidManager lids(options_, questions_, {});
  lids.Update(fabric.builder.Build(), problems_);
  const Question lost = TakeWrite(lids);
  lids.Cancel();  // A heavy sweep has begun.
  EXPECT_FALSE(lids.IsAwaited());
  const Question again = TakeWrite(lids);
  EXPECT_EQ(RecordsOf(again), RecordsOf(lost));
  Store(lids, lost, absl::OkStatus());
  EXPECT_FALSE(lids.IsDurable());
  Store(lids, again, absl::OkStatus());
  EXPECT_TRUE(lids.IsDurable());
}

TEST_F(LidManagerTest, AWriteDoesNotConfirmLaterAssignments) {
  SmallFabric two(2), three(3);
  LidManager lids(options_, questions_, {});
  lids.Update(two.builder.Build(), problems_);
  const Question write = TakeWrite(lids);
  lids.Update(three.builder.Build(), problems_);
  Store(lids, write, absl::OkStatus());
  EXPECT_FALSE(lids.IsDurable());
  EXPECT_THAT(RecordsOf(TakeWrite(lids)), SizeIs(5));
}

TEST_F(LidManagerTest, DurableRecordsAreUsedAgainWithoutAWrite) {
  SmallFabric fabric(3);
  const std::vector<LidRecord> stored = {{Guid(0x10), Lid(40)},
                                         {Guid(0x11), Lid(41)},
                                         {Guid(0x1000), Lid(10)},
                                         {Guid(0x1001), Lid(20)},
                                         {Guid(0x1002), Lid(30)}};
  LidManager lids(options_, questions_, stored);
  lids.Update(fabric.builder.Build(), problems_);
  EXPECT_TRUE(lids.IsDurable());
  EXPECT_EQ(lids.table()->Of(fabric.Host(1)).base, Lid(20));
}

TEST_F(LidManagerTest, TheTableStaysWhileTheEndPortsAreTheSame) {
  SmallFabric fabric(2);
  LidManager lids(options_, questions_, {});
  lids.Update(fabric.builder.Build(), problems_);
  const auto before = lids.table();
  lids.Update(fabric.builder.Build(), problems_);
  EXPECT_EQ(lids.table(), before);
  lids.Invalidate();
  lids.Update(fabric.builder.Build(), problems_);
  EXPECT_NE(lids.table(), before);
  EXPECT_EQ(lids.table()->Of(fabric.Host(0)).base, before->Of(fabric.Host(0)).base);
}

TEST_F(LidManagerTest, ATableThatOutgrowsTheTopOfSwitchesIsReported) {
  SmallFabric fabric(2);
  SetTops(fabric, 3);
  LidManager lids(options_, questions_, {});
  EXPECT_FALSE(lids.Update(fabric.builder.Build(), problems_));  // LIDs 1 to 4.
  SetTops(fabric, 4);
  lids.Invalidate();
  EXPECT_TRUE(lids.Update(fabric.builder.Build(), problems_));
}

TEST_F(LidManagerTest, TheTopStaysWhenItsPortLeaves) {
  SmallFabric two(2), one(1);
  LidManager lids(options_, questions_, {});
  lids.Update(two.builder.Build(), problems_);
  const Lid top = lids.table()->top();
  lids.Update(one.builder.Build(), problems_);
  EXPECT_EQ(lids.table()->top(), top);
}

// The problem disappears with the next assignment that has a LID for each port.
TEST_F(LidManagerTest, APortWithoutALidIsAProblemAndIsAssignedAgainEachTime) {
  SmallFabric fabric(2);
  fabric.builder.SetPortGuid(fabric.Host(1), Guid(0x1000));
  LidManager lids(options_, questions_, {});
  lids.Update(fabric.builder.Build(), problems_);
  EXPECT_THAT(problems_.List(), ElementsAre(Field(&Problem::kind, ProblemKind::kNoLid)));
  const auto before = lids.table();
  lids.Update(fabric.builder.Build(), problems_);
  EXPECT_NE(lids.table(), before);
  fabric.builder.SetPortGuid(fabric.Host(1), Guid(0x1001));
  lids.Update(fabric.builder.Build(), problems_);
  EXPECT_THAT(problems_.List(), IsEmpty());
}

}  // namespace
}  // namespace fabricd::sweep
