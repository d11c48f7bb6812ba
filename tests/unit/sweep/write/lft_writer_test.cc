// SPDX-License-Identifier: Apache-2.0
// IBA vol 1 §14.2.5.10. The order of writes is TablePush's (table_push_test.cc).
#include "sweep/write/lft_writer.h"

#include "tests/unit/sweep/write/writer_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using Table = wire::LinearForwardingTable;
using Phase = LftWriter::Phase;

class LftWriterTest : public OneWriterTest<LftWriter> {
 protected:
  static constexpr ProgramStage kRead = ProgramStage::kReadTables;

  // Both switches have this SM and a LinearFDBTop of 4.
  LftWriterTest() {
    SetTops(4);
    for (size_t at : {0, 1})
      EditPort(SwitchPort(at, 0), [](wire::PortInfo& info) { info.master_sm_lid = Lid(3); });
  }
  static Table TableIn(const Request& request) { return Table::Decode(request.smp.data); }
  AppliedLft& Lft(size_t at) { return applied().Lft(fabric_.switches[at]); }
  Table Planned(size_t at) const {
    Table table;
    std::copy_n(plan_->rows[at]->block(0), 64, table.port.begin());
    return table;
  }
  static Table Empty() {
    Table table;
    table.port.fill(routing::kNoRoute);
    return table;
  }
  // Both tables are known to lead nowhere, and carried traffic.
  void ReadBoth() {
    for (size_t at : {0, 1}) Lft(at).Confirm(0, Empty().port);
  }
  // A run that writes these in this order.
  void StartWrites(std::vector<routing::TableWrite> writes) {
    Start();
    writer_->ListWrites();
    EXPECT_EQ(writer_->phase(), Phase::kNeedOrder);
    routing::PushPlan push;
    push.writes = std::move(writes);
    writer_->SetOrder(std::move(push));
  }
  routing::TableWrite Write(size_t at, uint16_t wave, uint64_t lids = ~uint64_t{0},
                            uint16_t stage = 0) const {
    return {fabric_.switches[at], 0, stage, wave, lids, false};
  }
  // What may be sent now.
  std::vector<Request> Writes() {
    std::vector<Request> requests;
    while (auto next = writer_->NextWrite()) requests.push_back(Submit({next->item, next->smp}));
    return requests;
  }
  // A run over switches that showed no top when it began, and were given one since.
  std::vector<Request> StartFresh(uint16_t top = 4) {
    SetTops(0);
    Start();
    SetTops(top);
    return StartWithoutOrder();
  }
  std::vector<Request> StartWithoutOrder() {
    writer_->ListWrites();
    EXPECT_EQ(writer_->phase(), Phase::kWriting);
    return Writes();
  }
  void SetTops(uint16_t top) {
    for (size_t at : {0, 1})
      EditSwitch(at, [top](wire::SwitchInfo& info) { info.linear_fdb_top = top; });
  }
};

// ---- reading

TEST_F(LftWriterTest, ReadsTheBlocksUpToTheTopThatAreNotKnown) {
  EditSwitch(1, [](wire::SwitchInfo& info) { info.linear_fdb_top = 130; });
  Lft(1).Confirm(1, Empty().port);
  const auto reads = List(kRead);
  EXPECT_THAT(Texts(reads), ElementsAre("Get LinearForwardingTable 0x0 of s0",
                                        "Get LinearForwardingTable 0x0 of s1",
                                        "Get LinearForwardingTable 0x2 of s1"))
      << "block by block, so that no device waits for another";
  ConfirmAll(reads);
  EXPECT_TRUE(Lft(0).Knows(0));
  EXPECT_TRUE(Lft(1).KnowsAll());
  EXPECT_THAT(Listed(kRead), IsEmpty());
}

TEST_F(LftWriterTest, ReadsSwitchesThatHaveComeAlthoughTheScopeDoesNotNameThem) {
  Lft(0).Confirm(0, Empty().port);
  input_.scope.nodes.emplace();
  EXPECT_THAT(Listed(kRead), ElementsAre("Get LinearForwardingTable 0x0 of s1"));
  devices_.Remove(fabric_.switches[1]);
  EXPECT_THAT(Listed(kRead), IsEmpty());
}

TEST_F(LftWriterTest, ASwitchWithoutATopHasLostItsTablesAndIsNotRead) {
  ReadBoth();
  applied().Mft(fabric_.switches[0]).Confirm({0, 0}, {});
  applied().SwitchKeys(SwitchPort(0, 1)).GrowTo(1);
  EditSwitch(0, [](wire::SwitchInfo& info) { info.linear_fdb_top = 0; });
  EXPECT_THAT(Listed(kRead), IsEmpty());
  ASSERT_NE(writer_->listed(), nullptr) << "before it has a top again";
  EXPECT_THAT(*writer_->listed(), ElementsAre(TableBlock{fabric_.switches[0], 0}));
  EXPECT_FALSE(Lft(0).WasRead());
  EXPECT_FALSE(applied().Mft(fabric_.switches[0]).Knows({0, 0}));
  EXPECT_EQ(applied().FindSwitchKeys(SwitchPort(0, 1)), nullptr);
  EXPECT_TRUE(Lft(1).WasRead());
}

TEST_F(LftWriterTest, ASwitchThatNamesAnotherSmIsReadAgain) {
  ReadBoth();
  EditPort(SwitchPort(1, 0), [](wire::PortInfo& info) { info.master_sm_lid = Lid(9); });
  EXPECT_THAT(Listed(kRead), ElementsAre("Get LinearForwardingTable 0x0 of s1"));
}

TEST_F(LftWriterTest, AReadThatFailsLeavesTheBlockUnknownAndTheSwitchUndone) {
  const auto reads = List(kRead);
  Reply(reads[0], Timeout(reads[0]));
  Reply(reads[1], Refusal(reads[1]));
  EXPECT_EQ(record().failures(), 2u);
  EXPECT_THAT(record().undone(), UnorderedElementsAre(fabric_.switches[0], fabric_.switches[1]));
  EXPECT_THAT(Problems(), ElementsAre("Unresponsive: Get LinearForwardingTable: no answer",
                                      "SetRefused: Get LinearForwardingTable: status 0x001c"));
  EXPECT_THAT(List(kRead), testing::SizeIs(2));
}

TEST_F(LftWriterTest, ABlockIsNotReadWhileASetOfItIsInFlight) {
  Lft(0).MarkSent(0, Planned(0).port);
  EXPECT_THAT(Listed(kRead), ElementsAre("Get LinearForwardingTable 0x0 of s1"));
  EXPECT_FALSE(run_->queue.empty()) << "it is deferred";
  Lft(0).Answer(0, Planned(0).port);
  EXPECT_THAT(Take(*writer_), IsEmpty()) << "its answer has made the read needless";
  EXPECT_TRUE(run_->queue.empty());
}

// ---- what differs

TEST_F(LftWriterTest, TablesThatWereNeverReadAreWrittenInAnyOrder) {
  const auto writes = StartFresh();
  EXPECT_THAT(Texts(writes), ElementsAre("Set LinearForwardingTable 0x0 of s0",
                                         "Set LinearForwardingTable 0x0 of s1"));
  EXPECT_EQ(TableIn(writes[0]), Planned(0));
  EXPECT_EQ(writes[1].smp.m_key, MKey(0x5EC));
  EXPECT_FALSE(Lft(0).Knows(0)) << "confirmed by the answer alone";
  ConfirmAll(writes);
  writer_->EndIfAnswered();
  EXPECT_EQ(writer_->phase(), Phase::kDone);
  EXPECT_TRUE(applied().Holds(*plan_));
  EXPECT_EQ(writer_->blocks_written(), 2u);
  EXPECT_EQ(writer_->switches_written(), 2u);
  EXPECT_EQ(record().failures(), 0u);
}

TEST_F(LftWriterTest, TablesThatAreRightAreNotWritten) {
  for (size_t at : {0, 1}) Lft(at).Confirm(0, Planned(at).port);
  Start();
  EXPECT_THAT(StartWithoutOrder(), IsEmpty());
  EXPECT_EQ(writer_->size(), 0u);
  writer_->EndIfAnswered();
  EXPECT_EQ(writer_->phase(), Phase::kDone);
}

TEST_F(LftWriterTest, WithoutAPlanNothingIsWritten) {
  plan_ = nullptr;
  EXPECT_THAT(StartFresh(), IsEmpty());
}

TEST_F(LftWriterTest, ASwitchWithoutARowKeepsItsTable) {
  auto plan = std::make_shared<routing::RoutingPlan>(*plan_);
  plan->rows[1] = nullptr;
  plan_ = plan;
  EXPECT_THAT(Texts(StartFresh()), ElementsAre("Set LinearForwardingTable 0x0 of s0"));
}

TEST_F(LftWriterTest, AnOrderIsNeededAsSoonAsOneTableThatDiffersWasRead) {
  Lft(0).Confirm(0, Planned(0).port);
  Start();
  writer_->ListWrites();
  EXPECT_EQ(writer_->phase(), Phase::kWriting) << "only the one that was not read differs";
  Lft(0).Confirm(0, Empty().port);
  Start();
  writer_->ListWrites();
  EXPECT_EQ(writer_->phase(), Phase::kNeedOrder);
  EXPECT_EQ(writer_->NextWrite(), std::nullopt);
}

// ---- writing in order

TEST_F(LftWriterTest, AnotherPlanMayComeBeforeTheOrder) {
  ReadBoth();
  Start();
  writer_->ListWrites();
  ASSERT_EQ(writer_->phase(), Phase::kNeedOrder);
  for (size_t at : {0, 1}) Lft(at).Confirm(0, Planned(at).port);
  writer_->ListAgain();
  EXPECT_EQ(writer_->phase(), Phase::kUnlisted);
  writer_->ListWrites();
  EXPECT_EQ(writer_->phase(), Phase::kWriting) << "the tables are those of this one";
  writer_->ListAgain();
  EXPECT_EQ(writer_->phase(), Phase::kWriting);
}

TEST_F(LftWriterTest, NamesItsBlocksBeforeItHasTheOrderAndAgainWhereThatHasMore) {
  ReadBoth();
  Lft(1).Confirm(0, Planned(1).port);
  Start();
  EXPECT_EQ(writer_->listed(), nullptr);
  writer_->ListWrites();
  ASSERT_EQ(writer_->phase(), Phase::kNeedOrder);
  const TableBlock first{fabric_.switches[0], 0}, second{fabric_.switches[1], 0};
  const auto listed = writer_->listed();
  ASSERT_NE(listed, nullptr);
  EXPECT_THAT(*listed, ElementsAre(first));
  routing::PushPlan push;
  push.writes = {Write(0, 0), Write(0, 1)};
  writer_->SetOrder(push);
  EXPECT_EQ(writer_->listed(), listed);
  push.writes = {Write(1, 0), Write(0, 1)};  // Some are withdrawn first at another switch.
  writer_->SetOrder(push);
  EXPECT_THAT(*writer_->listed(), ElementsAre(first, second));
}

TEST_F(LftWriterTest, WritesInTheOrderThatItIsGiven) {
  ReadBoth();
  StartWrites({Write(1, 0), Write(0, 1)});
  const auto first = Writes();
  ASSERT_THAT(Texts(first), ElementsAre("Set LinearForwardingTable 0x0 of s1"));
  writer_->EndIfAnswered();
  EXPECT_EQ(writer_->phase(), Phase::kWriting);
  ConfirmAll(first);
  const auto second = Writes();
  ASSERT_THAT(Texts(second), ElementsAre("Set LinearForwardingTable 0x0 of s0"));
  EXPECT_EQ(writer_->sent(), 2u);
  EXPECT_EQ(writer_->size(), 2u);
  ConfirmAll(second);
  writer_->EndIfAnswered();
  EXPECT_EQ(writer_->phase(), Phase::kDone);
}

TEST_F(LftWriterTest, AWriteOfSomeLidsLeavesTheOthersAsTheyAre) {
  Table held = Empty();
  held.port[2] = 33, held.port[60] = 7;
  Lft(0).Confirm(0, held.port);
  Lft(1).Confirm(0, Planned(1).port);
  StartWrites({Write(0, 0, 0b1010)});
  const auto writes = Writes();
  ASSERT_EQ(writes.size(), 1u);
  Table wanted = held;
  wanted.port[1] = Planned(0).port[1], wanted.port[3] = Planned(0).port[3];
  EXPECT_EQ(TableIn(writes[0]), wanted);
}

TEST_F(LftWriterTest, EntriesThatAreWithdrawnLeadNowhereUntilALaterStage) {
  Table held = Planned(0);
  held.port[4] = 1;
  Lft(0).Confirm(0, held.port);
  Lft(1).Confirm(0, Planned(1).port);
  routing::TableWrite away = Write(0, 0, 1u << 4, 0), back = Write(0, 0, 1u << 4, 1);
  away.withdraw = true;
  StartWrites({away, back});
  const auto first = Writes();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(TableIn(first[0]).port[4], routing::kNoRoute);
  ConfirmAll(first);
  const auto second = Writes();
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(TableIn(second[0]), Planned(0));
}

TEST_F(LftWriterTest, ABlockThatHoldsTheWantedEntriesByNowIsNotWritten) {
  ReadBoth();
  StartWrites({Write(0, 0), Write(1, 1)});
  Lft(0).Confirm(0, Planned(0).port);  // It was uncertain when the order was made.
  EXPECT_THAT(Texts(Writes()), ElementsAre("Set LinearForwardingTable 0x0 of s1"));
}

TEST_F(LftWriterTest, ABlockWaitsForTheSetOfAnEarlierRun) {
  ReadBoth();
  Lft(0).MarkSent(0, Empty().port);
  StartWrites({Write(0, 0), Write(1, 0)});
  const auto first = Writes();
  EXPECT_THAT(Texts(first), ElementsAre("Set LinearForwardingTable 0x0 of s1"));
  ConfirmAll(first);
  writer_->EndIfAnswered();
  EXPECT_EQ(writer_->phase(), Phase::kWriting);
  Lft(0).Complete(0);
  EXPECT_THAT(Texts(Writes()), ElementsAre("Set LinearForwardingTable 0x0 of s0"));
}

// ---- what cannot be written

TEST_F(LftWriterTest, ASwitchWithoutTheTopThatItNeedsIsLeftToALaterRun) {
  EXPECT_THAT(StartFresh(/*top=*/3), IsEmpty());
  EXPECT_EQ(record().failures(), 2u);
  EXPECT_THAT(record().undone(), UnorderedElementsAre(fabric_.switches[0], fabric_.switches[1]));
}

TEST_F(LftWriterTest, ASwitchThatIsGoneOrDoesNotAnswerIsLeftToALaterRun) {
  ReadBoth();
  StartWrites({Write(0, 0), Write(1, 0)});
  const Request read = Submit({{fabric_.switches[0], 0, PortNum(0), Work::kReadLft},
                               devices_.Get(fabric_.switches[0], Table::kAttribute, 0)});
  Reply(read, Timeout(read));
  fabric_.builder.RemoveNode(fabric_.switches[1]);
  EXPECT_THAT(Writes(), IsEmpty());
  EXPECT_THAT(record().undone(), UnorderedElementsAre(fabric_.switches[0], fabric_.switches[1]));
  writer_->EndIfAnswered();
  EXPECT_EQ(writer_->phase(), Phase::kDone);
}

// Lost and found again since the run began, it may hold anything.
TEST_F(LftWriterTest, ASwitchThatWasReplacedSinceItsTablesWereReadIsNotWritten) {
  ReadBoth();
  StartWrites({Write(0, 0), Write(1, 0)});
  applied().Remove(fabric_.switches[0]);
  EXPECT_THAT(Texts(Writes()), ElementsAre("Set LinearForwardingTable 0x0 of s1"));
  EXPECT_THAT(record().undone(), UnorderedElementsAre(fabric_.switches[0]));
}

TEST_F(LftWriterTest, WritesBehindOneThatFailedAreNotSentAndCountAsFailures) {
  ReadBoth();
  StartWrites({Write(1, 0), Write(0, 1)});
  const auto first = Writes();
  Reply(first[0], Refusal(first[0]));
  EXPECT_THAT(Writes(), IsEmpty());
  writer_->EndIfAnswered();
  EXPECT_EQ(writer_->phase(), Phase::kDone);
  EXPECT_EQ(record().failures(), 2u) << "the one that was refused, and the one that waited for it";
  EXPECT_THAT(Problems(), ElementsAre("SetRefused: Set LinearForwardingTable: status 0x001c"));
}

// ---- answers

TEST_F(LftWriterTest, ALostSetLeavesTheBlockWithEitherContent) {
  ReadBoth();
  StartWrites({Write(0, 0)});
  const auto writes = Writes();
  Reply(writes[0], Timeout(writes[0]));
  EXPECT_FALSE(Lft(0).Knows(0));
  EXPECT_FALSE(Lft(0).IsInFlight(0));
  ASSERT_NE(Lft(0).MayHold(0), nullptr);
  EXPECT_EQ(*Lft(0).MayHold(0), Planned(0).port);
  EXPECT_THAT(List(kRead), testing::SizeIs(1)) << "it is read before it is written";
}

TEST_F(LftWriterTest, ASetThatDidNotLeaveChangesNothing) {
  ReadBoth();
  StartWrites({Write(0, 0)});
  const auto writes = Writes();
  Reply(writes[0], Unsent(writes[0]));
  EXPECT_TRUE(Lft(0).Knows(0));
  EXPECT_EQ(Lft(0).row()[1], routing::kNoRoute);
  EXPECT_EQ(record().failures(), 1u);
  EXPECT_THAT(Problems(), ElementsAre("Unresponsive: Set LinearForwardingTable: not sent"));
}

TEST_F(LftWriterTest, ASetThatIsAnsweredWithOtherEntriesIsRepeatedByTheNextRunWithoutARead) {
  const auto writes = StartFresh();
  Reply(writes[0], AnswerWith(writes[0], Empty()));
  ConfirmAll({writes[1]});
  EXPECT_THAT(Problems(),
              ElementsAre("SetRefused: answers Set LinearForwardingTable 0 with other values"));
  EXPECT_THAT(record().undone(), UnorderedElementsAre(fabric_.switches[0]));
  EXPECT_TRUE(Lft(0).IsContradicted(0));
  EXPECT_THAT(Listed(kRead), IsEmpty()) << "its reads prove nothing";
  EXPECT_THAT(Texts(StartWithoutOrder()), ElementsAre("Set LinearForwardingTable 0x0 of s0"));
}

TEST_F(LftWriterTest, AnAnswerOfASwitchThatIsGoneCountsAsAFailureAlone) {
  const auto writes = StartFresh();
  fabric_.builder.RemoveNode(fabric_.switches[0]);
  devices_.Remove(fabric_.switches[0]);
  Reply(writes[0], AnswerTo(writes[0], writes[0].smp.data));
  EXPECT_EQ(record().failures(), 1u);
  EXPECT_FALSE(Lft(0).WasRead());
  ConfirmAll({writes[1]});
  writer_->EndIfAnswered();
  EXPECT_EQ(writer_->phase(), Phase::kDone);
}

// ---- answers to a run that is gone

TEST_F(LftWriterTest, ALateAnswerConfirmsTheBlock) {
  const auto writes = StartFresh();
  writer_.reset();
  EXPECT_FALSE(LftWriter::OnLateAnswer(
      {writes[0].item, AnswerTo(writes[0], writes[0].smp.data), fabric_.builder, devices_}));
  EXPECT_TRUE(Lft(0).Knows(0));
  EXPECT_FALSE(LftWriter::OnLateAnswer(
      {writes[1].item, AnswerWith(writes[1], Empty()), fabric_.builder, devices_}));
  EXPECT_TRUE(Lft(1).IsContradicted(0));
}

TEST_F(LftWriterTest, ALateFailureLetsTheBlockBeWrittenAgain) {
  ReadBoth();
  StartWrites({Write(0, 0), Write(1, 0)});
  const auto writes = Writes();
  EXPECT_FALSE(
      LftWriter::OnLateAnswer({writes[0].item, Timeout(writes[0]), fabric_.builder, devices_}));
  EXPECT_FALSE(Lft(0).IsInFlight(0));
  EXPECT_FALSE(Lft(0).Knows(0));
  EXPECT_FALSE(
      LftWriter::OnLateAnswer({writes[1].item, Unsent(writes[1]), fabric_.builder, devices_}));
  EXPECT_TRUE(Lft(1).Knows(0));
}

}  // namespace
}  // namespace fabricd::sweep
