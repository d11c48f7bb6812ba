// SPDX-License-Identifier: Apache-2.0
// IBA vol 1 §14.2.5.6. The values that a port should have are PortConfig's (port_config_test.cc).
#include "sweep/write/port_info_writer.h"

#include "policy/partitions_text.h"
#include "tests/unit/sweep/write/writer_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using wire::PortInfo;
using wire::PortPhysicalState;
using wire::PortState;

class PortInfoWriterTest : public WriterTest {
 protected:
  static constexpr ProgramStage kPorts = ProgramStage::kPorts, kHeld = ProgramStage::kHeld,
                                kArm = ProgramStage::kArm, kActivate = ProgramStage::kActivate;

  void Start() {
    writer_.reset();
    mft_.reset();
    keys_.reset();
    Run& run = Begin();
    keys_.emplace(run.input.desired.keys, run.input.desired.ports.local,
                  *run.input.desired.snapshot, applied());
    mft_.emplace(run.ground, run.restarts);
    writer_.emplace(run.ground, *keys_, *mft_, run.restarts);
  }
  std::vector<Request> List(ProgramStage stage) {
    Start();
    return Requests(*writer_, stage);
  }
  std::vector<std::string> Listed(ProgramStage stage) { return Texts(List(stage)); }
  void Reply(const Request& request, const mad::Completion& completion) {
    Deliver(*writer_, request, completion);
  }
  void ConfirmAll(const std::vector<Request>& requests) {
    for (const Request& request : requests) Confirm(*writer_, request);
  }
  // Honestly, until nothing is left.
  void CarryOut(ProgramStage stage) {
    for (auto some = List(stage); !some.empty(); some = Take(*writer_)) ConfirmAll(some);
  }
  static PortInfo InfoIn(const Request& request) { return PortInfo::Decode(request.smp.data); }
  // "Set … of …" → the request. REQUIRES: there is one.
  Request Find(const std::vector<Request>& requests, std::string_view text) const {
    const auto texts = Texts(requests);
    for (size_t i = 0; i < texts.size(); ++i)
      if (texts[i] == text) return requests[i];
    ADD_FAILURE() << "no " << text;
    return requests.at(0);
  }
  mad::SmpRequest ReadOf(PortRef port) const {
    return ReadOfPort(devices_, *fabric_.builder.node(port.node), port.port);
  }
  void SetState(PortRef port, PortState state) {
    EditPort(port, [state](PortInfo& info) { info.port_state = state; });
    registers_.Put(port.node, port.port.value(), InfoOf(port));
  }
  void SetStates(PortState state) {
    for (PortRef port : {SwitchPort(0, 1), SwitchPort(0, 36), SwitchPort(1, 1), SwitchPort(1, 36),
                         fabric_.Host(0), fabric_.Host(1)})
      SetState(port, state);
  }
  // Everything ACTIVE and as it should be.
  void BringUp() {
    CarryOut(kPorts);
    SetStates(PortState::kActive);
    CarryOut(kPorts);
  }
  // Partition 1 for host 1, and a leaf that can enforce.
  void Partition() {
    const auto parsed = policy::ParsePartitions("A=1: 0x1001=full;");
    input_.desired.keys.index = std::make_shared<const policy::PartitionIndex>(
        parsed.partitions, policy::PartitionSet(), true);
    for (size_t at : {0, 1}) {
      EditSwitch(at, [](wire::SwitchInfo& info) {
        info.partition_enforcement_cap = 32;
        info.inbound_enforcement_cap = info.outbound_enforcement_cap = true;
      });
      wire::NodeInfo info = fabric_.builder.node(fabric_.hosts[at])->info;
      info.partition_cap = 32;
      fabric_.builder.PutNode(info);
    }
    wire::PKeyTable table;
    table.keys = {PKey(0x7FFF), PKey(0x8001)};
    for (auto* blocks : {&applied().PKeys(fabric_.Host(1)), &applied().SwitchKeys(leaf_)}) {
      blocks->GrowTo(1);
      blocks->Confirm(0, table);
    }
  }

  const PortRef leaf_ = SwitchPort(1, 1);
  std::optional<PortKeys> keys_;
  std::optional<MftWriter> mft_;
  std::optional<PortInfoWriter> writer_;
};

// ---- configuration

TEST_F(PortInfoWriterTest, ConfiguresEachKnownPortTheSmsOwnFirst) {
  const auto requests = List(kPorts);
  EXPECT_THAT(Texts(requests), ElementsAre("Set PortInfo 0x1 of h0", "Set PortInfo 0x0 of s0",
                                           "Set PortInfo 0x0 of s1", "Set PortInfo 0x1 of s0",
                                           "Set PortInfo 0x1 of s1", "Set PortInfo 0x1 of h1",
                                           "Set PortInfo 0x24 of s0", "Set PortInfo 0x24 of s1"));
  const PortInfo host = InfoIn(requests[5]);
  EXPECT_EQ(host.lid, Lid(4));
  EXPECT_EQ(host.master_sm_lid, Lid(3));
  EXPECT_EQ(host.port_state, PortState::kNoChange);
  EXPECT_EQ(requests[5].smp.m_key, MKey(0x5EC));
  ConfirmAll(requests);
  EXPECT_EQ(InfoOf(fabric_.Host(1)).lid, Lid(4));
  EXPECT_THAT(List(kPorts), IsEmpty());
  EXPECT_EQ(record().failures(), 0u);
}

TEST_F(PortInfoWriterTest, ConfiguresTheSwitchPortOfEachHostWhosePartitionsMayHaveChanged) {
  BringUp();
  Partition();
  input_.scope.nodes = {fabric_.hosts[0]};
  EXPECT_THAT(Listed(kPorts), IsEmpty());
  input_.scope.all_keys = true;
  const auto requests = List(kPorts);
  ASSERT_THAT(Texts(requests), ElementsAre("Set PortInfo 0x1 of s1"));
  EXPECT_TRUE(InfoIn(requests[0]).partition_enforcement_inbound);
  EXPECT_TRUE(applied().RequestedEnforcement(leaf_)->outbound) << "while it is in flight";
}

TEST_F(PortInfoWriterTest, ConfiguresTheSwitchPortOfAHostOfTheScopeToo) {
  BringUp();
  Partition();
  input_.scope.nodes = {fabric_.hosts[1]};
  EXPECT_THAT(Listed(kPorts), ElementsAre("Set PortInfo 0x1 of s1"));
}

TEST_F(PortInfoWriterTest, APortThatIsLinkedOtherwiseByNowIsLeftToTheNextRun) {
  Start();
  fabric_.builder.Unlink(leaf_);
  const auto requests = Requests(*writer_, kPorts);
  EXPECT_THAT(Texts(requests), Not(Contains("Set PortInfo 0x1 of s1")));
  EXPECT_THAT(Texts(requests), Not(Contains("Set PortInfo 0x1 of h1")));
  EXPECT_TRUE(record().IsUnconfigured(leaf_));
  EXPECT_TRUE(record().IsUnconfigured(fabric_.Host(1)));
}

TEST_F(PortInfoWriterTest, ARefusedSetLeavesThePortUnconfiguredAndItsEnforcementUnknown) {
  Partition();
  const auto requests = List(kPorts);
  const Request leaf = Find(requests, "Set PortInfo 0x1 of s1");
  EXPECT_TRUE(applied().RequestedEnforcement(leaf_)->inbound);
  Reply(leaf, Refusal(leaf));
  EXPECT_FALSE(applied().RequestedEnforcement(leaf_));
  EXPECT_TRUE(record().IsUnconfigured(leaf_));
  EXPECT_EQ(record().failures(), 1u);
  EXPECT_THAT(record().undone(), testing::UnorderedElementsAre(leaf_.node));
  EXPECT_THAT(Problems(), ElementsAre("SetRefused: Set PortInfo: status 0x001c"));
}

TEST_F(PortInfoWriterTest, APortThatDoesNotAnswerIsAFailureAndItsRouteIsLeftAlone) {
  const auto requests = List(kPorts);
  const Request s1 = Find(requests, "Set PortInfo 0x0 of s1");
  Reply(s1, Timeout(s1));
  EXPECT_THAT(Problems(), ElementsAre("Unresponsive: Set PortInfo: no answer"));
  run_->queue.Add({leaf_.node, 0, leaf_.port, Work::kConfigurePort});
  run_->queue.Add({fabric_.hosts[1], 0, PortNum(1), Work::kReadPort});
  applied().AbandonInFlight();  // So that nothing waits for an answer.
  EXPECT_THAT(Texts(Take(*writer_)), ElementsAre("Get PortInfo 0x1 of h1"));
}

TEST_F(PortInfoWriterTest, AnAnswerOfADeviceThatIsGoneCountsAsAFailureAlone) {
  const auto requests = List(kPorts);
  const Request host = Find(requests, "Set PortInfo 0x1 of h1");
  fabric_.builder.RemoveNode(fabric_.hosts[1]);
  Reply(host, Refusal(host));
  EXPECT_EQ(record().failures(), 1u);
  EXPECT_FALSE(record().IsUnconfigured(fabric_.Host(1)));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(PortInfoWriterTest, ASettingThatAPortKeepsIsNamedAndNotSetAgain) {
  BringUp();
  options_.link.subnet_timeout = 9;
  const Request host = Find(List(kPorts), "Set PortInfo 0x1 of h1");
  PortInfo kept = InfoOf(fabric_.Host(1));
  Reply(host, AnswerWith(host, kept));
  EXPECT_THAT(Problems(), ElementsAre(testing::HasSubstr("SettingsIgnored: ")));
  EXPECT_EQ(record().failures(), 0u);
  kept.reserved[52] = 0x20;  // Some firmware changes them.
  fabric_.builder.SetPortInfo(fabric_.Host(1), kept);
  EXPECT_THAT(Listed(kPorts), Not(Contains("Set PortInfo 0x1 of h1")));
  options_.link.subnet_timeout = 10;
  EXPECT_THAT(Listed(kPorts), Contains("Set PortInfo 0x1 of h1")) << "something else is wanted";
}

TEST_F(PortInfoWriterTest, ARefusalIsForgottenOnceThePortHasTakenTheValue) {
  BringUp();
  options_.link.subnet_timeout = 9;
  Request host = Find(List(kPorts), "Set PortInfo 0x1 of h1");
  const PortInfo kept = InfoOf(fabric_.Host(1));
  Reply(host, AnswerWith(host, kept));  // It is slow to show it.
  PortInfo shown = kept;
  shown.subnet_timeout = 9;
  fabric_.builder.SetPortInfo(fabric_.Host(1), shown);
  options_.link.subnet_timeout = 18;
  CarryOut(kPorts);
  options_.link.subnet_timeout = 9;
  EXPECT_THAT(Listed(kPorts), Contains("Set PortInfo 0x1 of h1"));
}

TEST_F(PortInfoWriterTest, ARefusalIsTriedAgainWhenTheLinkHasComeUpSince) {
  BringUp();
  options_.link.local_phy_errors = 3;
  const Request leaf = Find(List(kPorts), "Set PortInfo 0x1 of s1");
  Reply(leaf, AnswerWith(leaf, InfoOf(leaf_)));
  EXPECT_THAT(Listed(kPorts), Not(Contains("Set PortInfo 0x1 of s1")));
  SetState(leaf_, PortState::kInit);
  EXPECT_THAT(Listed(kPorts), Contains("Set PortInfo 0x1 of s1"));
}

TEST_F(PortInfoWriterTest, APortThatKeepsAnotherLidIsAFailureAndNotBroughtUp) {
  const Request host = Find(List(kPorts), "Set PortInfo 0x1 of h1");
  PortInfo kept = InfoIn(host);
  kept.port_state = PortState::kInit;
  kept.lid = Lid(77);
  Reply(host, AnswerWith(host, kept));
  EXPECT_THAT(Problems(), ElementsAre("SetRefused: keeps LID 77"));
  EXPECT_EQ(record().failures(), 1u);
  EXPECT_TRUE(record().IsUnconfigured(fabric_.Host(1)));
  EXPECT_THAT(Listed(kPorts), Contains("Set PortInfo 0x1 of h1")) << "no refusal is remembered";
}

TEST_F(PortInfoWriterTest, TheMKeyOfAnAnswerIsUsedFromThenOn) {
  const Request host = Find(List(kPorts), "Set PortInfo 0x1 of h1");
  PortInfo shown = InfoIn(host);
  shown.port_state = PortState::kInit;
  shown.m_key = MKey(0x99);
  Reply(host, AnswerWith(host, shown));
  EXPECT_EQ(devices_.MKeyOf(fabric_.hosts[1]), MKey(0x99));
}

TEST_F(PortInfoWriterTest, TheLidOfASwitchIsNotedForTheRestartWatch) {
  ConfirmAll(List(kPorts));
  applied().Lft(fabric_.switches[0]).Confirm(0, {});
  run_->restarts.Check(fabric_.switches[0], /*expected=*/false);
  EXPECT_TRUE(applied().IsUntouched(fabric_.switches[0]));
}

TEST_F(PortInfoWriterTest, TheClientsOfAHostRegisterAgainWhereAllAreToOrItsLinkCameUp) {
  EditPort(fabric_.Host(1),
           [](PortInfo& info) { info.capability_mask |= wire::kCapIsClientReregister; });
  const auto requests = List(kPorts);
  EXPECT_TRUE(InfoIn(Find(requests, "Set PortInfo 0x1 of h1")).client_reregister);
  ConfirmAll(requests);
  SetStates(PortState::kActive);
  EXPECT_THAT(Listed(kPorts), IsEmpty());
  input_.desired.ports.first_run.is_first = true;
  EXPECT_TRUE(InfoIn(Find(List(kPorts), "Set PortInfo 0x1 of h1")).client_reregister);
  input_.desired.ports.first_run.own = Lid(3);  // A run that was interrupted has written it.
  EXPECT_THAT(Listed(kPorts), IsEmpty());
}

// ---- held ports

TEST_F(PortInfoWriterTest, AHeldPortGoesDownAndAReleasedOneTrains) {
  EditPort(SwitchPort(0, 36),
           [](PortInfo& info) { info.port_physical_state = PortPhysicalState::kDisabled; });
  input_.desired.ports.disabled = {leaf_, SwitchPort(0, 36), fabric_.Host(0)};
  input_.desired.ports.reenabled = {SwitchPort(0, 36), SwitchPort(0, 1)};
  const auto requests = List(kHeld);
  ASSERT_THAT(Texts(requests), ElementsAre("Set PortInfo 0x1 of s1", "Set PortInfo 0x24 of s0"))
      << "what is so already, and what is no port of a switch, is left alone";
  EXPECT_EQ(InfoIn(requests[0]).port_physical_state, PortPhysicalState::kDisabled);
  EXPECT_EQ(InfoIn(requests[0]).port_state, PortState::kDown);
  EXPECT_EQ(InfoIn(requests[1]).port_physical_state, PortPhysicalState::kPolling);
}

TEST_F(PortInfoWriterTest, WithoutAPlanNoPortGoesDown) {
  plan_ = nullptr;
  input_.desired.ports.disabled = {leaf_};
  EXPECT_THAT(List(kHeld), IsEmpty());
}

TEST_F(PortInfoWriterTest, APortThatWentDownMeanwhileHasItsNodeRead) {
  input_.desired.ports.disabled = {leaf_};
  const auto requests = List(kHeld);
  PortInfo down = InfoOf(leaf_);
  down.port_state = PortState::kDown;
  down.port_physical_state = PortPhysicalState::kDisabled;
  Reply(requests[0], AnswerWith(requests[0], down));
  EXPECT_THAT(record().rereads().Nodes(), ElementsAre(leaf_.node));
}

// A switch that shows an old value would be made to take back what it was just set to.
TEST_F(PortInfoWriterTest, AnEchoKeepsTheEnforcementThatWasRequestedLast) {
  input_.desired.ports.disabled = {leaf_};
  applied().NoteRequestedEnforcement(leaf_, {true, false});
  const auto requests = List(kHeld);
  EXPECT_TRUE(InfoIn(requests[0]).partition_enforcement_inbound);
  EXPECT_FALSE(InfoIn(requests[0]).partition_enforcement_outbound);
}

// ---- ARMED, ACTIVE

TEST_F(PortInfoWriterTest, LinksThatAreReadyAreArmedAndThenActivated) {
  CarryOut(kPorts);
  const auto armed = List(kArm);
  EXPECT_THAT(Texts(armed), ElementsAre("Set PortInfo 0x1 of s0", "Set PortInfo 0x1 of s1",
                                        "Set PortInfo 0x1 of h0", "Set PortInfo 0x1 of h1",
                                        "Set PortInfo 0x24 of s0", "Set PortInfo 0x24 of s1"));
  EXPECT_EQ(InfoIn(armed[0]).port_state, PortState::kArmed);
  ConfirmAll(armed);
  const auto active = List(kActivate);
  EXPECT_EQ(active.size(), 6u);
  EXPECT_EQ(InfoIn(active[5]).port_state, PortState::kActive);
  ConfirmAll(active);
  EXPECT_EQ(InfoOf(leaf_).port_state, PortState::kActive);
  EXPECT_THAT(List(kArm), IsEmpty());
  EXPECT_THAT(List(kActivate), IsEmpty());
}

TEST_F(PortInfoWriterTest, WithoutAPlanNoLinkIsBroughtUp) {
  plan_ = nullptr;
  EXPECT_THAT(List(kArm), IsEmpty());
}

TEST_F(PortInfoWriterTest, ALinkWithAnUnconfiguredEndStaysInit) {
  Start();
  record().NoteUnconfigured(fabric_.Host(1));
  EXPECT_THAT(Texts(Requests(*writer_, kArm)),
              ElementsAre("Set PortInfo 0x1 of s0", "Set PortInfo 0x1 of h0",
                          "Set PortInfo 0x24 of s0", "Set PortInfo 0x24 of s1"));
}

TEST_F(PortInfoWriterTest, ALinkToAPortWithoutALidStaysInit) {
  auto lids = std::make_shared<fabric::LidTable>(*input_.desired.lids);
  lids->Release(fabric_.Host(0));
  input_.desired.lids = lids;
  const auto texts = Listed(kArm);
  EXPECT_THAT(texts, Not(Contains("Set PortInfo 0x1 of s0")));
  EXPECT_THAT(texts, Not(Contains("Set PortInfo 0x1 of h0")));
  EXPECT_THAT(texts, Contains("Set PortInfo 0x1 of h1"));
}

TEST_F(PortInfoWriterTest, ALinkThatWasFoundAfterTheRunBeganStaysInit) {
  Start();
  fabric_.Cable(SwitchPort(0, 20), SwitchPort(1, 20));
  EXPECT_THAT(Texts(Requests(*writer_, kArm)), Not(Contains(testing::HasSubstr("0x14"))));
}

TEST_F(PortInfoWriterTest, LinksOfASwitchThatMayHoldWrongMulticastEntriesStayDown) {
  EditSwitch(1, [](wire::SwitchInfo& info) { info.linear_fdb_top = 4; });
  applied().Lft(fabric_.switches[1]).Confirm(0, {});
  routing::MulticastBlock entries{};
  entries[0] = 0b110;
  applied().Mft(fabric_.switches[1]).Confirm({0, 0}, entries);
  Start();
  mft_->SetTarget(std::make_shared<const routing::MulticastPlan>(), /*together=*/false);
  const auto loss = mft_->NextRequest();
  ASSERT_TRUE(loss.has_value());
  const Request request = Submit({loss->item, loss->smp});
  Deliver(*mft_, request, Timeout(request));
  while (mft_->NextRequest()) {
  }
  ASSERT_TRUE(mft_->IsUnsafe(fabric_.switches[1]));
  EXPECT_THAT(Texts(Requests(*writer_, kArm)),
              ElementsAre("Set PortInfo 0x1 of s0", "Set PortInfo 0x1 of h0"));
}

TEST_F(PortInfoWriterTest, BothEndsGoDownTogetherSoTheOtherOneIsReadBeforeItIsBelieved) {
  SetStates(PortState::kActive);
  SetState(leaf_, PortState::kInit);
  EXPECT_THAT(Listed(kArm), ElementsAre("Set PortInfo 0x1 of s1", "Get PortInfo 0x1 of h1"));
}

TEST_F(PortInfoWriterTest, AStateThatIsThereByNowIsNotSet) {
  Start();
  writer_->List(kArm, run_->queue);
  SetStates(PortState::kArmed);
  EXPECT_THAT(Take(*writer_), IsEmpty());
}

// Data from a peer that is ACTIVE takes an ARMED port along (IBA vol 1 §7.2.7).
TEST_F(PortInfoWriterTest, AStateThatIsRefusedAsInvalidIsReadInsteadOfCountedAsAFailure) {
  SetStates(PortState::kArmed);
  const auto requests = List(kActivate);
  Sent();
  Reply(requests[0], Refusal(requests[0], wire::kStatusInvalidAttributeValue));
  EXPECT_EQ(record().failures(), 0u);
  EXPECT_THAT(Sent(), ElementsAre("Get PortInfo 0x1 of s0"));
  EXPECT_THAT(record().rereads().Nodes(), ElementsAre(fabric_.switches[0]));
  PortInfo active = InfoOf(SwitchPort(0, 1));
  active.port_state = PortState::kActive;
  const Request read{{fabric_.switches[0], 0, PortNum(1), Work::kReadPort},
                     ReadOf(SwitchPort(0, 1))};
  Reply(read, AnswerWith(read, active));
  EXPECT_EQ(InfoOf(SwitchPort(0, 1)).port_state, PortState::kActive);
  EXPECT_THAT(record().rereads().Nodes(), IsEmpty());
}

TEST_F(PortInfoWriterTest, AStateThatIsRefusedForAnotherReasonIsAFailure) {
  const auto requests = List(kArm);
  Reply(requests[0], Refusal(requests[0], 0x0001));
  EXPECT_EQ(record().failures(), 1u);
  EXPECT_TRUE(record().IsUnconfigured(SwitchPort(0, 1)));
}

TEST_F(PortInfoWriterTest, AStateSetThatIsAnsweredWithTheOldStateIsReadAgain) {
  const Request leaf = Find(List(kArm), "Set PortInfo 0x1 of s1");
  Sent();
  Reply(leaf, AnswerWith(leaf, InfoOf(leaf_)));
  EXPECT_THAT(Sent(), ElementsAre("Get PortInfo 0x1 of s1"));
  PortInfo armed = InfoOf(leaf_);
  armed.port_state = PortState::kArmed;
  const Request read{{leaf_.node, 0, leaf_.port, Work::kReadPort}, ReadOf(leaf_)};
  Reply(read, AnswerWith(read, armed));
  EXPECT_THAT(Texts(Requests(*writer_, kActivate)), Contains("Set PortInfo 0x1 of s1"));
}

TEST_F(PortInfoWriterTest, AStateAnswerLowersNoSpeeds) {
  for (const uint8_t active : {0, 8}) {  // NDR is offered, or in use.
    EditPort(leaf_, [active](PortInfo& info) {
      info.link_speed_ext_active = active;
      info.link_speed_ext_supported = info.link_speed_ext_enabled = 8;
    });
    const Request leaf = Find(List(kArm), "Set PortInfo 0x1 of s1");
    PortInfo shown = InfoOf(leaf_);
    shown.link_speed_ext_active = shown.link_speed_ext_supported = shown.link_speed_ext_enabled = 0;
    Reply(leaf, AnswerWith(leaf, shown));
    EXPECT_EQ(InfoOf(leaf_).link_speed_ext_active, active);
    EXPECT_EQ(InfoOf(leaf_).link_speed_ext_enabled, 8);
  }
}

TEST_F(PortInfoWriterTest, AnActiveLinkWithDifferentVlsStaysUpAndIsReported) {
  BringUp();
  EditPort(leaf_, [](PortInfo& info) { info.operational_vls = 1; });
  registers_.Put(leaf_.node, leaf_.port.value(), InfoOf(leaf_));
  EXPECT_THAT(Listed(kPorts), IsEmpty());
  EXPECT_THAT(Problems(), ElementsAre(testing::HasSubstr("OperationalVlsDiffer: has 1 VLs")));
}

// ---- restarts

TEST_F(PortInfoWriterTest, AHostWhoseLinkFellBackToInitMayHaveRestarted) {
  SetStates(PortState::kArmed);
  const Request host = Find(List(kActivate), "Set PortInfo 0x1 of h1");
  applied().PKeys(fabric_.Host(1)).GrowTo(1);
  applied().PKeys(fabric_.Host(1)).Confirm(0, {});
  PortInfo shown = InfoOf(fabric_.Host(1));
  shown.port_state = PortState::kInit;
  Reply(host, AnswerWith(host, shown));
  EXPECT_EQ(applied().FindPKeys(fabric_.Host(1))->Find(0), nullptr);
  EXPECT_THAT(record().undone(), testing::UnorderedElementsAre(fabric_.hosts[1]));
  EXPECT_THAT(record().rereads().Nodes(), ElementsAre(fabric_.hosts[1]));
}

TEST_F(PortInfoWriterTest, ASwitchPortThatFellBackToInitHasItsNodeRead) {
  SetStates(PortState::kArmed);
  const Request leaf = Find(List(kActivate), "Set PortInfo 0x1 of s1");
  PortInfo shown = InfoOf(leaf_);
  shown.port_state = PortState::kInit;
  Reply(leaf, AnswerWith(leaf, shown));
  EXPECT_THAT(record().undone(), IsEmpty());
  EXPECT_THAT(record().rereads().Nodes(), ElementsAre(leaf_.node));
}

TEST_F(PortInfoWriterTest, ADeviceThatShowsNoLidAnyMoreHasRestarted) {
  EditPort(SwitchPort(0, 0), [](PortInfo& info) { info.lid = Lid(1); });
  applied().Lft(fabric_.switches[0]).Confirm(0, {});
  Start();
  const Request read =
      Submit({{fabric_.switches[0], 0, PortNum(0), Work::kReadPort}, ReadOf(SwitchPort(0, 0))});
  Reply(read, AnswerWith(read, SmallFabric::Up()));
  EXPECT_TRUE(applied().IsUntouched(fabric_.switches[0]));
  EXPECT_THAT(record().undone(), testing::UnorderedElementsAre(fabric_.switches[0]));
}

TEST_F(PortInfoWriterTest, ALateAnswerIsTakenForTheCurrentPortInfo) {
  const Request host = Find(List(kPorts), "Set PortInfo 0x1 of h1");
  PortInfo shown = InfoIn(host);
  shown.port_state = PortState::kInit;
  EXPECT_FALSE(PortInfoWriter::OnLateAnswer(
      {host.item, AnswerWith(host, shown), fabric_.builder, devices_}));
  EXPECT_EQ(InfoOf(fabric_.Host(1)).lid, Lid(4));
}

TEST_F(PortInfoWriterTest, WorkOfOtherWritersMakesNoRequest) {
  Start();
  EXPECT_EQ(writer_->Next({fabric_.switches[0], 0, PortNum(0), Work::kSetLft}), std::nullopt);
  EXPECT_THAT(Requests(*writer_, ProgramStage::kSwitches), IsEmpty());
}

}  // namespace
}  // namespace fabricd::sweep
