// SPDX-License-Identifier: Apache-2.0
#include "sweep/program/writer_set.h"

#include "tests/unit/sweep/write/writer_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

class WriterSetTest : public WriterTest {
 protected:
  WriterSetTest() {
    for (size_t at : {0, 1}) {
      EditSwitch(at, [](wire::SwitchInfo& info) { info.linear_fdb_top = 4; });
      EditPort(SwitchPort(at, 0), [](wire::PortInfo& info) { info.master_sm_lid = Lid(3); });
    }
  }
  void Start() {
    writers_.reset();
    Begin();
    writers_.emplace(run_->ground, run_->queue);
  }
  template <typename Attribute>
  Request SetOf(Work work, PortRef port, uint32_t modifier, const Attribute& value,
                uint16_t block = 0) {
    applied().SetBusy(port, Attribute::kAttribute);
    return {{port.node, block, port.port, work}, devices_.Set(port.node, modifier, value)};
  }
  bool Late(const Request& request, const mad::Completion& completion) {
    return WriterSet::OnLateAnswer(request.item, completion, fabric_.builder, devices_);
  }
  bool IsBusy(const Request& request) {
    return applied().IsBusy(request.item.ref(), request.smp.attribute);
  }

  std::optional<WriterSet> writers_;
};

TEST_F(WriterSetTest, EachPieceOfQueuedWorkHasTheWriterOfItsAttribute) {
  Start();
  const auto same = [&](Work a, Work b) {
    return &writers_->QueuedOf(a) == &writers_->QueuedOf(b);
  };
  EXPECT_EQ(&writers_->QueuedOf(Work::kReadLft), &writers_->lft());
  EXPECT_TRUE(same(Work::kReadPKeys, Work::kSetPKeys));
  EXPECT_TRUE(same(Work::kReadGuids, Work::kSetGuids));
  EXPECT_TRUE(same(Work::kReadPort, Work::kActivate));
  EXPECT_TRUE(same(Work::kReadMap, Work::kSetArbitration));
  EXPECT_FALSE(same(Work::kSetSwitchInfo, Work::kSetLft));
  EXPECT_FALSE(same(Work::kSetPKeys, Work::kSetGuids));
  EXPECT_DEATH(writers_->QueuedOf(Work::kSetMft), "is not queued");
}

// What a switch has lost is forgotten before its other tables are listed.
TEST_F(WriterSetTest, ASwitchWithoutATopHasItsMulticastTablesReadAgain) {
  for (size_t at : {0, 1}) {
    applied().Lft(fabric_.switches[at]).Confirm(0, {});
    for (uint8_t position : {0, 1, 2})
      applied().Mft(fabric_.switches[at]).Confirm({0, position}, {});
  }
  EditSwitch(0, [](wire::SwitchInfo& info) { info.linear_fdb_top = 0; });
  Start();
  writers_->List(ProgramStage::kReadTables, run_->queue);
  std::vector<std::string> texts;
  while (const auto next = writers_->mft().NextRequest()) texts.push_back(NameOf(next->item.node));
  EXPECT_THAT(texts, testing::ElementsAre("s0", "s0", "s0"));
  EXPECT_TRUE(run_->queue.empty()) << "there is no unicast table to be read";
}

TEST_F(WriterSetTest, AnAnswerReachesTheWriterOfItsWork) {
  Start();
  const PortRef s0 = SwitchPort(0, 0);
  const Request read{{s0.node, 0, s0.port, Work::kReadLft},
                     devices_.Get(s0.node, wire::AttributeId::kLinearForwardingTable, 0)};
  writers_->OnAnswer(read.item, AnswerTo(read, {}));
  EXPECT_TRUE(applied().Lft(s0.node).Knows(0));
  writers_->List(ProgramStage::kReadTables, run_->queue);
  const auto mft = writers_->mft().NextRequest();
  ASSERT_TRUE(mft.has_value());
  writers_->OnAnswer(mft->item, AnswerTo({mft->item, mft->smp}, {}));
  EXPECT_TRUE(applied().Mft(s0.node).Knows({0, 0}));
}

// ---- answers to a run that is gone

TEST_F(WriterSetTest, LateAnswersEndTheBusyTimeAndAreTakenByAttribute) {
  const PortRef s0 = SwitchPort(0, 0), host = fabric_.Host(1);
  wire::PortInfo info = SmallFabric::Up();
  info.lid = Lid(44);
  const Request port = SetOf(Work::kConfigurePort, host, 1, info);
  Late(port, AnswerTo(port, port.smp.data));
  EXPECT_FALSE(IsBusy(port));
  EXPECT_EQ(InfoOf(host).lid, Lid(44));

  wire::SwitchInfo top = Switch();
  top.multicast_fdb_top = 0xC01F;
  const Request mft_top = SetOf(Work::kSetMftTop, s0, 0, top);
  Late(mft_top, AnswerTo(mft_top, mft_top.smp.data));
  EXPECT_FALSE(IsBusy(mft_top));
  EXPECT_EQ(fabric_.builder.node(s0.node)->switch_info->multicast_fdb_top, 0xC01F);

  wire::PKeyTable keys;
  applied().PKeys(host).GrowTo(1);
  applied().PKeys(host).MarkSent(0, keys);
  const Request p_keys = SetOf(Work::kSetPKeys, host, 0, keys);
  Late(p_keys, AnswerTo(p_keys, p_keys.smp.data));
  EXPECT_TRUE(applied().FindPKeys(host)->Knows(0));

  applied().GuidsTo(host, 0).MarkSent(0, {});
  const Request guids = SetOf(Work::kSetGuids, host, 0, wire::GuidInfo());
  Late(guids, AnswerTo(guids, guids.smp.data));
  EXPECT_TRUE(applied().FindGuids(host)->Knows(0));

  applied().Lft(s0.node).MarkSent(0, {});
  const Request lft = SetOf(Work::kSetLft, s0, 0, wire::LinearForwardingTable());
  Late(lft, AnswerTo(lft, lft.smp.data));
  EXPECT_TRUE(applied().Lft(s0.node).Knows(0));

  applied().Mft(s0.node).MarkSent({0, 0}, {});
  const Request mft = SetOf(Work::kSetMft, s0, 0, wire::MulticastForwardingTable());
  Late(mft, AnswerTo(mft, mft.smp.data));
  EXPECT_TRUE(applied().Mft(s0.node).Knows({0, 0}));

  const Request map = SetOf(Work::kSetMap, host, 0, wire::SlToVlMappingTable());
  Late(map, AnswerTo(map, map.smp.data));
  EXPECT_FALSE(IsBusy(map));
  EXPECT_TRUE(applied().vls().tables().empty()) << "unknown until it is read";
}

TEST_F(WriterSetTest, ALateFailureEndsTheBusyTimeAndLeavesTheValueUnknown) {
  const PortRef leaf = SwitchPort(1, 1), host = fabric_.Host(1);
  applied().NoteRequestedEnforcement(leaf, {true, true});
  const wire::PortInfo before = InfoOf(leaf);
  const Request port = SetOf(Work::kConfigurePort, leaf, 1, wire::PortInfo());
  Late(port, Refusal(port));
  EXPECT_FALSE(IsBusy(port));
  EXPECT_FALSE(applied().RequestedEnforcement(leaf));
  EXPECT_EQ(InfoOf(leaf), before);
  applied().PKeys(host).GrowTo(1);
  applied().PKeys(host).MarkSent(0, {});
  const Request p_keys = SetOf(Work::kSetPKeys, host, 0, wire::PKeyTable());
  Late(p_keys, Timeout(p_keys));
  EXPECT_FALSE(applied().FindPKeys(host)->Knows(0));
}

TEST_F(WriterSetTest, ALateAnswerOfADeviceThatIsGoneOrToAGetIsIgnored) {
  const PortRef host = fabric_.Host(1);
  const Request port = SetOf(Work::kConfigurePort, host, 1, wire::PortInfo());
  fabric_.builder.RemoveNode(host.node);
  Late(port, AnswerTo(port, port.smp.data));
  EXPECT_FALSE(IsBusy(port));
  EXPECT_EQ(fabric_.builder.node(host.node), nullptr);
  const PortRef s0 = SwitchPort(0, 0);
  applied().SetBusy(s0, wire::AttributeId::kSwitchInfo);
  const Request get{{s0.node, 0, s0.port, Work::kSetSwitchInfo},
                    devices_.Get(s0.node, wire::AttributeId::kSwitchInfo, 0)};
  Late(get, AnswerTo(get, {}));
  EXPECT_TRUE(IsBusy(get));
}

}  // namespace
}  // namespace fabricd::sweep
