// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/light_sweep.h"

#include "tests/unit/sweep/observe/observe_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;
using testing::UnorderedElementsAre;

class LightSweepTest : public ObserveTest {
 protected:
  LightSweepTest() { Discover(); }
  LightSweep& Sweep() {
    wire_.sent.clear();
    sweep_.emplace(builder_.Build(), devices_, engine_, sms_, unread_, were_unresponsive_);
    EXPECT_FALSE(sweep_->done());
    sweep_->Start(options_.sweep, wire_.now);
    wire_.Run([] {}, [&](const mad::Completion& each) { sweep_->OnCompletion(each); });
    EXPECT_TRUE(sweep_->done());
    return *sweep_;
  }

  std::vector<RemoteSm> sms_;
  std::vector<Unread> unread_;
  std::vector<NodeIndex> were_unresponsive_;
  std::optional<LightSweep> sweep_;
};

TEST_F(LightSweepTest, AsksEachSwitchOnceAndFindsNothingWhereAllIsAsItWas) {
  const LightSweep& sweep = Sweep();
  EXPECT_THAT(wire_.Texts(),
              UnorderedElementsAre("Get SwitchInfo 0x0 of 0x10", "Get SwitchInfo 0x0 of 0x11"));
  EXPECT_THAT(sweep.changed(), IsEmpty());
  EXPECT_EQ(sweep.reason(), "");
  EXPECT_THAT(sweep.unresponsive(), IsEmpty());
}

TEST_F(LightSweepTest, ASwitchWhosePortsChangedOrWhoseInfoIsAnotherIsNamedWithACause) {
  EditSwitch(0, [](wire::SwitchInfo& info) { info.port_state_change = true; });
  EditSwitch(1, [](wire::SwitchInfo& info) { info.linear_fdb_top = 0; });
  EXPECT_THAT(
      Sweep().changed(),
      UnorderedElementsAre(Pair(KnownPort(0x10, 0), std::string("light sweep")),
                           Pair(KnownPort(0x11, 0), std::string("SwitchInfo is not what it was"))));
  EXPECT_THAT(wire_.Texts(), Each(StartsWith("Get ")));
}

TEST_F(LightSweepTest, ASwitchThatDoesNotAnswerIsNamedAndItsHostsAreAskedOnceItAnswers) {
  Silence(0x11);
  EXPECT_THAT(Sweep().changed(),
              ElementsAre(Pair(KnownPort(0x11, 0), std::string("a switch does not answer"))));
  EXPECT_THAT(sweep_->unresponsive(), ElementsAre(Known(0x11)));
  were_unresponsive_ = sweep_->unresponsive();
  AnswerAll();
  EXPECT_THAT(Sweep().changed(), ElementsAre(Pair(KnownPort(0x11, 1), testing::_),
                                             Pair(KnownPort(0x11, 2), testing::_)))
      << "their traps may have been lost; not the one towards the other switch";
}

TEST_F(LightSweepTest, AnAnswerToTheThirdAttemptHasTheHostsAskedToo) {
  int attempts = 0;
  wire_.react = [&](const Sent& sent) {
    return Reaction{.is_lost = GuidAt(sent) == 0x11 && ++attempts < 3};
  };
  EXPECT_THAT(Sweep().changed(), testing::SizeIs(2));
  attempts = 1;
  EXPECT_THAT(Sweep().changed(), IsEmpty()) << "one that was lost is nothing";
}

TEST_F(LightSweepTest, ANeighbourThatAnswersNowIsNamedByItsPort) {
  AddHost(9, SwitchPort(1, 7));
  builder_.SetPortInfo(KnownPort(0x11, 7), SmallFabric::Up());
  Silence(0x109);
  EXPECT_THAT(Sweep().changed(), IsEmpty());
  EXPECT_GT(wire_.CountOf("Get NodeInfo"), 0u);
  AnswerAll();
  EXPECT_THAT(Sweep().changed(), ElementsAre(Pair(KnownPort(0x11, 7), testing::_)));
}

TEST_F(LightSweepTest, AnotherManagerThatChangesIsAReasonForAHeavySweep) {
  RemoteSm sm;
  sm.port = KnownPort(0x103, 1);
  sm.guid = Guid(0x1003);
  sm.priority = 3;
  sm.state = wire::SmState::kStandby;
  sms_ = {sm};
  auto& info = wire_.managers[truth_.hosts[3]];
  info = {Guid(0x1003), {}, 7, 3, wire::SmState::kStandby};
  EXPECT_EQ(Sweep().reason(), "");
  EXPECT_EQ(sweep_->remote_sms()[0].activity_count, 7u);
  info.priority = 9;
  EXPECT_EQ(Sweep().reason(), "SM 0x0000000000001003 is STANDBY now, priority 9");
  EXPECT_EQ(sweep_->remote_sms()[0].priority, 9);
  Silence(0x103);
  EXPECT_EQ(Sweep().reason(), "SM 0x0000000000001003 does not answer");
  devices_.Remove(Known(0x103));
  EXPECT_EQ(Sweep().reason(), "") << "it is gone, as is known";
}

TEST_F(LightSweepTest, AnythingUnreadThatAnswersNowIsAReasonForAHeavySweep) {
  unread_ = {{KnownPort(0x103, 1), wire::AttributeId::kPKeyTable, 0},
             {{NodeIndex(99), PortNum(1)}, wire::AttributeId::kPortInfo, 1}};
  Silence(0x103);
  EXPECT_EQ(Sweep().reason(), "");
  AnswerAll();
  EXPECT_EQ(Sweep().reason(), "P_KeyTable that did not answer can be read now");
}

TEST_F(LightSweepTest, ASwitchWithoutARouteIsNotAsked) {
  devices_.Remove(Known(0x11));
  Sweep();
  EXPECT_THAT(wire_.Texts(), ElementsAre("Get SwitchInfo 0x0 of 0x10"));
}

TEST_F(LightSweepTest, ANodeThatIsKnownNotToRespondIsNamedWhenItDoesOrHasNotForLong) {
  const NodeIndex host = Known(0x103), leaf = Known(0x11);
  for (const NodeIndex node : {host, leaf}) MarkUnresponsive(ground_, node, wire_.now);
  Silence(0x11);
  EXPECT_THAT(Sweep().changed(), IsEmpty()) << "nothing is asked behind it";
  MarkResponsive(ground_, leaf);
  Silence(0x103);
  EXPECT_THAT(Sweep().changed(), IsEmpty());
  wire_.now += options_.sweep.unresponsive_grace;
  EXPECT_THAT(Sweep().changed(),
              ElementsAre(Pair(KnownPort(0x11, 2), StartsWith("a neighbour has not responded"))));
  AnswerAll();
  MarkUnresponsive(ground_, leaf, wire_.now);
  EXPECT_THAT(Sweep().changed(),
              ElementsAre(Pair(KnownPort(0x11, 0), std::string("a switch responds again"))));
  MarkResponsive(ground_, leaf);
  EXPECT_THAT(Sweep().changed(),
              ElementsAre(Pair(KnownPort(0x11, 2), std::string("a neighbour responds again"))));
}

}  // namespace
}  // namespace fabricd::sweep
