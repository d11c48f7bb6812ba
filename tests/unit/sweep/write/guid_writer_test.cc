// SPDX-License-Identifier: Apache-2.0
// IBA vol 1 §14.2.5.5. Which entries are whose to write is PortGuids' (port_keys_test.cc).
#include "sweep/write/guid_writer.h"

#include "tests/unit/sweep/write/writer_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class GuidWriterTest : public OneWriterTest<GuidWriter> {
 protected:
  static constexpr ProgramStage kRead = ProgramStage::kReadTables, kSet = ProgramStage::kGuids;

  // Host 1 has two blocks; entries 1 of the first and 2 of the second are aliases.
  GuidWriterTest() {
    EditPort(port_, [](wire::PortInfo& info) {
      info.guid_cap = 16;
      info.port_state = wire::PortState::kActive;
    });
    fabric::AliasBlock first{Guid(0x1001), 0, 0b10, {}}, second{Guid(0x1001), 1, 0b100, {}};
    first.info.guids[1] = Guid(0xA1);
    second.info.guids[2] = Guid(0xB2);
    input_.desired.guids.aliases =
        std::make_shared<const fabric::AliasGuids>(std::vector<fabric::AliasBlock>{first, second});
    registers_.Put(port_.node, 0, Info({0x1001, 0, 0x77}));
  }
  static wire::GuidInfo Info(std::initializer_list<uint64_t> guids) {
    wire::GuidInfo info;
    size_t i = 0;
    for (uint64_t guid : guids) info.guids[i++] = Guid(guid);
    return info;
  }
  static wire::GuidInfo InfoIn(const Request& request) {
    return wire::GuidInfo::Decode(request.smp.data);
  }
  const wire::GuidInfo* Known(uint8_t block) { return applied().GuidsTo(port_, block).Find(block); }
  void ReadAll() { CarryOut(kRead); }

  const PortRef port_ = fabric_.Host(1);
};

TEST_F(GuidWriterTest, ReadsBlocksThatAreNotKnownAndThenWritesTheDifferencesAlone) {
  EXPECT_THAT(Listed(kSet), IsEmpty()) << "nothing is written beside a block that is not known";
  EXPECT_THAT(Texts(CarryOut(kRead)),
              ElementsAre("Get GUIDInfo 0x0 of h1", "Get GUIDInfo 0x1 of h1"));
  auto writes = List(kSet);
  ASSERT_THAT(Texts(writes), ElementsAre("Set GUIDInfo 0x0 of h1"));
  EXPECT_EQ(Known(0), nullptr) << "confirmed by its answer alone";
  ConfirmAll(writes);
  writes.push_back(Take(*writer_).at(0));
  ASSERT_THAT(Texts(writes), ElementsAre("Set GUIDInfo 0x0 of h1", "Set GUIDInfo 0x1 of h1"));
  ConfirmAll({writes[1]});
  EXPECT_EQ(InfoIn(writes[0]), Info({0x1001, 0xA1, 0x77})) << "the rest stays as the device has it";
  EXPECT_EQ(InfoIn(writes[1]), Info({0, 0, 0xB2}));
  EXPECT_EQ(writes[0].smp.m_key, MKey(0x5EC));
  EXPECT_EQ(*Known(0), Info({0x1001, 0xA1, 0x77}));
  EXPECT_THAT(Listed(kRead), IsEmpty());
  EXPECT_THAT(Listed(kSet), IsEmpty());
}

TEST_F(GuidWriterTest, ARunOfTreesAloneReadsNothing) {
  input_.trees_only = true;
  EXPECT_THAT(Listed(kRead), IsEmpty());
}

TEST_F(GuidWriterTest, ListsTheNodesWhoseAliasesHaveChangedBesideTheScope) {
  input_.scope.nodes = {fabric_.hosts[0]};
  EXPECT_THAT(Listed(kRead), IsEmpty());
  input_.scope.key_nodes = {fabric_.hosts[1]};
  EXPECT_THAT(Texts(List(kRead)), ElementsAre("Get GUIDInfo 0x0 of h1", "Get GUIDInfo 0x1 of h1"));
}

TEST_F(GuidWriterTest, AnUnreachableNodeIsNotListed) {
  ReadAll();
  devices_.Remove(port_.node);
  EXPECT_THAT(Listed(kRead), IsEmpty());
  EXPECT_THAT(Listed(kSet), IsEmpty());
}

TEST_F(GuidWriterTest, AHostWhoseLinkHasJustComeUpIsReadAgainForItMayHaveRestarted) {
  ReadAll();
  EXPECT_THAT(Listed(kRead), IsEmpty());
  EditPort(port_, [](wire::PortInfo& info) { info.port_state = wire::PortState::kInit; });
  EXPECT_THAT(Listed(kRead), ElementsAre("Get GUIDInfo 0x0 of h1", "Get GUIDInfo 0x1 of h1"));
}

TEST_F(GuidWriterTest, ABlockThatTheDeviceDoesNotHaveLeavesNothingUndone) {
  for (const Request& read : List(kRead)) Reply(read, Refusal(read));
  EXPECT_EQ(record().failures(), 0u);
  EXPECT_THAT(record().undone(), IsEmpty());
  EXPECT_EQ(*Known(1), wire::GuidInfo());
}

TEST_F(GuidWriterTest, AReadWithoutAnAnswerIsAFailureAndDueAgain) {
  const auto reads = List(kRead);
  Reply(reads[0], Timeout(reads[0]));
  EXPECT_EQ(record().failures(), 1u);
  EXPECT_THAT(record().undone(), UnorderedElementsAre(port_.node));
  EXPECT_THAT(Problems(), ElementsAre("Unresponsive: Get GUIDInfo: no answer"));
  EXPECT_THAT(Requests(*writer_, kRead), IsEmpty()) << "not in this run";
  Reply(reads[1], Timeout(reads[1]));
  EXPECT_EQ(List(kRead).size(), 2u);
}

TEST_F(GuidWriterTest, ARefusedSetLeavesTheBlockUnknown) {
  ReadAll();
  const auto writes = List(kSet);
  Reply(writes[0], Refusal(writes[0]));
  EXPECT_THAT(Problems(), ElementsAre("SetRefused: Set GUIDInfo: status 0x001c"));
  EXPECT_THAT(record().undone(), UnorderedElementsAre(port_.node));
  ConfirmAll(Take(*writer_));
  EXPECT_THAT(Listed(kSet), IsEmpty());
  EXPECT_THAT(Listed(kRead), ElementsAre("Get GUIDInfo 0x0 of h1"));
}

TEST_F(GuidWriterTest, ASetThatIsAnsweredWithOtherGuidsIsRepeatedByTheNextRun) {
  ReadAll();
  const auto writes = List(kSet);
  Reply(writes[0], AnswerWith(writes[0], Info({0x1001, 0xBAD})));
  EXPECT_THAT(Problems(), ElementsAre("SetRefused: answers Set GUIDInfo 0 with other values"));
  EXPECT_EQ(record().failures(), 1u);
  ConfirmAll(Take(*writer_));
  EXPECT_THAT(Listed(kRead), IsEmpty()) << "its reads prove nothing";
  const auto again = List(kSet);
  ASSERT_THAT(Texts(again), ElementsAre("Set GUIDInfo 0x0 of h1"));
  EXPECT_EQ(InfoIn(again[0]), Info({0x1001, 0xA1, 0x77}));
  ConfirmAll(again);
  EXPECT_THAT(Listed(kSet), IsEmpty());
}

TEST_F(GuidWriterTest, AnAnswerOfAHostThatIsGoneCountsAsAFailureAlone) {
  const auto reads = List(kRead);
  fabric_.builder.RemoveNode(port_.node);
  Reply(reads[0], Refusal(reads[0]));
  EXPECT_EQ(record().failures(), 1u);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(GuidWriterTest, ReadsOnWhileBlocksHoldGuidsWhereAllAreLookedFor) {
  input_.desired.guids.aliases = std::make_shared<const fabric::AliasGuids>();
  input_.desired.guids.read_all = true;
  registers_.Put(port_.node, 1, Info({0, 0x99}));
  ConfirmAll(List(kRead));
  EXPECT_THAT(Texts(Take(*writer_)), ElementsAre("Get GUIDInfo 0x1 of h1"));
}

TEST_F(GuidWriterTest, AReadThatASetHasMadeNeedlessIsLeftOut) {
  Start();
  writer_->List(kRead, run_->queue);
  applied().GuidsTo(port_, 0).Confirm(0, Info({0x1001}));
  EXPECT_THAT(Texts(Take(*writer_)), ElementsAre("Get GUIDInfo 0x1 of h1"));
}

TEST_F(GuidWriterTest, WhileASetIsInFlightOthersOfThatPortWait) {
  applied().SetBusy(port_, wire::AttributeId::kGuidInfo);
  EXPECT_THAT(Listed(kRead), IsEmpty());
  EXPECT_FALSE(run_->queue.empty());
  applied().ClearBusy(port_, wire::AttributeId::kGuidInfo);
  EXPECT_EQ(Take(*writer_).size(), 2u);
}

TEST_F(GuidWriterTest, ALateAnswerConfirmsTheSetItBelongsToAndNoOther) {
  ReadAll();
  auto writes = List(kSet);
  applied().ClearBusy(port_, wire::AttributeId::kGuidInfo);
  writes.push_back(Take(*writer_).at(0));
  EXPECT_FALSE(GuidWriter::OnLateAnswer(
      {writes[0].item, AnswerTo(writes[0], writes[0].smp.data), fabric_.builder, devices_}));
  EXPECT_EQ(*Known(0), InfoIn(writes[0]));
  applied().ForgetGuids(port_);  // The device has restarted.
  EXPECT_FALSE(GuidWriter::OnLateAnswer(
      {writes[1].item, AnswerTo(writes[1], writes[1].smp.data), fabric_.builder, devices_}));
  EXPECT_EQ(Known(1), nullptr);
}

}  // namespace
}  // namespace fabricd::sweep
