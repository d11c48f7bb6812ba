// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/discovery.h"

#include "tests/unit/sweep/observe/observe_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

class DiscoveryTest : public ObserveTest {
 protected:
  // The whole subnet, without Finish().
  Discovery& Start() {
    wire_.sent.clear();
    discovery_.emplace(ground_, PortNum(1), Activity::kDiscovery);
    discovery_->Start(wire_.now);
    return *discovery_;
  }
  Discovery& DiscoverAll() {
    Start();
    Run(*discovery_);
    EXPECT_TRUE(discovery_->done());
    discovery_->Finish(wire_.now);
    return *discovery_;
  }
  // What is behind these ports.
  Discovery& ExploreBeyond(const std::vector<PortRef>& ports) {
    wire_.sent.clear();
    discovery_.emplace(ground_, PortNum(1), Activity::kExplorer);
    discovery_->StartBeyond(ports, local_, wire_.now);
    Run(*discovery_);
    EXPECT_TRUE(discovery_->done());
    discovery_->Finish(wire_.now);
    return *discovery_;
  }
  // A PortInfo answer that is this.
  static Reaction Shows(const wire::PortInfo& info) {
    Reaction reaction;
    reaction.shows.emplace();
    info.Encode(*reaction.shows);
    return reaction;
  }
  static Reaction Shows(const wire::NodeInfo& info) {
    Reaction reaction;
    reaction.shows.emplace();
    info.Encode(*reaction.shows);
    return reaction;
  }

  std::optional<Discovery> discovery_;
};

// ---- the whole subnet

TEST_F(DiscoveryTest, ReadsAllNodesLinksAndRoutesByGetsAlone) {
  const Discovery& discovery = DiscoverAll();
  EXPECT_EQ(discovery.nodes_found(), 6u);
  EXPECT_EQ(builder_.Build()->node_count(), 6u);
  EXPECT_EQ(discovery.local(), KnownPort(0x100, 1));
  EXPECT_EQ(NodeOf(0x10)->port(PortNum(36)).peer, KnownPort(0x11, 36));
  EXPECT_EQ(NodeOf(0x103)->port(PortNum(1)).peer, KnownPort(0x11, 2));
  EXPECT_EQ(NodeOf(0x11)->description, "leaf1");
  EXPECT_EQ(NodeOf(0x11)->switch_info->linear_fdb_top, 6);
  EXPECT_EQ(NodeOf(0x102)->port(PortNum(1)).info.lid, Lid(5));
  EXPECT_EQ(NodeOf(0x102)->port(PortNum(1)).guid, Guid(0x1002));
  EXPECT_EQ(devices_.PathTo(Known(0x103)), (wire::DirectedPath{1, 36, 2}));
  EXPECT_TRUE(devices_.applied().FindPKeys(KnownPort(0x101, 1))->Knows(0));
  EXPECT_THAT(wire_.Texts(), Each(StartsWith("Get ")));
  EXPECT_THAT(problems_.List(), IsEmpty());
  EXPECT_THAT(discovery.unread(), IsEmpty());
  EXPECT_FALSE(discovery.local_failed());
}

TEST_F(DiscoveryTest, AsksOverEachCableOnce) {
  DiscoverAll();
  EXPECT_EQ(wire_.CountOf("Get NodeInfo"), 6u) << "its own node, and five cables";
  EXPECT_EQ(wire_.CountOf("Get PortInfo 0x24 of 0x10"), 1u);
}

TEST_F(DiscoveryTest, ANextHopWaitsForTheOneBefore) {
  wire_.react = [](const Sent& sent) {
    return Reaction{.is_lost = sent.text == "Get NodeInfo 0x0 of 0x102"};
  };
  const Instant begin = wire_.now;
  Discovery& discovery = Start();
  Instant far{};
  wire_.Run(
      [&] {
        if (wire_.now >= discovery.NextDeadline()) discovery.OnTimer(wire_.now);
        if (far == Instant{} && wire_.CountOf("Get NodeInfo 0x0 of 0x101") > 0) far = wire_.now;
      },
      [&](const mad::Completion& each) { discovery.OnCompletion(each, wire_.now); },
      [&] { return discovery.NextDeadline(); });
  EXPECT_GE(far - begin, options_.sweep.hop_patience);
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("Unresponsive: leaf0/2 (0x0000000000000010): "
                                                "the node behind does not answer")));
}

TEST_F(DiscoveryTest, WithoutAnAnswerOfItsOwnNodeNothingIsKnown) {
  Silence(0x100);
  const Discovery& discovery = DiscoverAll();
  EXPECT_TRUE(discovery.local_failed());
  EXPECT_EQ(builder_.Build()->node_count(), 0u);
}

TEST_F(DiscoveryTest, ADeviceThatAnswersNonsenseIsLeftOut) {
  wire::NodeInfo good;
  good.node_type = wire::NodeType::kChannelAdapter;
  good.num_ports = 1;
  good.node_guid = Guid(0x777);
  good.port_guid = Guid(0x778);
  good.local_port = PortNum(1);
  struct Case {
    void (*edit)(wire::NodeInfo&);
    const char* fault;
  };
  for (const Case& each :
       {Case{[](auto& info) { info.node_guid = Guid(0); }, "NodeGUID is 0"},
        Case{[](auto& info) { info.node_type = wire::NodeType(9); }, "NodeType 9 does not exist"},
        Case{[](auto& info) { info.num_ports = 0; }, "NumPorts is 0"},
        Case{[](auto& info) { info.local_port = PortNum(2); },
             "LocalPortNum 2 is above NumPorts 1"},
        Case{[](auto& info) { info.port_guid = Guid(0); }, "PortGUID is 0"}}) {
    wire::NodeInfo bad = good;
    each.edit(bad);
    wire_.react = [&](const Sent& sent) {
      return sent.text == "Get NodeInfo 0x0 of 0x103" ? Shows(bad) : Reaction{};
    };
    problems_.Remove(ProblemKind::kIllegalNodeInfo);
    DiscoverAll();
    EXPECT_THAT(Problems(), ElementsAre(HasSubstr(each.fault)));
    EXPECT_EQ(NodeOf(0x777), nullptr);
  }
}

TEST_F(DiscoveryTest, ASwitchWithoutSwitchInfoIsLeftOut) {
  wire_.react = [](const Sent& sent) {
    return Reaction{.status =
                        sent.text == "Get SwitchInfo 0x0 of 0x11" ? uint16_t{4} : uint16_t{0}};
  };
  const Discovery& discovery = DiscoverAll();
  EXPECT_EQ(NodeOf(0x11), nullptr);
  EXPECT_NE(NodeOf(0x10), nullptr);
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("no SwitchInfo (status 0x0004)")));
  EXPECT_THAT(discovery.unread(), IsEmpty()) << "it has answered: no";
}

TEST_F(DiscoveryTest, APortThatCannotBeReadIsUnknownAndAskedForLater) {
  wire_.react = [](const Sent& sent) {
    return Reaction{.is_lost = sent.text == "Get PortInfo 0x1 of 0x101" ||
                               sent.text == "Get NodeDescription 0x0 of 0x101"};
  };
  const Discovery& discovery = DiscoverAll();
  EXPECT_FALSE(NodeOf(0x101)->port(PortNum(1)).known);
  EXPECT_THAT(Problems(),
              ElementsAre(HasSubstr("Unreadable: 0x0000000000000101/1: no "
                                    "PortInfo (no answer); is it protected by an M_Key?")));
  ASSERT_THAT(discovery.unread(), SizeIs(2));
  EXPECT_EQ(discovery.unread()[0].port.node, Known(0x101));
  options_.sm.m_key = MKey(5);
  problems_.Remove(ProblemKind::kUnreadable);
  DiscoverAll();
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("is the M_Key right?")));
}

TEST_F(DiscoveryTest, APortThatShowsImpossibleValuesIsUnknown) {
  wire::PortInfo bad = SmallFabric::Up();
  bad.mtu_cap = 9;
  wire_.react = [&](const Sent& sent) {
    return sent.text == "Get PortInfo 0x2 of 0x11" ? Shows(bad) : Reaction{};
  };
  DiscoverAll();
  EXPECT_FALSE(NodeOf(0x11)->port(PortNum(2)).known);
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("IllegalPortInfo: leaf1/2 (0x0000000000000011): "
                                                "MTUCap 9 is out of range")));
}

TEST_F(DiscoveryTest, TextOfDevicesIsMadePrintable) {
  truth_.builder.SetDescription(truth_.hosts[1], "a\x1B[31m\x7Fz");
  DiscoverAll();
  EXPECT_EQ(NodeOf(0x101)->description, "a.[31m.z");
}

TEST_F(DiscoveryTest, OtherManagersAreAskedForTheirStateAndItsOwnPortIsNot) {
  for (size_t host : {0, 1, 3})
    EditTruth(truth_.Host(host),
              [](wire::PortInfo& info) { info.capability_mask |= wire::kCapIsSm; });
  wire_.managers[truth_.hosts[1]] = {Guid(0x1001), {}, 7, 3, wire::SmState::kStandby};
  wire_.managers[truth_.hosts[3]] = {Guid(0x0999), {}, 9, 4, wire::SmState::kMaster};
  const Discovery& discovery = DiscoverAll();
  ASSERT_THAT(discovery.remote_sms(), SizeIs(2)) << "by GUID";
  EXPECT_EQ(discovery.remote_sms()[0].guid, Guid(0x0999));
  EXPECT_EQ(discovery.remote_sms()[0].state, wire::SmState::kMaster);
  EXPECT_EQ(discovery.remote_sms()[0].port, KnownPort(0x103, 1));
  EXPECT_EQ(discovery.remote_sms()[1].activity_count, 7u);
  EXPECT_EQ(discovery.remote_sms()[1].priority, 3);
}

TEST_F(DiscoveryTest, KeysThatPortsShowAreUsedFromThenOn) {
  EditTruth(SwitchPort(1, 0), [](wire::PortInfo& info) { info.m_key = MKey(0x99); });
  DiscoverAll();
  EXPECT_EQ(devices_.MKeyOf(Known(0x11)), MKey(0x99));
  EXPECT_EQ(devices_.MKeyOf(Known(0x10)), MKey(0));
  for (const Sent& sent : wire_.sent) {
    if (sent.text == "Get PortInfo 0x24 of 0x11") {
      EXPECT_EQ(sent.smp.m_key, MKey(0x99));
    }
  }
}

// Two devices with one GUID: the one that was met first still answers by its own route.
TEST_F(DiscoveryTest, ASecondDeviceWithAGuidThatIsTakenIsLeftOut) {
  wire::NodeInfo copy = truth_.builder.node(truth_.hosts[1])->info;
  copy.port_guid = Guid(0x1001);
  wire_.react = [&](const Sent& sent) {
    return sent.text == "Get NodeInfo 0x0 of 0x103" ? Shows(copy) : Reaction{};
  };
  DiscoverAll();
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("DuplicateGuid: leaf1/2 (0x0000000000000011): "
                                                "the node behind has GUID 0x0000000000000101")));
  EXPECT_EQ(NodeOf(0x101)->port(PortNum(1)).peer, KnownPort(0x11, 1));
  EXPECT_EQ(builder_.Build()->node_count(), 5u);
}

// A host that was plugged elsewhere while the discovery went on answers there and no more here.
TEST_F(DiscoveryTest, AHostThatMovesMeanwhileIsFoundAtItsNewPort) {
  wire::NodeInfo moved = truth_.builder.node(truth_.hosts[1])->info;
  moved.port_guid = Guid(0x1001);
  int answers = 0;
  wire_.react = [&](const Sent& sent) {
    if (sent.text == "Get NodeInfo 0x0 of 0x103") return Shows(moved);
    return Reaction{.is_lost = sent.text == "Get NodeInfo 0x0 of 0x101" && answers++ > 0};
  };
  DiscoverAll();
  EXPECT_EQ(NodeOf(0x101)->port(PortNum(1)).peer, KnownPort(0x11, 2));
  EXPECT_TRUE(NodeOf(0x11)->port(PortNum(1)).peer.IsNone());
  EXPECT_EQ(devices_.Get(KnownPort(0x101, 1), wire::AttributeId::kPortInfo, 1).path,
            (wire::DirectedPath{1, 36, 2}));
}

// Port 20 is plugged into itself: the switch answers by the port that it was asked through.
TEST_F(DiscoveryTest, ALoopBackPlugIsNoLink) {
  EditTruth(SwitchPort(0, 20), [](wire::PortInfo& info) { info = SmallFabric::Up(); });
  wire::NodeInfo itself = truth_.builder.node(truth_.switches[0])->info;
  itself.local_port = PortNum(20);
  wire_.react = [&](const Sent& sent) {
    const bool is_probe = sent.smp.attribute == wire::AttributeId::kNodeInfo &&
                          sent.smp.path == wire::DirectedPath{1, 20};
    return is_probe ? Shows(itself) : Reaction{};
  };
  DiscoverAll();
  EXPECT_TRUE(NodeOf(0x10)->port(PortNum(20)).peer.IsNone());
  EXPECT_EQ(builder_.Build()->node_count(), 6u);
}

TEST_F(DiscoveryTest, AtASwitchThatAnswersLateOnlyPortsThatAreUpAreRead) {
  EditTruth(SwitchPort(1, 0), [](wire::PortInfo& info) {
    info.capability_mask |= wire::kCapIsCapabilityMask2;
    info.capability_mask2 |= wire::kCap2IsSwitchPortStateTable;
  });
  std::map<std::string, int> attempts;
  wire_.react = [&](const Sent& sent) {
    return Reaction{.is_lost = GuidAt(sent) == 0x11 && attempts[sent.text]++ == 0};
  };
  DiscoverAll();
  EXPECT_EQ(wire_.CountOf("Get SwitchPortStateTable 0x0 of 0x11"), 2u);
  EXPECT_GT(wire_.CountOf("Get PortInfo 0x2 of 0x11"), 0u);
  EXPECT_EQ(wire_.CountOf("Get PortInfo 0x5 of 0x11"), 0u);
  EXPECT_GT(wire_.CountOf("Get PortInfo 0x5 of 0x10"), 0u);
  EXPECT_NE(NodeOf(0x103), nullptr);
}

// ---- after a discovery before

TEST_F(DiscoveryTest, NodesAndLinksThatAreNotFoundAgainGo) {
  DiscoverAll();
  const NodeIndex gone = Known(0x103);
  Cut(SwitchPort(1, 2));
  DiscoverAll();
  EXPECT_EQ(builder_.node(gone), nullptr);
  EXPECT_FALSE(devices_.Has(gone));
  EXPECT_TRUE(NodeOf(0x11)->port(PortNum(2)).peer.IsNone());
  EXPECT_EQ(builder_.Build()->node_count(), 5u);
}

TEST_F(DiscoveryTest, ACableThatMovedIsFoundWhereItIs) {
  DiscoverAll();
  truth_.builder.Unlink(SwitchPort(1, 2));
  EditTruth(SwitchPort(1, 2),
            [](wire::PortInfo& info) { info.port_state = wire::PortState::kDown; });
  Plug(SwitchPort(0, 9), truth_.Host(3));
  DiscoverAll();
  EXPECT_EQ(NodeOf(0x103)->port(PortNum(1)).peer, KnownPort(0x10, 9));
  EXPECT_TRUE(NodeOf(0x11)->port(PortNum(2)).peer.IsNone());
}

// ---- beyond ports that came up

TEST_F(DiscoveryTest, FindsTheHostBehindAPortAndAsksNothingElse) {
  Discover();
  AddHost(9, SwitchPort(1, 7));
  builder_.SetPortInfo(KnownPort(0x11, 7), SmallFabric::Up());
  const Discovery& discovery = ExploreBeyond({KnownPort(0x11, 7)});
  EXPECT_THAT(GuidsOf(discovery.found()), ElementsAre(0x109u));
  EXPECT_TRUE(discovery.IsNew(Known(0x109)));
  EXPECT_TRUE(discovery.IsLinked(KnownPort(0x11, 7)));
  EXPECT_EQ(NodeOf(0x109)->port(PortNum(1)).peer, KnownPort(0x11, 7));
  EXPECT_THAT(wire_.Texts(), Each(HasSubstr("of 0x109")));
  EXPECT_EQ(builder_.Build()->node_count(), 7u) << "the others are taken as they are";
}

TEST_F(DiscoveryTest, APortWithoutAnAnswerBehindItIsNotLinked) {
  Discover();
  Silence(0x103);
  const Discovery& discovery = ExploreBeyond({KnownPort(0x11, 2), {NodeIndex(99), PortNum(1)}});
  EXPECT_FALSE(discovery.IsLinked(KnownPort(0x11, 2)));
  EXPECT_THAT(discovery.found(), IsEmpty());
}

TEST_F(DiscoveryTest, AHostThatIsThereStillIsReadAgainAndNotNew) {
  Discover();
  EditTruth(truth_.Host(3), [](wire::PortInfo& info) { info.lid = Lid(77); });
  const Discovery& discovery = ExploreBeyond({KnownPort(0x11, 2)});
  EXPECT_FALSE(discovery.IsNew(Known(0x103)));
  EXPECT_EQ(NodeOf(0x103)->port(PortNum(1)).info.lid, Lid(77));
}

TEST_F(DiscoveryTest, AKnownSwitchIsTakenAsItIsUnlessItsPortsChanged) {
  Discover();
  const Discovery& quiet = ExploreBeyond({KnownPort(0x10, 36)});
  EXPECT_THAT(GuidsOf(quiet.found()), ElementsAre(0x11u));
  EXPECT_FALSE(quiet.IsNew(Known(0x11)));
  EXPECT_THAT(quiet.dirty(), IsEmpty());
  EXPECT_LE(wire_.sent.size(), 4u);
  EditSwitch(1, [](wire::SwitchInfo& info) { info.port_state_change = true; });
  const Discovery& changed = ExploreBeyond({KnownPort(0x10, 36)});
  EXPECT_THAT(changed.dirty(), ElementsAre(Known(0x11)));
  EXPECT_FALSE(NodeOf(0x11)->switch_info->port_state_change) << "its ports were not read";
}

TEST_F(DiscoveryTest, ASwitchWithoutItsTopOrItsLidHasRestartedAndIsReadWhole) {
  Discover();
  devices_.applied().Lft(Known(0x11)).Confirm(0, {});
  EditSwitch(1, [](wire::SwitchInfo& info) { info.linear_fdb_top = 0; });
  EXPECT_TRUE(ExploreBeyond({KnownPort(0x10, 36)}).IsNew(Known(0x11)));
  EXPECT_FALSE(devices_.applied().Lft(Known(0x11)).WasRead());
  EXPECT_EQ(wire_.CountOf("Get PortInfo 0x7 of 0x11"), 1u);
  // One that was given a top since shows it by its LID alone.
  EditSwitch(1, [](wire::SwitchInfo& info) { info.linear_fdb_top = 6; });
  Discover();
  EditTruth(SwitchPort(1, 0), [](wire::PortInfo& info) { info.lid = Lid(0); });
  EXPECT_TRUE(ExploreBeyond({KnownPort(0x10, 36)}).IsNew(Known(0x11)));
}

TEST_F(DiscoveryTest, ASwitchThatIsNewIsReadWithAllBehindIt) {
  Cut(SwitchPort(0, 36));
  Discover();
  EXPECT_EQ(builder_.Build()->node_count(), 3u);
  SetLink(SwitchPort(0, 36), wire::PortState::kInit);
  builder_.SetPortInfo(KnownPort(0x10, 36), SmallFabric::Up());
  const Discovery& discovery = ExploreBeyond({KnownPort(0x10, 36)});
  EXPECT_THAT(GuidsOf(discovery.found()), ElementsAre(0x11u, 0x101u, 0x103u));
  EXPECT_EQ(builder_.Build()->node_count(), 6u);
}

TEST_F(DiscoveryTest, ProbesBeyondALinkThatIsLostAreGivenUpAtOnce) {
  Discover();
  Silence(0x103);
  discovery_.emplace(ground_, PortNum(1), Activity::kExplorer);
  discovery_->StartBeyond({KnownPort(0x11, 2)}, local_, wire_.now);
  const auto take = [&](const mad::Completion& each) { discovery_->OnCompletion(each, wire_.now); };
  wire_.Step(take);
  EXPECT_FALSE(discovery_->done());
  builder_.Unlink(KnownPort(0x11, 2));
  discovery_->OnLinkLost(KnownPort(0x11, 2));
  const Instant before = wire_.now;
  wire_.Step(take);
  EXPECT_TRUE(discovery_->done());
  EXPECT_EQ(wire_.now, before);
}

TEST_F(DiscoveryTest, ProbesFollowANodeThatIsReachedByAnotherRoute) {
  Discover();
  Silence(0x103);
  discovery_.emplace(ground_, PortNum(1), Activity::kExplorer);
  discovery_->StartBeyond({KnownPort(0x11, 2)}, local_, wire_.now);
  const auto take = [&](const mad::Completion& each) { discovery_->OnCompletion(each, wire_.now); };
  wire_.Step(take);
  AnswerAll();
  Plug(SwitchPort(0, 20), SwitchPort(1, 20));
  discovery_->OnMoved(Known(0x11), {1, 36}, {1, 20});
  wire_.Step(take);
  EXPECT_TRUE(discovery_->IsLinked(KnownPort(0x11, 2)));
  EXPECT_THAT(wire_.sent,
              Contains(testing::Field(
                  &Sent::smp, testing::Field(&wire::Smp::path,
                                             testing::Optional(wire::DirectedPath{1, 20, 2})))));
}

TEST_F(DiscoveryTest, AnswersOfANodeThatASurveyHasDroppedMeanwhileAreIgnored) {
  Discover();
  AddHost(9, SwitchPort(1, 7));
  builder_.SetPortInfo(KnownPort(0x11, 7), SmallFabric::Up());
  discovery_.emplace(ground_, PortNum(1), Activity::kExplorer);
  discovery_->StartBeyond({KnownPort(0x11, 7)}, local_, wire_.now);
  bool is_dropped = false;
  wire_.Run([&] {},
            [&](const mad::Completion& each) {
              if (!is_dropped && NodeOf(0x109) != nullptr) {
                is_dropped = true;
                const NodeIndex node = Known(0x109);
                builder_.RemoveNode(node);
                devices_.Remove(node);
              }
              discovery_->OnCompletion(each, wire_.now);
            });
  EXPECT_TRUE(is_dropped);
  EXPECT_TRUE(discovery_->done());
  discovery_->Finish(wire_.now);
  EXPECT_EQ(NodeOf(0x109), nullptr);
  EXPECT_THAT(discovery_->found(), IsEmpty());
}

// ---- extended speeds

// A device may hide them from a requester that does not say that it knows them.
TEST_F(DiscoveryTest, AHostThatOffersExtendedSpeedsIsAskedForThem) {
  EditTruth(truth_.Host(0),
            [](wire::PortInfo& info) { info.capability_mask |= wire::kCapIsExtendedSpeeds; });
  DiscoverAll();
  EXPECT_EQ(wire_.CountOf("Get PortInfo 0x1 of 0x100"), 1u);
  EXPECT_EQ(wire_.CountOf("Get PortInfo 0x80000001 of 0x100"), 1u) << "the SM's own port";
  EXPECT_EQ(wire_.CountOf("Get PortInfo 0x80000001 of 0x101"), 0u);
}

}  // namespace
}  // namespace fabricd::sweep
