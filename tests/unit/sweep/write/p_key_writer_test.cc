// SPDX-License-Identifier: Apache-2.0
// IBA vol 1 §14.2.5.7. Which keys belong where is PortKeys' (port_keys_test.cc).
#include "sweep/write/p_key_writer.h"

#include "policy/partitions_text.h"
#include "tests/unit/sweep/write/writer_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class PKeyWriterTest : public OneWriterTest<PKeyWriter> {
 protected:
  static constexpr ProgramStage kRead = ProgramStage::kReadTables, kSet = ProgramStage::kKeys;

  // Host 1 is a full member of partition 1. All tables hold the default key; the leaf's port that
  // faces host 1 was not read.
  PKeyWriterTest() {
    const auto parsed = policy::ParsePartitions("A=1: 0x1001=full;");
    input_.desired.keys.index = std::make_shared<const policy::PartitionIndex>(
        parsed.partitions, policy::PartitionSet(), true);
    for (size_t at : {0, 1}) {
      EditSwitch(at, [](wire::SwitchInfo& info) {
        info.partition_enforcement_cap = 32;
        info.inbound_enforcement_cap = true;
      });
      Read(applied().PKeys(SwitchPort(at, 0)), {0x7FFF});
      wire::NodeInfo info = fabric_.builder.node(fabric_.hosts[at])->info;
      info.partition_cap = 32;
      fabric_.builder.PutNode(info);
    }
    Read(applied().PKeys(fabric_.Host(0)), {0xFFFF});  // The SM's.
    Read(applied().SwitchKeys(SwitchPort(0, 1)), {0xFFFF});
    Read(applied().PKeys(host_), {0x7FFF});
  }
  static wire::PKeyTable Table(std::initializer_list<uint16_t> keys) {
    wire::PKeyTable table;
    size_t i = 0;
    for (uint16_t key : keys) table.keys[i++] = PKey(key);
    return table;
  }
  static void Read(AppliedState::PKeyBlocks& blocks, std::initializer_list<uint16_t> keys) {
    blocks.GrowTo(1);
    blocks.Confirm(0, Table(keys));
  }
  static wire::PKeyTable TableIn(const Request& request) {
    return wire::PKeyTable::Decode(request.smp.data);
  }
  const wire::PKeyTable* Known(PortRef port) { return applied().FindPKeys(port)->Find(0); }

  const PortRef host_ = fabric_.Host(1), leaf_ = SwitchPort(1, 1);
};

TEST_F(PKeyWriterTest, ReadsTheSwitchPortThatIsToEnforceAndWritesBothEndsOfItsLink) {
  const auto reads = List(kRead);
  EXPECT_THAT(Texts(reads), ElementsAre("Get P_KeyTable 0x10000 of s1"))
      << "named by host and switch, read once";
  registers_.Put(leaf_.node, 0x10000, Table({0x8999}));
  ConfirmAll(reads);
  const auto writes = List(kSet);
  ASSERT_THAT(Texts(writes),
              UnorderedElementsAre("Set P_KeyTable 0x0 of h1", "Set P_KeyTable 0x10000 of s1"));
  for (const Request& write : writes) EXPECT_EQ(TableIn(write), Table({0x7FFF, 0x8001}));
  EXPECT_EQ(Known(host_), nullptr) << "confirmed by its answer alone";
  ConfirmAll(writes);
  EXPECT_EQ(*Known(host_), Table({0x7FFF, 0x8001}));
  EXPECT_THAT(Listed(kRead), IsEmpty());
  EXPECT_THAT(Listed(kSet), IsEmpty());
}

TEST_F(PKeyWriterTest, NothingIsWrittenBesideABlockThatIsNotKnown) {
  applied().PKeys(host_).Resize(2);
  EXPECT_THAT(Listed(kSet), IsEmpty());
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("Unreadable: a block of its P_Key table")));
}

TEST_F(PKeyWriterTest, ARunOfTreesAloneReadsNothing) {
  input_.trees_only = true;
  EXPECT_THAT(Listed(kRead), IsEmpty());
}

TEST_F(PKeyWriterTest, LooksBeyondTheScopeWherePartitionsHaveChanged) {
  input_.scope.nodes = {fabric_.hosts[0]};
  EXPECT_THAT(Listed(kRead), IsEmpty());
  EXPECT_THAT(Listed(kSet), IsEmpty());
  input_.scope.all_keys = true;
  EXPECT_THAT(Listed(kSet), ElementsAre("Set P_KeyTable 0x0 of h1"));
}

TEST_F(PKeyWriterTest, ProblemsOfTablesAreMadeAgainWhereAllPortsAreLookedAt) {
  problems_.Add(ProblemKind::kPKeyTableFull, ProblemSubject::Named("an old one"), "no room");
  problems_.Add(ProblemKind::kNotEnforced, ProblemSubject::Named("an old one"), "too small");
  CarryOut(kSet);
  EXPECT_EQ(Problems().size(), 2u);
  input_.scope.all_keys = true;
  CarryOut(kSet);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(PKeyWriterTest, AnUnreachableNodeIsNotListed) {
  devices_.Remove(leaf_.node);
  EXPECT_THAT(Listed(kRead), IsEmpty());
  devices_.Remove(host_.node);
  EXPECT_THAT(Listed(kSet), IsEmpty());
}

TEST_F(PKeyWriterTest, ATableThatTheDeviceDoesNotHaveLeavesNothingUndone) {
  const auto reads = List(kRead);
  Reply(reads[0], Refusal(reads[0]));
  EXPECT_EQ(record().failures(), 0u);
  EXPECT_THAT(record().undone(), IsEmpty());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(PKeyWriterTest, AReadWithoutAnAnswerIsAFailureAndDueAgain) {
  const auto reads = List(kRead);
  Reply(reads[0], Timeout(reads[0]));
  EXPECT_THAT(record().undone(), UnorderedElementsAre(leaf_.node));
  EXPECT_THAT(Problems(), ElementsAre("Unresponsive: Get P_KeyTable: no answer"));
  EXPECT_THAT(Listed(kRead), ElementsAre("Get P_KeyTable 0x10000 of s1"));
}

TEST_F(PKeyWriterTest, ARefusedSetLeavesTheTableUnknown) {
  const auto writes = List(kSet);
  ASSERT_THAT(Texts(writes), ElementsAre("Set P_KeyTable 0x0 of h1"));
  Reply(writes[0], Refusal(writes[0], 0x0008));
  EXPECT_THAT(Problems(), ElementsAre("SetRefused: Set P_KeyTable: status 0x0008"));
  EXPECT_THAT(record().undone(), UnorderedElementsAre(host_.node));
  EXPECT_THAT(Texts(List(kRead)), testing::Contains("Get P_KeyTable 0x0 of h1"));
  EXPECT_THAT(Listed(kSet), IsEmpty());
}

TEST_F(PKeyWriterTest, ASetThatIsAnsweredWithOtherKeysIsRepeatedByTheNextRun) {
  auto writes = List(kSet);
  Reply(writes[0], AnswerWith(writes[0], Table({0x7FFF})));
  EXPECT_THAT(Problems(), ElementsAre("SetRefused: answers Set P_KeyTable 0 with other values"));
  EXPECT_THAT(Texts(List(kRead)), testing::Not(testing::Contains("Get P_KeyTable 0x0 of h1")))
      << "its reads prove nothing";
  writes = List(kSet);
  ASSERT_THAT(Texts(writes), ElementsAre("Set P_KeyTable 0x0 of h1"));
  EXPECT_EQ(TableIn(writes[0]), Table({0x7FFF, 0x8001}));
  ConfirmAll(writes);
  EXPECT_THAT(Listed(kSet), IsEmpty());
}

TEST_F(PKeyWriterTest, AnAnswerOfAHostThatIsGoneCountsAsAFailureAlone) {
  const auto writes = List(kSet);
  fabric_.builder.RemoveNode(host_.node);
  Reply(writes[0], Refusal(writes[0]));
  EXPECT_EQ(record().failures(), 1u);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(PKeyWriterTest, RequestsThatAnEarlierAnswerHasMadeNeedlessAreLeftOut) {
  Start();
  writer_->List(kRead, run_->queue);
  Read(applied().SwitchKeys(leaf_), {0x7FFF, 0x8001});
  EXPECT_THAT(Take(*writer_), IsEmpty());
  writer_->List(kSet, run_->queue);
  Read(applied().PKeys(host_), {0x7FFF, 0x8001});
  EXPECT_THAT(Take(*writer_), IsEmpty());
}

TEST_F(PKeyWriterTest, WhileASetIsInFlightOthersOfThatPortWait) {
  applied().SetBusy(host_, wire::AttributeId::kPKeyTable);
  EXPECT_THAT(Listed(kSet), IsEmpty());
  applied().ClearBusy(host_, wire::AttributeId::kPKeyTable);
  EXPECT_THAT(Texts(Take(*writer_)), ElementsAre("Set P_KeyTable 0x0 of h1"));
}

TEST_F(PKeyWriterTest, ALateAnswerConfirmsTheTableOfAHostOrOfASwitchPort) {
  Read(applied().SwitchKeys(leaf_), {});
  for (const Request& write : List(kSet)) {
    EXPECT_FALSE(PKeyWriter::OnLateAnswer(
        {write.item, AnswerTo(write, write.smp.data), fabric_.builder, devices_}));
    const auto* blocks = write.item.node == host_.node ? applied().FindPKeys(host_)
                                                       : applied().FindSwitchKeys(leaf_);
    EXPECT_TRUE(blocks->Knows(0));
    EXPECT_EQ(*blocks->Find(0), Table({0x7FFF, 0x8001}));
  }
  EXPECT_THAT(Listed(kSet), IsEmpty());
}

}  // namespace
}  // namespace fabricd::sweep
