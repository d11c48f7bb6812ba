// SPDX-License-Identifier: Apache-2.0
// IBA vol 1 §14.2.5.12. In which order entries come and go is TreePush's (tree_push_test.cc).
#include "sweep/write/mft_writer.h"

#include "fabric/multicast_groups.h"
#include "routing/multicast/multicast_rows.h"
#include "tests/unit/sweep/write/writer_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

using Block = routing::MulticastBlock;
constexpr uint16_t kMlid = fabric::kFirstMulticastLid.value();

class MftWriterTest : public OneWriterTest<MftWriter> {
 protected:
  MftWriterTest() {
    for (size_t at : {0, 1}) {
      EditSwitch(at, [](wire::SwitchInfo& info) { info.linear_fdb_top = 4; });
      EditPort(SwitchPort(at, 0), [](wire::PortInfo& info) { info.lid = Lid(1); });
      applied().Lft(fabric_.switches[at]).Confirm(0, {});
    }
  }
  void LetTopsBeSet(uint16_t top = 0) {
    for (size_t at : {0, 1}) {
      EditPort(SwitchPort(at, 0),
               [](wire::PortInfo& info) { info.capability_mask |= wire::kCapIsMulticastFdbTop; });
      EditSwitch(at, [top](wire::SwitchInfo& info) { info.multicast_fdb_top = top; });
    }
  }
  AppliedMft& Mft(size_t at) { return applied().Mft(fabric_.switches[at]); }
  // Both tables are known to be empty.
  void ReadBoth() {
    for (size_t at : {0, 1})
      for (uint16_t block : {0, 1})
        for (uint8_t position : {0, 1, 2}) Mft(at).Confirm({block, position}, {});
  }
  // One group, 0xC000 + number, of these ports.
  static std::shared_ptr<const routing::MulticastPlan> Tree(std::vector<PortRef> ports,
                                                            uint16_t number = 0) {
    auto tree = std::make_shared<routing::MulticastTree>();
    tree->mlid = Lid(static_cast<uint16_t>(kMlid + number));
    tree->ports = std::move(ports);
    return std::make_shared<const routing::MulticastPlan>(routing::PlanOfTrees({tree}, nullptr));
  }
  static Block Entry(uint16_t mask, size_t number = 0) {
    Block block{};
    block[number] = mask;
    return block;
  }
  static Block BlockIn(const Request& request) {
    return wire::MulticastForwardingTable::Decode(request.smp.data).port_mask;
  }
  static uint16_t TopIn(const Request& request) {
    return wire::SwitchInfo::Decode(request.smp.data).multicast_fdb_top;
  }
  // All that may be sent now.
  std::vector<Request> Next() {
    std::vector<Request> requests;
    while (auto next = writer_->NextRequest()) requests.push_back(Submit({next->item, next->smp}));
    return requests;
  }
  std::vector<Request> Reads() {
    Start();
    writer_->List(ProgramStage::kReadTables, run_->queue);
    return Next();
  }
  // A run that wants these trees, up to what may be sent at once.
  std::vector<Request> Want(std::shared_ptr<const routing::MulticastPlan> trees,
                            bool together = true) {
    Start();
    writer_->SetTarget(std::move(trees), together);
    return Next();
  }
  void CarryAll(std::vector<Request> requests) {
    for (; !requests.empty(); requests = Next()) ConfirmAll(requests);
    EXPECT_TRUE(writer_->done());
  }
};

// ---- reading

TEST_F(MftWriterTest, ReadsTheFirstBlockOfEachSwitchWithAllItsPorts) {
  const auto reads = Reads();
  EXPECT_THAT(Texts(reads), ElementsAre("Get MulticastForwardingTable 0x0 of s0",
                                        "Get MulticastForwardingTable 0x0 of s1",
                                        "Get MulticastForwardingTable 0x10000000 of s0",
                                        "Get MulticastForwardingTable 0x10000000 of s1",
                                        "Get MulticastForwardingTable 0x20000000 of s0",
                                        "Get MulticastForwardingTable 0x20000000 of s1"));
  EXPECT_FALSE(writer_->done());
  CarryAll(reads);
  EXPECT_TRUE(Mft(0).Knows({0, 2}));
  EXPECT_THAT(Reads(), IsEmpty());
}

TEST_F(MftWriterTest, ReadsOnBehindABlockWithEntriesToTheEndOfTheTable) {
  for (uint32_t block : {0, 1})
    registers_.Put(fabric_.switches[0], block, wire::MulticastForwardingTable{Entry(0b10)});
  ConfirmAll(Reads());
  const auto more = Next();
  EXPECT_THAT(Texts(more), ElementsAre("Get MulticastForwardingTable 0x1 of s0"));
  ConfirmAll(more);
  EXPECT_THAT(Next(), IsEmpty()) << "MulticastFDBCap is 64";
}

TEST_F(MftWriterTest, ReadsTheBlocksThatGroupsTake) {
  input_.desired.multicast_blocks = 9;
  EXPECT_THAT(Reads(), SizeIs(12)) << "of two blocks each, by MulticastFDBCap";
}

TEST_F(MftWriterTest, ReadsUpToMulticastFdbTopWhereThereIsOne) {
  LetTopsBeSet(kMlid + 32);
  EXPECT_THAT(Reads(), SizeIs(12));
  LetTopsBeSet(kMlid + 31);
  auto reads = Reads();
  EXPECT_THAT(reads, SizeIs(6));
  registers_.Put(fabric_.switches[0], 0, wire::MulticastForwardingTable{Entry(0b10)});
  ConfirmAll(reads);
  EXPECT_THAT(Next(), IsEmpty()) << "the top says that there is nothing behind";
  LetTopsBeSet(kMlid - 1);
  EXPECT_THAT(Reads(), IsEmpty());
}

TEST_F(MftWriterTest, ReadsNothingInOtherStagesOrOfSwitchesThatAreNotReached) {
  devices_.Remove(fabric_.switches[1]);
  EXPECT_THAT(Reads(), SizeIs(3));
  Start();
  writer_->List(ProgramStage::kSwitches, run_->queue);
  EXPECT_THAT(Next(), IsEmpty());
}

TEST_F(MftWriterTest, BlocksThatAreKnownContradictedOrInFlightAreNotRead) {
  ReadBoth();
  Mft(0).MarkSent({0, 0}, {});
  Mft(1).MarkSent({0, 0}, {});
  Mft(1).Complete({0, 0});
  Mft(1).MarkContradicted({0, 0});
  EXPECT_THAT(Reads(), IsEmpty());
  EXPECT_TRUE(writer_->done());
}

TEST_F(MftWriterTest, AReadThatFailsIsAFailureAndDueAgain) {
  const auto reads = Reads();
  for (const Request& read : reads) Reply(read, Refusal(read));
  EXPECT_TRUE(writer_->done());
  EXPECT_EQ(record().failures(), 6u);
  EXPECT_THAT(Problems(), Contains("SetRefused: Get MulticastForwardingTable: status 0x001c"));
  EXPECT_THAT(Reads(), SizeIs(6));
}

// ---- writing

TEST_F(MftWriterTest, WritesTheBlocksThatDifferAndThenNothing) {
  ReadBoth();
  const auto trees =
      Tree({SwitchPort(0, 1), SwitchPort(0, 36), SwitchPort(1, 1), SwitchPort(1, 36)});
  const auto writes = Want(trees);
  EXPECT_THAT(Texts(writes), UnorderedElementsAre("Set MulticastForwardingTable 0x0 of s0",
                                                  "Set MulticastForwardingTable 0x20000000 of s0",
                                                  "Set MulticastForwardingTable 0x0 of s1",
                                                  "Set MulticastForwardingTable 0x20000000 of s1"));
  EXPECT_EQ(BlockIn(writes[0]), Entry(0b10));
  EXPECT_EQ(writes[0].smp.m_key, MKey(0x5EC));
  EXPECT_FALSE(Mft(0).Knows({0, 0})) << "confirmed by the answer alone";
  CarryAll(writes);
  EXPECT_TRUE(writer_->IsComplete());
  EXPECT_EQ(writer_->blocks_written(), 4u);
  EXPECT_EQ(writer_->size(), 4u);
  EXPECT_EQ(writer_->position(), 4u);
  EXPECT_EQ(Mft(0).Surely({0, 0}), Entry(0b10));
  EXPECT_THAT(Want(trees), IsEmpty());
  EXPECT_TRUE(writer_->IsComplete());
}

TEST_F(MftWriterTest, WithoutTreesTheTablesStayAsTheyAre) {
  Mft(0).Confirm({0, 0}, Entry(0b110));
  EXPECT_THAT(Want(nullptr), IsEmpty());
  EXPECT_TRUE(writer_->has_target());
  EXPECT_TRUE(writer_->IsComplete());
}

TEST_F(MftWriterTest, ABlockThatHoldsTheWantedEntriesByNowIsNotWritten) {
  ReadBoth();
  Start();
  writer_->SetTarget(Tree({SwitchPort(0, 1)}), true);
  Mft(0).Confirm({0, 0}, Entry(0b10));
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_TRUE(writer_->IsComplete());
}

TEST_F(MftWriterTest, ASwitchThatHasRestartedOrWasReplacedIsLeftToTheNextRun) {
  ReadBoth();
  EditSwitch(0, [](wire::SwitchInfo& info) { info.linear_fdb_top = 0; });
  applied().Lft(fabric_.switches[1]).Forget();
  EXPECT_THAT(Want(Tree({SwitchPort(0, 1), SwitchPort(1, 1)})), IsEmpty());
  EXPECT_TRUE(writer_->done());
  EXPECT_FALSE(writer_->IsComplete());
}

TEST_F(MftWriterTest, ASwitchThatDoesNotAnswerIsGivenUpAtOnce) {
  ReadBoth();
  Start();
  writer_->SetTarget(Tree({SwitchPort(0, 1), SwitchPort(1, 1)}), true);
  const Request read =
      Submit({{fabric_.switches[0], 0, PortNum(0), Work::kReadLft},
              devices_.Get(fabric_.switches[0], wire::AttributeId::kLinearForwardingTable, 0)});
  run_->sender.OnCompletion(Timeout(read));
  const auto writes = Next();
  EXPECT_THAT(Texts(writes), ElementsAre("Set MulticastForwardingTable 0x0 of s1"));
  CarryAll(writes);
  EXPECT_FALSE(writer_->IsComplete());
  EXPECT_THAT(record().undone(), UnorderedElementsAre(fabric_.switches[0]));
  EXPECT_TRUE(Mft(0).Knows({0, 0})) << "nothing was sent";
}

// ---- MulticastFDBTop

TEST_F(MftWriterTest, ATopThatRisesIsSetBeforeTheBlocksAndOneThatFallsAfterThem) {
  LetTopsBeSet(kMlid + 63);
  EditSwitch(0, [](wire::SwitchInfo& info) { info.multicast_fdb_top = 0; });
  ReadBoth();
  Start();
  writer_->SetTarget(Tree({SwitchPort(0, 1), SwitchPort(1, 1)}), true);
  const auto first = Next();
  ASSERT_THAT(Texts(first),
              ElementsAre("Set SwitchInfo 0x0 of s0", "Set MulticastForwardingTable 0x0 of s0",
                          "Set MulticastForwardingTable 0x0 of s1"));
  EXPECT_EQ(TopIn(first[0]), kMlid + 31);
  ConfirmAll(first);
  const auto last = Next();
  ASSERT_THAT(Texts(last), ElementsAre("Set SwitchInfo 0x0 of s1"));
  EXPECT_EQ(TopIn(last[0]), kMlid + 31);
  EXPECT_FALSE(writer_->done());
  CarryAll(last);
  EXPECT_TRUE(writer_->IsComplete());
  EXPECT_EQ(fabric_.builder.node(fabric_.switches[1])->switch_info->multicast_fdb_top, kMlid + 31);
}

TEST_F(MftWriterTest, ATopThatWasNeverSetIsNotSetWhileThereAreNoEntries) {
  LetTopsBeSet(0);
  ReadBoth();
  EXPECT_THAT(Want(std::make_shared<const routing::MulticastPlan>()), IsEmpty());
  LetTopsBeSet(kMlid);
  const auto tops = Want(std::make_shared<const routing::MulticastPlan>());
  ASSERT_THAT(tops, SizeIs(2));
  EXPECT_EQ(TopIn(tops[0]), routing::kNoMulticastTop.value());
}

TEST_F(MftWriterTest, ATopIsLimitedByTheCapacityOfTheTable) {
  LetTopsBeSet(0);
  for (size_t at : {0, 1})
    EditSwitch(at, [](wire::SwitchInfo& info) { info.multicast_fdb_cap = 20; });
  const auto tops = Want(Tree({SwitchPort(0, 1)}));
  ASSERT_EQ(tops[0].item.work, Work::kSetMftTop);
  EXPECT_EQ(TopIn(tops[0]), kMlid + 19);
}

TEST_F(MftWriterTest, SettingATopClearsNoPortStateChangeAndWaitsForAnotherSetOfSwitchInfo) {
  LetTopsBeSet(0);
  EditSwitch(1, [](wire::SwitchInfo& info) { info.port_state_change = true; });
  applied().SetBusy(SwitchPort(0, 0), wire::AttributeId::kSwitchInfo);
  const auto tops = Want(Tree({SwitchPort(0, 1)}));
  ASSERT_EQ(Texts(tops)[0], "Set SwitchInfo 0x0 of s1");
  EXPECT_FALSE(wire::SwitchInfo::Decode(tops[0].smp.data).port_state_change);
  ConfirmAll(tops);
  EXPECT_FALSE(writer_->done());
  applied().ClearBusy(SwitchPort(0, 0), wire::AttributeId::kSwitchInfo);
  EXPECT_THAT(Texts(Next()), ElementsAre("Set SwitchInfo 0x0 of s0"));
}

TEST_F(MftWriterTest, ATopThatTheSwitchDoesNotTakeIsAContradiction) {
  LetTopsBeSet(0);
  devices_.Remove(fabric_.switches[1]);
  const auto tops = Want(Tree({SwitchPort(0, 1)}));
  wire::SwitchInfo kept = *fabric_.builder.node(fabric_.switches[0])->switch_info;
  Reply(tops[0], AnswerWith(tops[0], kept));
  EXPECT_THAT(Problems(), ElementsAre("SetRefused: answers Set SwitchInfo 0 with other values"));
  EXPECT_FALSE(writer_->IsComplete());
  EXPECT_THAT(record().undone(), UnorderedElementsAre(fabric_.switches[0]));
}

TEST_F(MftWriterTest, PortStateChangeInTheAnswerToATopHasTheSwitchLookedAt) {
  LetTopsBeSet(0);
  const auto tops = Want(Tree({SwitchPort(0, 1)}));
  Sent();
  auto shown = wire::SwitchInfo::Decode(tops[0].smp.data);
  shown.port_state_change = true;
  Reply(tops[0], AnswerWith(tops[0], shown));
  EXPECT_THAT(Sent(), ElementsAre("Get PortInfo 0x0 of s0"));
}

TEST_F(MftWriterTest, ATopThatWasRefusedOrOfASwitchThatIsGoneIsAFailure) {
  LetTopsBeSet(0);
  const auto tops = Want(Tree({SwitchPort(0, 36)}));
  ASSERT_THAT(Texts(tops), ElementsAre("Set SwitchInfo 0x0 of s0", "Set SwitchInfo 0x0 of s1"));
  Reply(tops[0], Refusal(tops[0]));
  fabric_.builder.RemoveNode(fabric_.switches[1]);
  Reply(tops[1], AnswerTo(tops[1], tops[1].smp.data));
  EXPECT_EQ(record().failures(), 2u);
  EXPECT_THAT(record().undone(), UnorderedElementsAre(fabric_.switches[0]));
  EXPECT_FALSE(writer_->IsComplete());
}

// ---- withdrawal

TEST_F(MftWriterTest, AWithdrawalTakesAllEntriesAndLeavesTheTop) {
  LetTopsBeSet(kMlid + 31);
  ReadBoth();
  Mft(0).Confirm({0, 0}, Entry(0b110));
  Start();
  EXPECT_TRUE(writer_->IsWithdrawn()) << "none was wanted";
  writer_->WantWithdrawal();
  EXPECT_TRUE(writer_->WantsWithdrawal());
  EXPECT_FALSE(writer_->IsWithdrawn());
  writer_->BeginWithdrawal();
  const auto writes = Next();
  ASSERT_THAT(Texts(writes), ElementsAre("Set MulticastForwardingTable 0x0 of s0"));
  EXPECT_EQ(BlockIn(writes[0]), Block{});
  EXPECT_FALSE(writer_->IsWithdrawn());
  CarryAll(writes);
  EXPECT_TRUE(writer_->IsWithdrawn());
  EXPECT_FALSE(writer_->has_target());
  EXPECT_FALSE(writer_->IsComplete());
}

TEST_F(MftWriterTest, ASwitchThatMayHoldWrongEntriesIsUnsafe) {
  ReadBoth();
  Mft(0).Confirm({0, 0}, Entry(0b110));
  const auto losses = Want(Tree({SwitchPort(1, 1), SwitchPort(1, 36)}));
  ASSERT_THAT(Texts(losses), ElementsAre("Set MulticastForwardingTable 0x0 of s0"));
  Reply(losses[0], Timeout(losses[0]));
  CarryAll(Next());
  EXPECT_TRUE(writer_->IsUnsafe(fabric_.switches[0]));
  EXPECT_FALSE(writer_->IsUnsafe(fabric_.switches[1]));
  EXPECT_FALSE(writer_->IsComplete());
}

// ---- answers

TEST_F(MftWriterTest, ALostSetLeavesTheBlockWithEitherContent) {
  ReadBoth();
  const auto writes = Want(Tree({SwitchPort(0, 1)}));
  Reply(writes[0], Timeout(writes[0]));
  EXPECT_FALSE(Mft(0).Knows({0, 0}));
  EXPECT_FALSE(Mft(0).IsInFlight({0, 0}));
  EXPECT_EQ(Mft(0).Surely({0, 0}), Block{});
  EXPECT_EQ(Mft(0).Possibly({0, 0}), Entry(0b10));
  EXPECT_THAT(Texts(Reads()), ElementsAre("Get MulticastForwardingTable 0x0 of s0"));
}

TEST_F(MftWriterTest, ASetThatDidNotLeaveChangesNothing) {
  ReadBoth();
  const auto writes = Want(Tree({SwitchPort(0, 1)}));
  Reply(writes[0], Unsent(writes[0]));
  EXPECT_TRUE(Mft(0).Knows({0, 0}));
  EXPECT_FALSE(writer_->IsComplete());
}

TEST_F(MftWriterTest, ASetThatIsAnsweredWithOtherEntriesIsRepeatedByTheNextRunWithoutARead) {
  ReadBoth();
  const auto trees = Tree({SwitchPort(0, 1)});
  const auto writes = Want(trees);
  Reply(writes[0], AnswerWith(writes[0], wire::MulticastForwardingTable{}));
  EXPECT_THAT(Problems(),
              ElementsAre("SetRefused: answers Set MulticastForwardingTable 0 with other values"));
  EXPECT_TRUE(Mft(0).IsContradicted({0, 0}));
  EXPECT_THAT(Reads(), IsEmpty()) << "its reads prove nothing";
  EXPECT_THAT(Texts(Want(trees)), ElementsAre("Set MulticastForwardingTable 0x0 of s0"));
}

TEST_F(MftWriterTest, AnAnswerOfASwitchThatIsGoneCountsAsAFailureAlone) {
  ReadBoth();
  const auto writes = Want(Tree({SwitchPort(0, 1)}));
  fabric_.builder.RemoveNode(fabric_.switches[0]);
  Reply(writes[0], Timeout(writes[0]));
  EXPECT_EQ(record().failures(), 1u);
  EXPECT_THAT(record().undone(), IsEmpty());
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_TRUE(writer_->done());
}

// ---- answers to a run that is gone

TEST_F(MftWriterTest, ALateAnswerConfirmsTheBlockThatWasSent) {
  ReadBoth();
  const auto writes = Want(Tree({SwitchPort(0, 1), SwitchPort(1, 1)}));
  EXPECT_FALSE(MftWriter::OnLateAnswer(
      {writes[0].item, AnswerTo(writes[0], writes[0].smp.data), fabric_.builder, devices_}));
  EXPECT_EQ(Mft(0).Surely({0, 0}), Entry(0b10));
  EXPECT_TRUE(Mft(0).Knows({0, 0}));
  EXPECT_FALSE(MftWriter::OnLateAnswer({writes[1].item,
                                        AnswerWith(writes[1], wire::MulticastForwardingTable{}),
                                        fabric_.builder, devices_}));
  EXPECT_TRUE(Mft(1).IsContradicted({0, 0}));
  EXPECT_FALSE(Mft(1).Knows({0, 0}));
}

TEST_F(MftWriterTest, ALateFailureLetsTheBlockBeWrittenAgain) {
  ReadBoth();
  const auto writes = Want(Tree({SwitchPort(0, 1), SwitchPort(1, 1)}));
  EXPECT_FALSE(
      MftWriter::OnLateAnswer({writes[0].item, Timeout(writes[0]), fabric_.builder, devices_}));
  EXPECT_FALSE(Mft(0).IsInFlight({0, 0}));
  EXPECT_FALSE(Mft(0).Knows({0, 0}));
  EXPECT_FALSE(
      MftWriter::OnLateAnswer({writes[1].item, Unsent(writes[1]), fabric_.builder, devices_}));
  EXPECT_TRUE(Mft(1).Knows({0, 0}));
}

}  // namespace
}  // namespace fabricd::sweep
