// SPDX-License-Identifier: Apache-2.0
// IBA vol 1 §14.2.5.8 and §14.2.5.9. What tables should hold is in device/lane_tables_test.cc.
#include "sweep/write/vl_writer.h"

#include "tests/unit/sweep/write/writer_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using Arbitration = wire::VlArbitrationTable;
using Map = wire::SlToVlMappingTable;

constexpr ProgramStage kReadStage = ProgramStage::kReadLanes, kSetStage = ProgramStage::kLanes;

class VlWriterTest : public OneWriterTest<VlWriter> {
 protected:
  // Two VLs; every port has four, and arbitration tables of 8 entries of which the first serves
  // VL 0.
  VlWriterTest() {
    plan_ = PlanOf(2);
    for (PortRef port : {SwitchPort(0, 1), SwitchPort(0, 36), SwitchPort(1, 1), SwitchPort(1, 36),
                         fabric_.Host(0), fabric_.Host(1)}) {
      EditPort(port, [](wire::PortInfo& info) {
        info.operational_vls = 3;
        info.vl_arb_low_cap = 8;
        info.port_state = wire::PortState::kActive;
      });
      Arbitration table;
      table.entries[0] = {0, 4};
      const bool is_switch = fabric_.builder.node(port.node)->IsSwitch();
      registers_.Put(port.node, Arbitration::Modifier(1, is_switch ? port.port : PortNum(0)),
                     table);
    }
  }
  std::shared_ptr<const routing::RoutingPlan> PlanOf(uint8_t vls) const {
    auto plan = std::make_shared<routing::RoutingPlan>(*MakePlan());
    plan->lanes = vls;
    return plan;
  }
  void ReadAll() { CarryOut(kReadStage); }
  const wire::SmpData* HostMap(size_t i) {
    return applied().vls().Find({fabric_.Host(i), VlTable::Kind::kMap, 0});
  }
  static Map MapIn(const Request& request) { return Map::Decode(request.smp.data); }
  static Request Find(const std::vector<Request>& requests, Work work, NodeIndex node) {
    for (const Request& each : requests)
      if (each.item.work == work && each.item.node == node) return each;
    ADD_FAILURE() << "no such request";
    return requests.at(0);
  }
};

TEST_F(VlWriterTest, APlanOfOneVlReadsAndWritesNothing) {
  plan_ = PlanOf(1);
  EXPECT_THAT(Listed(kReadStage), IsEmpty());
  EXPECT_THAT(Listed(kSetStage), IsEmpty());
  plan_ = nullptr;
  EXPECT_THAT(Listed(kReadStage), IsEmpty());
}

TEST_F(VlWriterTest, ReadsTheTablesOfLinkedPortsThatAreNotKnown) {
  const auto reads = List(kReadStage);
  EXPECT_THAT(Texts(reads),
              UnorderedElementsAre(
                  "Get VLArbitrationTable 0x10001 of s0", "Get VLArbitrationTable 0x10024 of s0",
                  "Get VLArbitrationTable 0x10001 of s1", "Get VLArbitrationTable 0x10024 of s1",
                  "Get VLArbitrationTable 0x10000 of h0", "Get VLArbitrationTable 0x10000 of h1",
                  "Get SLtoVLMappingTable 0x1 of s0", "Get SLtoVLMappingTable 0x24 of s0",
                  "Get SLtoVLMappingTable 0x124 of s0", "Get SLtoVLMappingTable 0x2401 of s0",
                  "Get SLtoVLMappingTable 0x1 of s1", "Get SLtoVLMappingTable 0x24 of s1",
                  "Get SLtoVLMappingTable 0x124 of s1", "Get SLtoVLMappingTable 0x2401 of s1",
                  "Get SLtoVLMappingTable 0x0 of h0", "Get SLtoVLMappingTable 0x0 of h1"));
  EXPECT_THAT(Texts({reads[0]}), Not(Contains(HasSubstr("0x2401")))) << "device by device";
  ConfirmAll(reads);
  EXPECT_THAT(Listed(kReadStage), IsEmpty());
}

TEST_F(VlWriterTest, AHostWhoseLinkHasJustComeUpIsReadAgainForItMayHaveRestarted) {
  ReadAll();
  EditPort(fabric_.Host(1), [](wire::PortInfo& info) { info.port_state = wire::PortState::kInit; });
  EXPECT_THAT(Listed(kReadStage), UnorderedElementsAre("Get VLArbitrationTable 0x10000 of h1",
                                                       "Get SLtoVLMappingTable 0x0 of h1"));
}

TEST_F(VlWriterTest, WritesDifferencesAndThenNothing) {
  ReadAll();
  const auto writes = List(kSetStage);
  EXPECT_THAT(writes, SizeIs(16));
  const Request host = Find(writes, Work::kSetMap, fabric_.hosts[1]);
  for (size_t level = 0; level < 16; ++level) EXPECT_EQ(MapIn(host).vl[level], level % 2);
  EXPECT_EQ(host.smp.m_key, MKey(0x5EC));
  const auto table =
      Arbitration::Decode(Find(writes, Work::kSetArbitration, fabric_.hosts[1]).smp.data);
  EXPECT_EQ(table.entries[0].vl, 0);
  EXPECT_EQ(table.entries[1].vl, 1);
  EXPECT_GT(table.entries[1].weight, 0);
  EXPECT_EQ(HostMap(1), nullptr) << "confirmed by the answer alone";
  ConfirmAll(writes);
  EXPECT_THAT(Listed(kReadStage), IsEmpty());
  EXPECT_THAT(Listed(kSetStage), IsEmpty());
  EXPECT_EQ(record().failures(), 0u);
}

TEST_F(VlWriterTest, ASwitchThatCanTakesAllItsMappingsInOneSet) {
  EditSwitch(0, [](wire::SwitchInfo& info) { info.optimized_sl_to_vl = 1; });
  ReadAll();
  const auto writes = List(kSetStage);
  const Request whole = Find(writes, Work::kSetWholeMap, fabric_.switches[0]);
  EXPECT_EQ(whole.smp.modifier, 0x30000u);
  EXPECT_THAT(Texts(writes), Not(Contains("Set SLtoVLMappingTable 0x124 of s0")));
  EXPECT_THAT(Texts(writes), Contains("Set SLtoVLMappingTable 0x124 of s1"));
  Confirm(*writer_, whole);
  const VlTable one{SwitchPort(0, 0), VlTable::Kind::kMap, 0x124};
  ASSERT_NE(applied().vls().Find(one), nullptr);
  EXPECT_EQ(*applied().vls().Find(one), whole.smp.data);
}

TEST_F(VlWriterTest, ASwitchThatLacksOneMappingTakesThatOneAlone) {
  EditSwitch(0, [](wire::SwitchInfo& info) { info.optimized_sl_to_vl = 1; });
  CarryOut(kReadStage);
  CarryOut(kSetStage);
  applied().vls().MarkUnknown({SwitchPort(0, 0), VlTable::Kind::kMap, 0x124});
  EXPECT_THAT(Listed(kSetStage), ElementsAre("Set SLtoVLMappingTable 0x124 of s0"));
}

TEST_F(VlWriterTest, MappingsThatAreToDifferByPortAreWrittenOneByOne) {
  EditSwitch(0, [](wire::SwitchInfo& info) { info.optimized_sl_to_vl = 1; });
  EditPort(SwitchPort(0, 1), [](wire::PortInfo& info) { info.operational_vls = 1; });
  ReadAll();
  EXPECT_THAT(Listed(kSetStage), Not(Contains("Set SLtoVLMappingTable 0x30000 of s0")));
}

TEST_F(VlWriterTest, AnArbitrationTableThatWasNotReadIsNotWritten) {
  EXPECT_THAT(Listed(kSetStage), Each(HasSubstr("SLtoVL")));
}

TEST_F(VlWriterTest, ARefusedSetLeavesTheTableUnknown) {
  ReadAll();
  const Request host = Find(List(kSetStage), Work::kSetMap, fabric_.hosts[1]);
  Reply(host, Refusal(host));
  EXPECT_EQ(HostMap(1), nullptr);
  EXPECT_EQ(record().failures(), 1u);
  EXPECT_THAT(record().undone(), UnorderedElementsAre(fabric_.hosts[1]));
  EXPECT_THAT(Problems(), ElementsAre("SetRefused: Set SLtoVLMappingTable: status 0x001c"));
}

TEST_F(VlWriterTest, ASwitchThatDoesNotAnswerIsLeftAloneAndReadAgainByTheNextRun) {
  auto reads = List(kReadStage);
  const Request read = Find(reads, Work::kReadMap, fabric_.switches[1]);
  Reply(read, Timeout(read));
  EXPECT_THAT(Problems(), ElementsAre("Unresponsive: Get SLtoVLMappingTable: no answer"));
  run_->queue.Add(read.item);
  EXPECT_THAT(Take(*writer_), IsEmpty());
  EXPECT_THAT(Listed(kReadStage), SizeIs(16));
}

TEST_F(VlWriterTest, ASetThatIsAnsweredWithOtherValuesIsReadAndWrittenAgain) {
  ReadAll();
  const auto writes = List(kSetStage);
  const Request map = Find(writes, Work::kSetMap, fabric_.hosts[1]);
  Reply(map, AnswerWith(map, Map{}));
  EXPECT_EQ(HostMap(1), nullptr);
  const Request arbitration = Find(writes, Work::kSetArbitration, fabric_.hosts[0]);
  Reply(arbitration, AnswerWith(arbitration, Arbitration{}));
  EXPECT_EQ(record().failures(), 2u);
  EXPECT_THAT(Problems(),
              UnorderedElementsAre("SetRefused: answers Set SLtoVLMappingTable 0 with other values",
                                   "SetRefused: answers Set VLArbitrationTable 65536 with other "
                                   "values"));
  EXPECT_THAT(Listed(kReadStage), testing::AllOf(Contains("Get SLtoVLMappingTable 0x0 of h1"),
                                                 Contains("Get VLArbitrationTable 0x10000 of h0")));
}

TEST_F(VlWriterTest, AnAnswerOfADeviceThatIsGoneCountsAsAFailureAlone) {
  const Request read = Find(List(kReadStage), Work::kReadMap, fabric_.hosts[1]);
  fabric_.builder.RemoveNode(fabric_.hosts[1]);
  Reply(read, AnswerTo(read, {}));
  EXPECT_EQ(record().failures(), 1u);
  EXPECT_EQ(HostMap(1), nullptr);
}

// OperationalVLs decide what a mapping is to be.
TEST_F(VlWriterTest, TablesOfAPortWaitForASetOfItsPortInfo) {
  ReadAll();
  applied().SetBusy(fabric_.Host(1), wire::AttributeId::kPortInfo);
  EXPECT_THAT(Listed(kSetStage), Each(Not(HasSubstr("of h1"))));
  applied().ClearBusy(fabric_.Host(1), wire::AttributeId::kPortInfo);
  EXPECT_THAT(Texts(Take(*writer_)), SizeIs(2));
}

}  // namespace
}  // namespace fabricd::sweep
