// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/survey.h"

#include "tests/unit/sweep/observe/observe_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

class SurveyTest : public ObserveTest {
 protected:
  SurveyTest() { Discover(); }

  static SurveyTask Look(std::vector<NodeIndex> switches) {
    SurveyTask task;
    task.switches = std::move(switches);
    task.cause = "trap 128";
    task.since = Instant(99s);
    return task;
  }
  void Start(SurveyTask task) {
    wire_.sent.clear();
    survey_.emplace(ground_, explorer_, local_, 3);
    survey_->Start(std::move(task), wire_.now);
  }
  // To the end, with the timeouts of devices that do not answer.
  Survey& Run(SurveyTask task) {
    Start(std::move(task));
    Finish();
    EXPECT_TRUE(survey_->done());
    return *survey_;
  }
  void Finish() {
    wire_.Run([&] { Advance(); }, [&](const mad::Completion& each) { Take(each); },
              [&] { return Later(std::min(survey_->NextDeadline(), explorer_.NextDeadline())); });
  }
  void Advance() {
    survey_->Advance(wire_.now);
    explorer_.Advance(local_, survey_->IsReading(wire_.now), wire_.now);
  }
  // A deadline that has passed is none any more.
  Instant Later(Instant deadline) const { return deadline <= wire_.now ? kNever : deadline; }
  void Take(const mad::Completion& each) {
    if (each.context.owner_as<Activity>() == Activity::kSurvey)
      survey_->OnCompletion(each, wire_.now);
    else if (each.context.owner_as<Activity>() == Activity::kExplorer)
      explorer_.OnCompletion(each, wire_.now);
  }
  // One round of requests and answers, without any time passing.
  void Step() {
    Advance();
    wire_.Step([&](const mad::Completion& each) { Take(each); });
  }
  void HaveStateTables() {
    for (int i : {0, 1})
      EditTruth(SwitchPort(static_cast<size_t>(i), 0), [](wire::PortInfo& info) {
        info.capability_mask |= wire::kCapIsCapabilityMask2;
        info.capability_mask2 |= wire::kCap2IsSwitchPortStateTable;
      });
    Discover();
  }

  Explorer explorer_{ground_};
  std::optional<Survey> survey_;
};

// ---- reading

TEST_F(SurveyTest, ASwitchWithoutAChangeCostsReadsAndFindsNothing) {
  Survey& survey = Run(Look({Known(0x10)}));
  EXPECT_FALSE(survey.HasChanges(wire_.now));
  EXPECT_FALSE(survey.Changed(Known(0x10)));
  EXPECT_TRUE(survey.TakeChanges().empty());
  EXPECT_EQ(wire_.CountOf("Get SwitchInfo 0x0 of 0x10"), 1u);
  EXPECT_EQ(wire_.CountOf("Get PortInfo"), 36u);
  EXPECT_EQ(wire_.CountOf("Set"), 0u);
}

TEST_F(SurveyTest, OneTableOfStatesStandsForAllPortsThatAreAsTheyWere) {
  HaveStateTables();
  Run(Look({Known(0x10)}));
  EXPECT_THAT(wire_.Texts(), UnorderedElementsAre("Get SwitchInfo 0x0 of 0x10",
                                                  "Get SwitchPortStateTable 0x0 of 0x10"));
  Cut(SwitchPort(0, 2));
  Run(Look({Known(0x10)}));
  EXPECT_EQ(wire_.CountOf("Get PortInfo"), 1u);
  EXPECT_TRUE(survey_->Changed(Known(0x10)));
}

TEST_F(SurveyTest, ATableThatShowsNoChangeIsNotTrustedBeforeItHasShownOne) {
  HaveStateTables();
  const auto old = [](const Sent& sent) {  // As if nothing had happened: all are ACTIVE or DOWN.
    wire::SwitchPortStateTable table;
    table.state.fill(static_cast<uint8_t>(wire::PortState::kDown));
    for (size_t port : {1, 2, 36})
      table.state[port] = static_cast<uint8_t>(wire::PortState::kActive);
    Reaction reaction;
    if (sent.smp.attribute != wire::AttributeId::kSwitchPortStateTable) return reaction;
    reaction.shows.emplace();
    table.Encode(*reaction.shows);
    return reaction;
  };
  wire_.react = old;
  Cut(SwitchPort(0, 2));
  EditSwitch(0, [](wire::SwitchInfo& info) { info.port_state_change = true; });
  Run(Look({Known(0x10)}));
  EXPECT_EQ(wire_.CountOf("Get PortInfo"), 36u);
  EXPECT_TRUE(survey_->Changed(Known(0x10)));
  EXPECT_EQ(devices_.table_trust(Known(0x10)), DeviceTable::TableTrust::kWrong);
  Run(Look({Known(0x10)}));
  EXPECT_EQ(wire_.CountOf("Get SwitchPortStateTable"), 0u) << "it has missed a change";
}

TEST_F(SurveyTest, ATableThatHasShownAChangeIsTrusted) {
  HaveStateTables();
  Cut(SwitchPort(0, 2));
  Run(Look({Known(0x10)}));
  EXPECT_EQ(devices_.table_trust(Known(0x10)), DeviceTable::TableTrust::kRight);
  EditSwitch(0, [](wire::SwitchInfo& info) { info.port_state_change = true; });
  Run(Look({Known(0x10)}));
  EXPECT_EQ(wire_.CountOf("Get PortInfo"), 0u);
}

TEST_F(SurveyTest, ReservedBitsOfSwitchInfoThatChangeAreNoChange) {
  EditSwitch(0, [](wire::SwitchInfo& info) { info.reserved[63] = 0x55; });
  EXPECT_FALSE(Run(Look({Known(0x10)})).HasChanges(wire_.now));
}

TEST_F(SurveyTest, TheDescriptionOfASwitchIsReadAgainWhereItIsReported) {
  truth_.builder.SetDescription(truth_.switches[0], "leaf0-renamed");
  SurveyTask task = Look({Known(0x10)});
  task.described = {Known(0x10)};
  Run(task);
  EXPECT_EQ(NodeOf(0x10)->description, "leaf0-renamed");
  EXPECT_TRUE(survey_->Changed(Known(0x10)));
  EXPECT_FALSE(Run(task).HasChanges(wire_.now));
}

// ---- switches that do not respond

TEST_F(SurveyTest, ASwitchThatDoesNotRespondStaysWhileItsLinkIsActive) {
  Silence(0x11);
  Run(Look({Known(0x11)}));
  EXPECT_EQ(wire_.CountOf("Get PortInfo 0x24 of 0x10"), 1u);
  const SurveyChanges changes = survey_->TakeChanges();
  EXPECT_EQ(changes.needs_sweep, "");
  EXPECT_THAT(GuidsOf(changes.touched), ElementsAre(0x11u));
  EXPECT_TRUE(NodeOf(0x11)->unresponsive);
  EXPECT_TRUE(Run(Look({Known(0x11)})).TakeChanges().empty()) << "known already";
  wire_.now += options_.sweep.unresponsive_grace;
  EXPECT_THAT(Run(Look({Known(0x11)})).TakeChanges().needs_sweep, HasSubstr("does not answer"));
  AnswerAll();
  EXPECT_THAT(GuidsOf(Run(Look({Known(0x11)})).TakeChanges().touched), ElementsAre(0x11u));
  EXPECT_FALSE(NodeOf(0x11)->unresponsive);
}

TEST_F(SurveyTest, ASwitchThatDoesNotRespondIsLostWithItsLastActiveLink) {
  Silence(0x11);
  SetLink(SwitchPort(0, 36), wire::PortState::kInit);
  Run(Look({Known(0x11)}));
  EXPECT_EQ(NodeOf(0x11), nullptr);
}

TEST_F(SurveyTest, ATableOfStatesThatCannotBeReadNeedsASweep) {
  HaveStateTables();
  wire_.react = [](const Sent& sent) {
    return Reaction{.status = sent.smp.attribute == wire::AttributeId::kSwitchPortStateTable
                                  ? uint16_t{4}
                                  : uint16_t{0}};
  };
  Run(Look({Known(0x10)}));
  EXPECT_THAT(survey_->TakeChanges().needs_sweep, HasSubstr("cannot be read: status 0x0004"));
}

TEST_F(SurveyTest, PortStateChangeIsClearedBeforeThePortsAreRead) {
  EditSwitch(0, [](wire::SwitchInfo& info) { info.port_state_change = true; });
  Run(Look({Known(0x10)}));
  ASSERT_GE(wire_.sent.size(), 3u);
  EXPECT_EQ(wire_.sent[0].text, "Get SwitchInfo 0x0 of 0x10");
  EXPECT_EQ(wire_.sent[1].text, "Set SwitchInfo 0x0 of 0x10");
  EXPECT_TRUE(wire::SwitchInfo::Decode(wire_.sent[1].smp.data).port_state_change);
  EXPECT_THAT(wire_.sent[2].text, StartsWith("Get PortInfo"));
  EXPECT_FALSE(NodeOf(0x10)->switch_info->port_state_change);
}

TEST_F(SurveyTest, NearSwitchesAreReadBeforeFarOnesAndALateOneOnlyDelaysThem) {
  Run(Look({Known(0x10), Known(0x11)}));
  const auto texts = wire_.Texts();
  EXPECT_EQ(std::find(texts.begin(), texts.end(), "Get SwitchInfo 0x0 of 0x11") - texts.begin(), 37)
      << "behind the 37 requests to the near one";
  Silence(0x10);
  Start(Look({Known(0x10), Known(0x11)}));
  Step();
  EXPECT_EQ(wire_.CountOf("Get SwitchInfo 0x0 of 0x11"), 0u);
  wire_.now += options_.sweep.survey_patience;
  Step();
  EXPECT_EQ(wire_.CountOf("Get SwitchInfo 0x0 of 0x11"), 1u);
  Finish();
}

TEST_F(SurveyTest, ASwitchIsBeingReadFromItsTaskToItsLastAnswer) {
  Start(Look({Known(0x10), Known(0x11)}));
  EXPECT_TRUE(survey_->IsAt(Known(0x10)));
  EXPECT_TRUE(survey_->IsAt(Known(0x11)));
  EXPECT_FALSE(survey_->IsAt(Known(0x100)));
  EXPECT_TRUE(survey_->IsReading(wire_.now));
  Finish();
  EXPECT_FALSE(survey_->IsAt(Known(0x10)));
  EXPECT_FALSE(survey_->IsReading(wire_.now));
  EXPECT_EQ(survey_->task().cause, "trap 128");
}

TEST_F(SurveyTest, AThoroughLookReadsPortZeroTooAndHasAllNeighboursProgrammed) {
  HaveStateTables();
  SurveyTask task = Look({Known(0x11)});
  task.thorough = true;
  Run(task);
  EXPECT_EQ(wire_.CountOf("Get PortInfo"), 37u);
  EXPECT_THAT(GuidsOf(survey_->TakeChanges().touched), ElementsAre(0x10u, 0x11u, 0x101u, 0x103u));
}

TEST_F(SurveyTest, SwitchesThatAreGoneAreNotRead) {
  const NodeIndex leaf = Known(0x11);
  builder_.RemoveNode(leaf);
  SurveyTask task = Look({leaf});
  task.ports = {{leaf, PortNum(1)}};
  task.links = {{leaf, PortNum(2)}};
  Run(task);
  EXPECT_THAT(wire_.sent, IsEmpty());
}

TEST_F(SurveyTest, AReadOfABusyAttributeFollowsItsSet) {
  devices_.applied().SetBusy(KnownPort(0x10, 0), wire::AttributeId::kSwitchInfo);
  EditSwitch(0, [](wire::SwitchInfo& info) { info.port_state_change = true; });
  Run(Look({Known(0x10)}));
  EXPECT_EQ(wire_.CountOf("Set"), 0u) << "the other Set is about to clear it";
  EXPECT_EQ(wire_.CountOf("Get PortInfo"), 36u);
}

// ---- losses

TEST_F(SurveyTest, ALinkThatWentDownIsLostAndItsOtherEndIsAsked) {
  Plug(SwitchPort(0, 20), SwitchPort(1, 20));
  Discover();
  const PortRef lost = KnownPort(0x10, 20);
  Cut(SwitchPort(0, 20));
  Run(Look({Known(0x10)}));
  EXPECT_TRUE(builder_.node(lost.node)->port(lost.port).peer.IsNone());
  EXPECT_EQ(wire_.CountOf("Get PortInfo 0x14 of 0x11"), 1u);
  EXPECT_FALSE(NodeOf(0x11)->port(PortNum(20)).IsUp());
  EXPECT_TRUE(survey_->HasChanges(wire_.now));
  EXPECT_TRUE(survey_->Changed(Known(0x11)));
  const SurveyChanges changes = survey_->TakeChanges();
  EXPECT_EQ(changes.about, lost);
  EXPECT_THAT(GuidsOf(changes.touched), ElementsAre(0x10u, 0x11u));
  EXPECT_THAT(changes.gone, IsEmpty());
  EXPECT_FALSE(survey_->HasChanges(wire_.now));
}

TEST_F(SurveyTest, NodesThatNoLinkLeadsToAreGone) {
  const NodeIndex leaf = Known(0x11), host = Known(0x101), other = Known(0x103);
  Cut(SwitchPort(0, 36));
  Run(Look({Known(0x10)}));
  EXPECT_THAT(survey_->TakeChanges().gone, ElementsAre(leaf, host, other));
  EXPECT_EQ(builder_.node(host), nullptr);
}

TEST_F(SurveyTest, ALinkThatIsKnownToBeDownIsLostWithoutARead) {
  wire::PortInfo down = SmallFabric::Up();
  down.port_state = wire::PortState::kDown;
  builder_.SetPortInfo(KnownPort(0x10, 2), down);  // As after a Set that disables it.
  Start(Look({Known(0x10)}));
  EXPECT_TRUE(NodeOf(0x10)->port(PortNum(2)).peer.IsNone());
  EXPECT_EQ(builder_.FindIndex(Guid(0x102)), Known(0x102));
  EXPECT_EQ(NodeOf(0x102), nullptr);
  Finish();
}

TEST_F(SurveyTest, ALossIsAResultAlthoughADeadSwitchKeepsTheSurveyWaiting) {
  Plug(SwitchPort(0, 20), SwitchPort(1, 20));
  Discover();
  Cut(SwitchPort(0, 20));
  Silence(0x11);
  Start(Look({Known(0x10), Known(0x11)}));
  for (int i = 0; i < 4; ++i) Step();
  EXPECT_FALSE(survey_->HasChanges(wire_.now)) << "the far one is not late yet";
  wire_.now += options_.sweep.survey_patience;
  Step();
  wire_.now += options_.sweep.survey_patience;
  Step();
  EXPECT_FALSE(survey_->done());
  EXPECT_TRUE(survey_->HasChanges(wire_.now));
  EXPECT_LT(survey_->NextDeadline(), kNever);
  Finish();
}

TEST_F(SurveyTest, WhereASwitchDoesNotAnswerItsNeighboursAreAskedForTheirEnds) {
  options_.sweep.unresponsive_grace = Duration::zero();
  Silence(0x11);
  Survey& survey = Run(Look({Known(0x11)}));
  EXPECT_EQ(wire_.CountOf("Get PortInfo 0x24 of 0x10"), 1u);
  EXPECT_TRUE(survey.HasChanges(wire_.now));
  EXPECT_EQ(survey.TakeChanges().needs_sweep, "switch 0x0000000000000011 does not answer");
}

TEST_F(SurveyTest, ASwitchThatDoesNotAnswerBecauseItIsCutOffNeedsNoSweep) {
  Cut(SwitchPort(0, 36));
  Survey& survey = Run(Look({Known(0x11)}));
  const SurveyChanges changes = survey.TakeChanges();
  EXPECT_EQ(changes.needs_sweep, "");
  EXPECT_EQ(changes.gone.size(), 3u);
}

TEST_F(SurveyTest, AnOtherEndThatDoesNotAnswerHasItsNeighboursAsked) {
  Plug(SwitchPort(0, 20), SwitchPort(1, 20));
  Discover();
  Cut(SwitchPort(0, 20));
  Silence(0x11);
  Run(Look({Known(0x10)}));
  EXPECT_GE(wire_.CountOf("Get PortInfo 0x14 of 0x11"), 1u);
  EXPECT_EQ(wire_.CountOf("Get PortInfo 0x24 of 0x10"), 2u) << "once of the look, once for this";
}

// ---- what came

TEST_F(SurveyTest, ALinkThatCameUpIsExplored) {
  AddHost(9, SwitchPort(0, 7));
  Run(Look({Known(0x10)}));
  EXPECT_TRUE(survey_->Changed(Known(0x10)));
  ASSERT_NE(NodeOf(0x109), nullptr);
  EXPECT_TRUE(explorer_.HasFound());
  EXPECT_EQ(explorer_.cause(), "trap 128");
  EXPECT_EQ(explorer_.since(), Instant(99s));
}

TEST_F(SurveyTest, APortThatLeadsToSilenceIsNoChangeEachTime) {
  AddHost(9, SwitchPort(0, 7));
  Silence(0x109);
  Run(Look({Known(0x10)}));
  EXPECT_TRUE(survey_->Changed(Known(0x10)));
  Run(Look({Known(0x10)}));
  EXPECT_GT(wire_.CountOf("Get NodeInfo"), 0u) << "it may respond by now";
  EXPECT_FALSE(survey_->Changed(Known(0x10))) << "else it is never read at a slower pace";
}

TEST_F(SurveyTest, ALinkThatTrainedAgainIsExploredForItsNeighbourMayBeAnother) {
  SetLink(SwitchPort(0, 2), wire::PortState::kInit);
  Run(Look({Known(0x10)}));
  EXPECT_GT(wire_.CountOf("Get NodeInfo 0x0 of 0x102"), 0u);
  EXPECT_EQ(wire_.CountOf("Get PortInfo 0x0 of 0x10"), 1u) << "it may have restarted itself";
  EXPECT_FALSE(survey_->Changed(Known(0x10)));
}

TEST_F(SurveyTest, ASwitchThatHasRestartedIsReadWholeThroughANeighbour) {
  EditSwitch(1, [](wire::SwitchInfo& info) { info.linear_fdb_top = 0; });
  Run(Look({Known(0x11)}));
  EXPECT_EQ(wire_.CountOf("Get NodeInfo 0x0 of 0x11"), 1u);
  EXPECT_EQ(NodeOf(0x11)->switch_info->linear_fdb_top, 0);
  EXPECT_TRUE(explorer_.HasFound());
}

TEST_F(SurveyTest, ARestartedSwitchWithoutANeighbourThatLeadsThereNeedsASweep) {
  builder_.Unlink(KnownPort(0x10, 36));
  EditSwitch(1, [](wire::SwitchInfo& info) { info.linear_fdb_top = 0; });
  wire_.sent.clear();
  survey_.emplace(ground_, explorer_, local_, 3);
  survey_->Start(Look({Known(0x11)}), wire_.now);
  Finish();
  EXPECT_THAT(survey_->TakeChanges().needs_sweep,
              StartsWith("switch 0x0000000000000011 has started"));
}

TEST_F(SurveyTest, AManagementPortWithoutItsLidShowsARestart) {
  EditTruth(SwitchPort(1, 0), [](wire::PortInfo& info) { info.lid = Lid(0); });
  SurveyTask task = Look({Known(0x11)});
  task.thorough = true;
  Run(task);
  EXPECT_EQ(wire_.CountOf("Get NodeInfo 0x0 of 0x11"), 1u);
}

TEST_F(SurveyTest, AnotherSwitchInfoHasTheSwitchProgrammed) {
  EditSwitch(0, [](wire::SwitchInfo& info) { info.life_time_value = 3; });
  Run(Look({Known(0x10)}));
  EXPECT_THAT(GuidsOf(survey_->TakeChanges().touched), ElementsAre(0x10u));
  EXPECT_EQ(NodeOf(0x10)->switch_info->life_time_value, 3);
}

// ---- single ports

TEST_F(SurveyTest, ANamedPortHasItsFarEndExplored) {
  SurveyTask task = Look({});
  task.ports = {KnownPort(0x10, 2)};
  Run(task);
  EXPECT_GT(wire_.CountOf("Get NodeInfo 0x0 of 0x102"), 0u);
  EXPECT_EQ(wire_.CountOf("Get SwitchInfo"), 0u);
}

TEST_F(SurveyTest, ANamedLinkIsReadAloneAndLostIfItIsDown) {
  SurveyTask task = Look({});
  task.links = {KnownPort(0x10, 2), KnownPort(0x10, 36)};
  Run(task);
  EXPECT_THAT(wire_.Texts(),
              UnorderedElementsAre("Get PortInfo 0x2 of 0x10", "Get PortInfo 0x24 of 0x10"));
  EXPECT_TRUE(survey_->TakeChanges().empty());
  Cut(SwitchPort(0, 2));
  Run(task);
  EXPECT_TRUE(survey_->Changed(Known(0x10)));
}

TEST_F(SurveyTest, ANamedLinkWithoutAnAnswerOrAHigherStateIsNothingNew) {
  SetLink(SwitchPort(0, 2), wire::PortState::kInit);
  Discover();
  SetLink(SwitchPort(0, 2), wire::PortState::kArmed);
  SurveyTask task = Look({});
  task.links = {KnownPort(0x10, 2)};
  Run(task);
  EXPECT_EQ(NodeOf(0x10)->port(PortNum(2)).info.port_state, wire::PortState::kInit);
  Silence(0x10);
  Run(task);
  EXPECT_TRUE(survey_->TakeChanges().empty());
}

TEST_F(SurveyTest, PortsThatCannotBeReadAreAskedForLaterAndImpossibleOnesAreAProblem) {
  wire::PortInfo bad = SmallFabric::Up();
  bad.vl_cap = 9;
  wire_.react = [&](const Sent& sent) {
    Reaction reaction{.is_lost = sent.text == "Get PortInfo 0x5 of 0x10"};
    if (sent.text == "Get PortInfo 0x6 of 0x10") {
      reaction.shows.emplace();
      bad.Encode(*reaction.shows);
    }
    return reaction;
  };
  Survey& survey = Run(Look({Known(0x10)}));
  const auto unread = survey.TakeUnread();
  ASSERT_EQ(unread.size(), 1u);
  EXPECT_EQ(unread[0].port, KnownPort(0x10, 5));
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("IllegalPortInfo: leaf0/6 (")));
}

}  // namespace
}  // namespace fabricd::sweep
