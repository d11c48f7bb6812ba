// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/explorer.h"

#include "tests/unit/sweep/observe/observe_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ExplorerTest : public ObserveTest {
 protected:
  ExplorerTest() { Discover(); }

  void Add(PortRef port, const char* cause = "trap 128") {
    explorer_.Add(port, cause, wire_.now, wire_.now);
  }
  void Finish(bool reading = false) {
    wire_.Run([&] { explorer_.Advance(local_, reading, wire_.now); },
              [&](const mad::Completion& each) { explorer_.OnCompletion(each, wire_.now); },
              [&] {
                const Instant next = explorer_.NextDeadline();
                return explorer_.idle() || explorer_.HasFound() || next <= wire_.now ? kNever
                                                                                     : next;
              });
  }
  // A host comes at this port of the near switch, and its port is known to be up.
  void Come(uint64_t number, int port) {
    AddHost(number, SwitchPort(0, port));
    builder_.SetPortInfo(KnownPort(0x10, port), SmallFabric::Up());
    Add(KnownPort(0x10, port));
  }

  Explorer explorer_{ground_};
};

TEST_F(ExplorerTest, FindsANewHostAndReportsItAtOnce) {
  EXPECT_TRUE(explorer_.idle());
  Come(9, 7);
  EXPECT_FALSE(explorer_.idle());
  Finish();
  EXPECT_TRUE(explorer_.HasChanges());
  EXPECT_EQ(explorer_.cause(), "trap 128");
  const SurveyChanges changes = explorer_.TakeChanges();
  EXPECT_THAT(GuidsOf(changes.come), ElementsAre(0x109u));
  EXPECT_THAT(GuidsOf(changes.touched), ElementsAre(0x10u, 0x109u));
  EXPECT_EQ(changes.about, KnownPort(0x10, 7));
  EXPECT_EQ(changes.peer, KnownPort(0x109, 1));
  EXPECT_FALSE(explorer_.HasChanges());
  EXPECT_TRUE(explorer_.idle());
}

TEST_F(ExplorerTest, NodesThatWereNeverSeenAreGatheredForASecondAfterTheFirst) {
  Come(9, 7);
  Finish();
  explorer_.TakeChanges();
  Come(10, 8);
  Finish();
  EXPECT_TRUE(explorer_.HasFound());
  EXPECT_FALSE(explorer_.HasChanges());
  EXPECT_TRUE(explorer_.Gathers(Known(0x10A)));
  EXPECT_FALSE(explorer_.Gathers(Known(0x10)));
  const Instant due = explorer_.NextDeadline();
  Come(11, 9);
  Finish();
  EXPECT_FALSE(explorer_.HasChanges());
  wire_.now = due;
  explorer_.Advance(local_, false, wire_.now);
  EXPECT_TRUE(explorer_.HasChanges());
  EXPECT_THAT(GuidsOf(explorer_.TakeChanges().come), ElementsAre(0x10Au, 0x10Bu));
}

TEST_F(ExplorerTest, AnythingElseThatIsFoundTakesTheGatheredAlong) {
  Come(9, 7);
  Finish();
  explorer_.TakeChanges();
  Come(10, 8);
  Finish();
  ASSERT_FALSE(explorer_.HasChanges());
  Add(KnownPort(0x10, 2), "trap 144");  // A host that is known.
  Finish();
  EXPECT_TRUE(explorer_.HasChanges());
  EXPECT_THAT(GuidsOf(explorer_.TakeChanges().touched), ElementsAre(0x10u, 0x102u, 0x10Au));
}

TEST_F(ExplorerTest, WaitsALittleForSurveysThatAreReading) {
  Come(9, 7);
  explorer_.Advance(local_, /*reading=*/true, wire_.now);
  EXPECT_EQ(explorer_.NextDeadline(), wire_.now + options_.sweep.survey_patience);
  wire_.Step([](const mad::Completion&) {});
  EXPECT_THAT(wire_.sent, IsEmpty());
  wire_.now = explorer_.NextDeadline();
  explorer_.Advance(local_, true, wire_.now);
  Finish();
  EXPECT_TRUE(explorer_.HasFound());
}

TEST_F(ExplorerTest, PortsThatAreAddedMeanwhileAreExploredNext) {
  Come(9, 7);
  explorer_.Advance(local_, false, wire_.now);
  Come(10, 8);
  Finish();
  EXPECT_THAT(GuidsOf(explorer_.TakeChanges().come), ElementsAre(0x109u, 0x10Au));
}

TEST_F(ExplorerTest, TheEarliestReportNamesTheCause) {
  Come(9, 7);
  explorer_.Add(KnownPort(0x10, 2), "light sweep", wire_.now - 1s, wire_.now);
  explorer_.Add(KnownPort(0x10, 2), "trap 144", wire_.now, wire_.now);
  Finish();
  EXPECT_EQ(explorer_.cause(), "light sweep");
  EXPECT_EQ(explorer_.since(), wire_.now - 1s);
}

TEST_F(ExplorerTest, APortWithoutAnAnswerLosesTheLinkThatWasKnown) {
  Plug(SwitchPort(0, 20), SwitchPort(1, 20));
  Discover();
  wire_.react = [](const Sent& sent) {
    return Reaction{.is_lost = sent.smp.attribute == wire::AttributeId::kNodeInfo};
  };
  Add(KnownPort(0x10, 20));
  Finish();
  EXPECT_TRUE(NodeOf(0x10)->port(PortNum(20)).peer.IsNone());
  EXPECT_THAT(explorer_.TakeSuspects(), ElementsAre(Known(0x11))) << "its ports are to be read";
  EXPECT_THAT(explorer_.TakeSuspects(), IsEmpty());
  EXPECT_THAT(GuidsOf(explorer_.TakeChanges().touched), ElementsAre(0x10u, 0x11u));
}

TEST_F(ExplorerTest, PortsThatAreDownAgainLeaveNothingToDo) {
  Add(KnownPort(0x10, 30));
  Finish();
  EXPECT_TRUE(explorer_.idle());
  EXPECT_FALSE(explorer_.HasFound());
}

TEST_F(ExplorerTest, ASwitchThatShowsAChangeIsReadOnceInTenSeconds) {
  EditSwitch(1, [](wire::SwitchInfo& info) { info.port_state_change = true; });
  Add(KnownPort(0x10, 36));
  Finish();
  EXPECT_THAT(explorer_.TakeSuspects(), ElementsAre(Known(0x11)));
  Add(KnownPort(0x10, 36));
  Finish();
  EXPECT_THAT(explorer_.TakeSuspects(), IsEmpty());
  wire_.now += 11s;
  Add(KnownPort(0x10, 36));
  Finish();
  EXPECT_THAT(explorer_.TakeSuspects(), ElementsAre(Known(0x11)));
}

TEST_F(ExplorerTest, AnotherManagerThatIsMetNeedsASweep) {
  const NodeIndex host = AddHost(9, SwitchPort(0, 7));
  EditTruth({host, PortNum(1)},
            [](wire::PortInfo& info) { info.capability_mask |= wire::kCapIsSm; });
  wire_.managers[host] = {Guid(0x1009), {}, 7, 3, wire::SmState::kMaster};
  builder_.SetPortInfo(KnownPort(0x10, 7), SmallFabric::Up());
  Add(KnownPort(0x10, 7));
  Finish();
  EXPECT_TRUE(explorer_.HasChanges());
  const SurveyChanges changes = explorer_.TakeChanges();
  EXPECT_TRUE(changes.meets_sm);
  EXPECT_THAT(changes.needs_sweep, HasSubstr("an SM (0x0000000000001009) came"));
}

TEST_F(ExplorerTest, UnreadAttributesAreHandedOnOnce) {
  AddHost(9, SwitchPort(0, 7));
  builder_.SetPortInfo(KnownPort(0x10, 7), SmallFabric::Up());
  wire_.react = [](const Sent& sent) {
    return Reaction{.is_lost = sent.smp.attribute == wire::AttributeId::kPKeyTable};
  };
  Add(KnownPort(0x10, 7));
  Finish();
  const auto unread = explorer_.TakeUnread();
  ASSERT_EQ(unread.size(), 1u);
  EXPECT_EQ(unread[0].attribute, wire::AttributeId::kPKeyTable);
  EXPECT_THAT(explorer_.TakeUnread(), IsEmpty());
}

TEST_F(ExplorerTest, ALinkThatIsLostMeanwhileIsGivenUp) {
  Come(9, 7);
  Silence(0x109);
  explorer_.Advance(local_, false, wire_.now);
  wire_.Step([&](const mad::Completion& each) { explorer_.OnCompletion(each, wire_.now); });
  explorer_.OnLinkLost(KnownPort(0x10, 7));
  const Instant before = wire_.now;
  wire_.Step([&](const mad::Completion& each) { explorer_.OnCompletion(each, wire_.now); });
  explorer_.Advance(local_, false, wire_.now);
  EXPECT_TRUE(explorer_.idle());
  EXPECT_EQ(wire_.now, before);
}

}  // namespace
}  // namespace fabricd::sweep
