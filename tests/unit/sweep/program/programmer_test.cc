// SPDX-License-Identifier: Apache-2.0
// Whole runs over a small fabric whose devices answer by a script.
#include "sweep/program/programmer.h"

#include "fabric/multicast_groups.h"
#include "routing/multicast/multicast_rows.h"
#include "sweep/write/program_input.h"
#include "tests/unit/sweep/scripted_fabric.h"
#include "tests/unit/sweep/write/writer_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;
using Asked = ScriptedFabric::Sent;
using Reaction = ScriptedFabric::Reaction;

class ProgrammerTest : public WriterTest {
 protected:
  void Start() {
    input_.desired.snapshot = fabric_.builder.Build();
    ++input_.run;
    programmer_.emplace(input_, fabric_.builder, devices_, engine_, problems_, options_);
    if (withdraws_) programmer_->WithdrawTrees();
    devices.sent.clear();
    programmer_->Start();
  }
  // What the core does between completions.
  void Feed() {
    ProgramStage before;
    do {
      before = programmer_->stage();
      FeedOnce();
    } while (programmer_->stage() != before);
  }
  void FeedOnce() {
    Programmer& programmer = *programmer_;
    programmer.Feed();
    if (programmer.NeedsPlan()) programmer.SetPlan(plan_);
    if (programmer.NeedsPush()) {
      routing::PushPlan push;
      for (uint16_t i : {1, 0})
        push.writes.push_back(
            {fabric_.switches[i], 0, 0, static_cast<uint16_t>(1 - i), ~uint64_t{0}, false});
      programmer.SetPush(push);
    }
    if (programmer.NeedsTrees()) programmer.SetTrees(trees_, true);
    programmer.Feed();
  }
  void Finish() {
    devices.Run([&] { Feed(); }, [&](const mad::Completion& each) { Take(each); });
  }
  void Take(const mad::Completion& completion) {
    if (programmer_->IsMine(completion)) programmer_->OnCompletion(completion);
  }
  void Run() {
    Start();
    Finish();
    EXPECT_TRUE(programmer_->done());
  }
  std::vector<std::string> Sets() const {
    std::vector<std::string> sets;
    for (const std::string& text : devices.Texts())
      if (text.compare(0, 3, "Set") == 0) sets.push_back(text);
    return sets;
  }
  // Where the first, and the last, SMP is whose text begins so.
  size_t First(std::string_view begin) const {
    const auto texts = devices.Texts();
    for (size_t i = 0; i < texts.size(); ++i)
      if (texts[i].compare(0, begin.size(), begin) == 0) return i;
    ADD_FAILURE() << "no " << begin;
    return 0;
  }
  size_t Last(std::string_view begin) const {
    const auto texts = devices.Texts();
    for (size_t i = texts.size(); i-- > 0;)
      if (texts[i].compare(0, begin.size(), begin) == 0) return i;
    ADD_FAILURE() << "no " << begin;
    return 0;
  }
  void WantGroup() {
    auto tree = std::make_shared<routing::MulticastTree>();
    tree->mlid = fabric::kFirstMulticastLid;
    tree->ports = {SwitchPort(0, 1), SwitchPort(0, 36), SwitchPort(1, 1), SwitchPort(1, 36)};
    trees_ = std::make_shared<const routing::MulticastPlan>(routing::PlanOfTrees({tree}, nullptr));
  }
  bool AllActive() {
    for (PortRef port : {SwitchPort(0, 1), SwitchPort(0, 36), SwitchPort(1, 1), SwitchPort(1, 36),
                         fabric_.Host(0), fabric_.Host(1)})
      if (InfoOf(port).port_state != wire::PortState::kActive) return false;
    return true;
  }

  ScriptedFabric devices{fabric_.builder, fabric_.Host(0), engine_};
  std::optional<Programmer> programmer_;
  std::shared_ptr<const routing::MulticastPlan> trees_;
  bool withdraws_ = false;
};

TEST_F(ProgrammerTest, ARunBringsTheFabricUpAndASecondOneSendsNoSet) {
  WantGroup();
  Run();
  EXPECT_EQ(programmer_->failures(), 0u);
  EXPECT_TRUE(programmer_->tables_done());
  EXPECT_TRUE(programmer_->trees_done());
  EXPECT_TRUE(programmer_->keys_done());
  EXPECT_TRUE(programmer_->has_plan());
  EXPECT_EQ(programmer_->blocks_written(), 2u);
  EXPECT_EQ(programmer_->switches_written(), 2u);
  EXPECT_EQ(programmer_->tree_blocks_written(), 4u);
  EXPECT_THAT(programmer_->undone(), IsEmpty());
  EXPECT_TRUE(AllActive());
  EXPECT_TRUE(applied().Holds(*plan_));
  EXPECT_THAT(problems_.List(), IsEmpty());
  Run();
  EXPECT_THAT(devices.Texts(), IsEmpty());
  EXPECT_EQ(programmer_->failures(), 0u);
}

TEST_F(ProgrammerTest, OverTheWholeFabricPortsAreConfiguredBeforeTables) {
  Run();
  EXPECT_LT(Last("Set SwitchInfo"), First("Set PortInfo"));
  EXPECT_LT(First("Set PortInfo"), First("Set LinearForwardingTable"));
  EXPECT_EQ(First("Set PortInfo"), First("Set PortInfo 0x1 of 0x100")) << "the SM's own LID first";
}

TEST_F(ProgrammerTest, AfterAChangeTablesComeBeforePorts) {
  input_.scope.nodes = {fabric_.switches[0], fabric_.switches[1], fabric_.hosts[0],
                        fabric_.hosts[1]};
  Run();
  EXPECT_LT(Last("Set LinearForwardingTable"), First("Set PortInfo"));
  EXPECT_TRUE(AllActive());
  EXPECT_EQ(programmer_->scope().nodes, input_.scope.nodes);
}

TEST_F(ProgrammerTest, ThePlanIsAskedForOnceTablesAreReadAndWaitedForInTheirStage) {
  EditSwitch(0, [](wire::SwitchInfo& info) { info.linear_fdb_top = 4; });
  Start();
  EXPECT_FALSE(programmer_->NeedsPlan());
  programmer_->Feed();
  EXPECT_EQ(programmer_->stage(), ProgramStage::kReadTables);
  devices.Run([&] { programmer_->Feed(); }, [&](const mad::Completion& each) { Take(each); });
  EXPECT_TRUE(programmer_->NeedsPlan());
  EXPECT_EQ(programmer_->stage(), ProgramStage::kTables) << "ports need no plan";
  EXPECT_EQ(devices.CountOf("Set LinearForwardingTable"), 0u);
  EXPECT_GT(devices.CountOf("Set PortInfo"), 0u);
  Finish();
  EXPECT_TRUE(AllActive());
}

TEST_F(ProgrammerTest, WithoutAPlanPortsAreConfiguredButNoLinkIsBroughtUp) {
  plan_ = nullptr;
  Run();
  EXPECT_FALSE(programmer_->has_plan());
  EXPECT_EQ(InfoOf(fabric_.Host(1)).lid, Lid(4));
  EXPECT_EQ(InfoOf(fabric_.Host(1)).port_state, wire::PortState::kInit);
  EXPECT_EQ(devices.CountOf("Set LinearForwardingTable"), 0u);
}

TEST_F(ProgrammerTest, TablesThatCarryTrafficAreWrittenInTheOrderThatIsGiven) {
  Run();
  auto other = std::make_shared<routing::RoutingPlan>(*plan_);
  for (auto& row : other->rows) {
    auto changed = std::make_shared<routing::Row>(*row);
    changed->Set(9, 7);
    row = changed;
  }
  plan_ = other;
  Run();
  EXPECT_THAT(Sets(), ElementsAre("Set LinearForwardingTable 0x0 of 0x11",
                                  "Set LinearForwardingTable 0x0 of 0x10"));
}

TEST_F(ProgrammerTest, ARunOfTreesAloneWritesNothingElse) {
  Run();
  WantGroup();
  input_.trees_only = true;
  input_.scope.nodes.emplace();
  options_.link.packet_life_time = 3;
  Start();
  EXPECT_TRUE(programmer_->tables_done());
  programmer_->SetPlan(plan_);
  Finish();
  EXPECT_FALSE(programmer_->NeedsPlan());
  EXPECT_THAT(Sets(), AllOf(Not(IsEmpty()), Each(HasSubstr("MulticastForwardingTable"))));
  EXPECT_TRUE(programmer_->done());
  EXPECT_TRUE(programmer_->trees_done());
}

TEST_F(ProgrammerTest, TreesThatDoNotFitAreWithdrawnBeforeTheTablesAndWrittenBehindThem) {
  WantGroup();
  Run();
  auto other = std::make_shared<routing::RoutingPlan>(*plan_);
  auto changed = std::make_shared<routing::Row>(*other->rows[0]);
  changed->Set(9, 7);
  other->rows[0] = changed;
  plan_ = other;
  withdraws_ = true;
  Run();
  const size_t table = First("Set LinearForwardingTable");
  EXPECT_LT(First("Set MulticastForwardingTable"), table);
  EXPECT_GT(Last("Set MulticastForwardingTable"), table);
  EXPECT_EQ(devices.CountOf("Set MulticastForwardingTable"), 8u);
  for (size_t i = 0; i < table; ++i)
    EXPECT_EQ(devices.sent[i].smp.data, wire::SmpData{}) << "entries go, and none comes";
  EXPECT_TRUE(programmer_->trees_done());
}

TEST_F(ProgrammerTest, ALostSetIsADifferenceInTheNextRun) {
  devices.react = [&](const Asked& sent) {
    return Reaction{.is_lost = sent.text == "Set LinearForwardingTable 0x0 of 0x11"};
  };
  Run();
  EXPECT_GT(programmer_->failures(), 0u);
  EXPECT_THAT(programmer_->undone(), Contains(fabric_.switches[1]));
  EXPECT_FALSE(applied().Holds(*plan_));
  devices.react = [](const Asked&) { return Reaction{}; };
  Run();
  EXPECT_THAT(Sets(), Contains("Set LinearForwardingTable 0x0 of 0x11"));
  EXPECT_THAT(Sets(), Not(Contains("Set LinearForwardingTable 0x0 of 0x10")));
  EXPECT_TRUE(applied().Holds(*plan_));
  EXPECT_TRUE(AllActive());
}

TEST_F(ProgrammerTest, ADeviceThatDoesNotAnswerCostsOneRoundOfTimeouts) {
  devices.react = [&](const Asked& sent) {
    return Reaction{.is_lost = sent.at.node == fabric_.switches[1]};
  };
  Run();
  size_t requests = 0;
  for (const std::string& text : devices.Texts()) requests += text.find("0x11") != text.npos;
  EXPECT_LE(requests, 2 * (1 + mad::EngineOptions().retries) * mad::EngineOptions().device_limit);
  EXPECT_THAT(programmer_->undone(), Contains(fabric_.switches[1]));
  EXPECT_EQ(InfoOf(fabric_.Host(0)).port_state, wire::PortState::kActive);
}

TEST_F(ProgrammerTest, ARefusedSetLeavesTheOthersAlone) {
  devices.react = [&](const Asked& sent) {
    return Reaction{.status =
                        sent.text == "Set PortInfo 0x1 of 0x101" ? uint16_t{0x1C} : uint16_t{0}};
  };
  Run();
  EXPECT_THAT(programmer_->undone(), UnorderedElementsAre(fabric_.hosts[1]));
  EXPECT_EQ(InfoOf(fabric_.Host(0)).port_state, wire::PortState::kActive);
  EXPECT_EQ(InfoOf(SwitchPort(1, 1)).port_state, wire::PortState::kInit)
      << "its peer has no LID, so the link stays down";
}

TEST_F(ProgrammerTest, APortThatWentDownMeanwhileHasItsNodeLookedAt) {
  wire::PortInfo down;
  down.port_state = wire::PortState::kDown;
  down.port_physical_state = wire::PortPhysicalState::kPolling;
  wire::SmpData shows{};
  down.Encode(shows);
  devices.react = [&](const Asked& sent) {
    Reaction reaction;
    if (sent.text == "Set PortInfo 0x24 of 0x10") reaction.shows = shows;
    return reaction;
  };
  Run();
  EXPECT_THAT(programmer_->ToLookAt(), Contains(fabric_.switches[0]));
}

TEST_F(ProgrammerTest, SaysHowFarAStageIs) {
  Start();
  devices.react = [](const Asked&) { return Reaction{.is_lost = true}; };
  Feed();
  EXPECT_EQ(programmer_->stage(), ProgramStage::kReadTables);
  devices.react = [](const Asked&) { return Reaction{}; };
  devices.Run(
      [&] {
        if (programmer_->stage() != ProgramStage::kTables) Feed();
      },
      [&](const mad::Completion& each) { Take(each); });
  ASSERT_EQ(programmer_->stage(), ProgramStage::kTables);
  EXPECT_EQ(programmer_->stage_total(), 2u);
  EXPECT_LE(programmer_->stage_position(), 2u);
  Finish();
  EXPECT_EQ(programmer_->stage_total(), 0u);
}

TEST_F(ProgrammerTest, CompletionsOfAnotherRunAreNotItsOwn) {
  Start();
  programmer_->Feed();
  const uint8_t before = input_.run;
  mad::Completion completion;
  completion.context.run = before;
  EXPECT_TRUE(programmer_->IsMine(completion));
  completion.context.run = static_cast<uint16_t>(before + 1);
  EXPECT_FALSE(programmer_->IsMine(completion));
}

TEST_F(ProgrammerTest, KnowsTheStateAndScopeThatItWasStartedWith) {
  input_.scope.key_nodes = {fabric_.hosts[1]};
  Run();
  EXPECT_EQ(programmer_->desired().guids.aliases, input_.desired.guids.aliases);
  EXPECT_THAT(programmer_->scope().key_nodes, ElementsAre(fabric_.hosts[1]));
  EXPECT_FALSE(programmer_->trees_only());
}

// ---- what others read meanwhile

class ProgrammerQueueTest : public ProgrammerTest {
 protected:
  mad::Completion Read(PortRef port, const wire::PortInfo& info) const {
    mad::Completion completion =
        AnswerWith({{port.node, 0, port.port, Work::kReadPort},
                    devices_.Get(port, wire::AttributeId::kPortInfo, port.port.value())},
                   info);
    completion.device = port.node.value();
    return completion;
  }
};

TEST_F(ProgrammerQueueTest, ASetThatWaitsIsMadeAgainFromANewerRead) {
  Run();
  options_.link.subnet_timeout = 9;
  Start();
  programmer_->Feed();
  ASSERT_EQ(programmer_->stage(), ProgramStage::kPorts);
  wire::PortInfo info = InfoOf(fabric_.Host(1));
  info.diag_code = 0x5A;
  fabric_.builder.SetPortInfo(fabric_.Host(1), info);
  programmer_->OnRead(Read(fabric_.Host(1), info));
  Finish();
  for (const Asked& sent : devices.sent) {
    if (sent.text == "Set PortInfo 0x1 of 0x101") {
      EXPECT_EQ(wire::PortInfo::Decode(sent.smp.data).diag_code, 0x5A);
    }
  }
  EXPECT_EQ(devices.CountOf("Set PortInfo 0x1 of 0x101"), 1u);
}

TEST_F(ProgrammerQueueTest, ASetThatWaitsIsLeftOutWhenTheDeviceShowsItsValue) {
  Run();
  options_.link.subnet_timeout = 9;
  Start();
  programmer_->Feed();
  wire::PortInfo info = InfoOf(fabric_.Host(1));
  info.subnet_timeout = 9;
  fabric_.builder.SetPortInfo(fabric_.Host(1), info);
  programmer_->OnRead(Read(fabric_.Host(1), info));
  Finish();
  EXPECT_TRUE(programmer_->done());
  EXPECT_EQ(devices.CountOf("Set PortInfo 0x1 of 0x101"), 0u);
  EXPECT_EQ(devices.CountOf("Set PortInfo 0x1 of 0x100"), 1u);
}

TEST_F(ProgrammerQueueTest, TheSameHoldsForSwitchInfo) {
  Run();
  options_.link.packet_life_time = 3;
  Start();
  programmer_->Feed();
  ASSERT_EQ(programmer_->stage(), ProgramStage::kSwitches);
  EditSwitch(0, [](wire::SwitchInfo& info) { info.life_time_value = 3; });
  const PortRef s0 = SwitchPort(0, 0);
  mad::Completion read = AnswerWith({{s0.node, 0, s0.port, Work::kSetSwitchInfo},
                                     devices_.Get(s0.node, wire::AttributeId::kSwitchInfo, 0)},
                                    Switch());
  programmer_->OnRead(read);
  Finish();
  EXPECT_THAT(Sets(), ElementsAre("Set SwitchInfo 0x0 of 0x11"));
}

TEST_F(ProgrammerQueueTest, FailedReadsSetsAndOtherAttributesChangeNothing) {
  Run();
  options_.link.subnet_timeout = 9;
  Start();
  programmer_->Feed();
  const PortRef host = fabric_.Host(1);
  fabric_.builder.SetPortInfo(host, {});  // A Set that is made again would differ.
  mad::Completion read = Read(host, {});
  read.status = 0x1C;
  programmer_->OnRead(read);
  read = Read(host, {});
  read.method = wire::Method::kSet;
  programmer_->OnRead(read);
  read.method = wire::Method::kGet;
  read.attribute = wire::AttributeId::kNodeInfo;
  programmer_->OnRead(read);
  programmer_->OnRead(Read({fabric_.hosts[1], PortNum(0)}, {}));  // Nothing of it is in flight.
  devices.Step([&](const mad::Completion& each) { Take(each); });
  EXPECT_EQ(devices.CountOf("Set PortInfo 0x1 of 0x101"), 1u);
}

TEST_F(ProgrammerQueueTest, ALateAnswerOfARunThatIsGoneIsTaken) {
  Run();
  wire::PortInfo info = InfoOf(fabric_.Host(1));
  info.subnet_timeout = 9;
  mad::Completion late = Read(fabric_.Host(1), info);
  late.method = wire::Method::kSet;
  late.context.kind = static_cast<uint8_t>(Work::kConfigurePort);
  EXPECT_FALSE(Programmer::OnLateAnswer(late, fabric_.builder, devices_));
  EXPECT_EQ(InfoOf(fabric_.Host(1)).subnet_timeout, 9);
}

}  // namespace
}  // namespace fabricd::sweep
