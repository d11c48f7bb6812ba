// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/switch_info_writer.h"

#include "tests/unit/sweep/write/writer_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class SwitchInfoWriterTest : public OneWriterTest<SwitchInfoWriter> {
 protected:
  static constexpr ProgramStage kStage = ProgramStage::kSwitches;
  static wire::SwitchInfo InfoIn(const Request& request) {
    return wire::SwitchInfo::Decode(request.smp.data);
  }
  const wire::SwitchInfo& Known(size_t at) const {
    return *fabric_.builder.node(fabric_.switches[at])->switch_info;
  }
  void GiveLids() {
    for (size_t at : {0, 1})
      EditPort(SwitchPort(at, 0),
               [&](wire::PortInfo& info) { info.lid = Lid(static_cast<uint16_t>(1 + at)); });
  }
};

TEST_F(SwitchInfoWriterTest, SetsTopAndLifeTimeOfEachSwitchAndLeavesTheRestAsRead) {
  EditSwitch(0, [](wire::SwitchInfo& info) {
    info.default_port = 5;
    info.reserved[40] = 0xAB;
  });
  const auto requests = List(kStage);
  EXPECT_THAT(Texts(requests), ElementsAre("Set SwitchInfo 0x0 of s0", "Set SwitchInfo 0x0 of s1"));
  wire::SwitchInfo wanted = Known(0);
  wanted.linear_fdb_top = 4;
  wanted.life_time_value = options_.link.packet_life_time;
  EXPECT_EQ(InfoIn(requests[0]), wanted);
  EXPECT_EQ(requests[0].smp.m_key, MKey(0x5EC));
}

TEST_F(SwitchInfoWriterTest, AfterItsAnswersNothingIsLeftToBeSet) {
  ConfirmAll(List(kStage));
  EXPECT_EQ(Known(1).linear_fdb_top, 4);
  EXPECT_THAT(List(kStage), IsEmpty());
  EXPECT_EQ(record().failures(), 0u);
}

TEST_F(SwitchInfoWriterTest, ListsNothingInOtherStagesAndOutsideTheScope) {
  input_.scope.nodes = {fabric_.switches[1], fabric_.hosts[0]};
  EXPECT_THAT(Listed(kStage), ElementsAre("Set SwitchInfo 0x0 of s1"));
  EXPECT_THAT(Requests(*writer_, ProgramStage::kPorts), IsEmpty());
}

TEST_F(SwitchInfoWriterTest, ATableThatIsTooSmallIsAProblemAndGetsTheTopThatItCanHold) {
  EditSwitch(0, [](wire::SwitchInfo& info) { info.linear_fdb_cap = 4; });
  EditSwitch(1, [](wire::SwitchInfo& info) { info.linear_fdb_cap = 0; });
  const auto requests = List(kStage);
  EXPECT_THAT(Texts(requests), ElementsAre("Set SwitchInfo 0x0 of s0"));
  EXPECT_EQ(InfoIn(requests[0]).linear_fdb_top, 3);
  EXPECT_THAT(Problems(), ElementsAre("TableTooSmall: LinearFDBCap 4 does not hold LID 4",
                                      "TableTooSmall: LinearFDBCap 0 does not hold LID 4"));
  EXPECT_EQ(record().failures(), 2u);
}

TEST_F(SwitchInfoWriterTest, ARefusedSetIsAFailureWithItsStatusAndDueAgain) {
  const auto requests = List(kStage);
  Reply(requests[0], Refusal(requests[0], 0x000C));
  ConfirmAll({requests[1]});
  EXPECT_EQ(record().failures(), 1u);
  EXPECT_THAT(record().undone(), UnorderedElementsAre(fabric_.switches[0]));
  EXPECT_THAT(Problems(), ElementsAre("SetRefused: Set SwitchInfo: status 0x000c"));
  EXPECT_EQ(Known(0).linear_fdb_top, 0) << "nothing is known that was not confirmed";
  EXPECT_THAT(Listed(kStage), ElementsAre("Set SwitchInfo 0x0 of s0"));
}

TEST_F(SwitchInfoWriterTest, ASwitchThatDoesNotAnswerIsLeftAloneForTheRestOfTheRun) {
  const auto requests = List(kStage);
  Reply(requests[0], Timeout(requests[0]));
  EXPECT_THAT(Problems(), ElementsAre("Unresponsive: Set SwitchInfo: no answer"));
  run_->queue.Add(requests[0].item);
  EXPECT_THAT(Take(*writer_), IsEmpty());
  ConfirmAll({requests[1]});
  EXPECT_THAT(Listed(kStage), ElementsAre("Set SwitchInfo 0x0 of s0"))
      << "the next run tries again";
}

TEST_F(SwitchInfoWriterTest, ATopThatTheSwitchKeepsIsARefusalThatIsNotTriedAtOnce) {
  const auto requests = List(kStage);
  wire::SwitchInfo kept = InfoIn(requests[0]);
  kept.linear_fdb_top = 2;
  Reply(requests[0], AnswerWith(requests[0], kept));
  EXPECT_EQ(Known(0).linear_fdb_top, 2);
  EXPECT_THAT(Problems(), ElementsAre("SetRefused: keeps LinearFDBTop 2"));
  EXPECT_EQ(record().failures(), 1u);
  EXPECT_THAT(record().undone(), IsEmpty());
}

TEST_F(SwitchInfoWriterTest, AnAnswerOfASwitchThatIsGoneCountsAsAFailureAndChangesNothing) {
  const auto requests = List(kStage);
  fabric_.builder.RemoveNode(fabric_.switches[1]);
  Reply(requests[1], AnswerTo(requests[1], requests[1].smp.data));
  EXPECT_EQ(record().failures(), 1u);
  EXPECT_THAT(record().undone(), IsEmpty());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(SwitchInfoWriterTest, ASetWaitsForTheAnswerToAnEarlierOneOfTheSame) {
  applied().SetBusy(SwitchPort(0, 0), wire::AttributeId::kSwitchInfo);
  EXPECT_THAT(Listed(kStage), ElementsAre("Set SwitchInfo 0x0 of s1"));
  EXPECT_FALSE(run_->queue.empty());
  applied().ClearBusy(SwitchPort(0, 0), wire::AttributeId::kSwitchInfo);
  EXPECT_THAT(Texts(Take(*writer_)), ElementsAre("Set SwitchInfo 0x0 of s0"));
}

// What changed between the read of a port and the Set that clears PortStateChange shows nowhere
// else.
TEST_F(SwitchInfoWriterTest, ClearingPortStateChangeReadsThePortsThatNothingIsSentTo) {
  GiveLids();
  ConfirmAll(List(kStage));
  EditSwitch(0, [](wire::SwitchInfo& info) { info.port_state_change = true; });
  registers_.Put(fabric_.switches[0], 0, Known(0));
  EditPort(SwitchPort(0, 36),
           [](wire::PortInfo& info) { info.port_state = wire::PortState::kActive; });
  fabric_.builder.SetPortInfo(SwitchPort(0, 7), {});  // Known, and down. Port 1 is INIT.
  const auto requests = List(kStage);
  Sent();
  ASSERT_THAT(Texts(requests), ElementsAre("Set SwitchInfo 0x0 of s0"));
  EXPECT_TRUE(InfoIn(requests[0]).port_state_change);
  ConfirmAll(requests);
  EXPECT_FALSE(Known(0).port_state_change);
  EXPECT_THAT(Sent(), ElementsAre("Get PortInfo 0x0 of s0", "Get PortInfo 0x7 of s0",
                                  "Get PortInfo 0x24 of s0"));
  EXPECT_THAT(record().rereads().Nodes(), ElementsAre(fabric_.switches[0])) << "until they answer";
}

TEST_F(SwitchInfoWriterTest, PortStateChangeOfASwitchThatWasGivenItsLidShowsARestart) {
  GiveLids();
  const auto requests = List(kStage);
  Sent();
  run_->restarts.NoteLidSet(fabric_.switches[1]);
  applied().Lft(fabric_.switches[1]).Confirm(0, {});
  wire::SwitchInfo shown = InfoIn(requests[1]);
  shown.port_state_change = true;
  Reply(requests[1], AnswerWith(requests[1], shown));
  EXPECT_FALSE(applied().Lft(fabric_.switches[1]).WasRead());
  EXPECT_THAT(record().undone(), UnorderedElementsAre(fabric_.switches[1]));
  EXPECT_THAT(Sent(), IsEmpty());
}

TEST_F(SwitchInfoWriterTest, ALateAnswerIsTakenForTheCurrentSwitchInfo) {
  const auto requests = List(kStage);
  writer_.reset();
  EXPECT_FALSE(SwitchInfoWriter::OnLateAnswer(
      {requests[0].item, AnswerTo(requests[0], requests[0].smp.data), fabric_.builder, devices_}));
  EXPECT_EQ(Known(0).linear_fdb_top, 4);
}

}  // namespace
}  // namespace fabricd::sweep
