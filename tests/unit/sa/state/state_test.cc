// SPDX-License-Identifier: Apache-2.0
// Services, groups and subscriptions (IBA vol 1 §15.2.5.14, §15.2.5.17, §13.4.11, §15.4): what
// clients leave, over restarts, failed writes and ports that come and go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mad/wire/notice.h"
#include "tests/unit/sa/state_fixture.h"

namespace fabricd::sa {
namespace {

using testing::Ask;
using testing::Bit;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kPrefix;
using testing::kSmKey;
using testing::Make;
using testing::Reply;
using testing::SaFabric;
using ::testing::SizeIs;
using testing::StateShell;
using wire::McMemberRecord;

// Handles 0-3 leaves, 4-5 spines, 6-13 hosts.
constexpr size_t kLeaf = 0, kHost = 6, kSecond = 7, kOther = 13;

constexpr uint64_t kId = 1, kServiceGid = 2, kServicePKey = 4, kLease = 1u << 4, kKey = 1u << 5;

uint64_t Of(std::initializer_list<McComponent> components) {
  uint64_t mask = 0;
  for (const McComponent component : components) mask |= uint64_t{1} << static_cast<int>(component);
  return mask;
}
const uint64_t kJoinMask = Of({McComponent::kMgid, McComponent::kPortGid, McComponent::kJoinState});
const uint64_t kCreateMask =
    kJoinMask | Of({McComponent::kQKey, McComponent::kTrafficClass, McComponent::kPKey,
                    McComponent::kSl, McComponent::kFlowLabel});
constexpr Gid kBroadcast{0xFF12401BFFFF0000, 0xFFFFFFFF};
constexpr Gid kMgid{0xFF15A01C00000000, 0x1234};

class StateTest : public ::testing::Test {
 protected:
  Lid LidOf(size_t host) const { return shell.made.LidOf(host); }
  Gid GidOf(size_t host) const { return shell.made.GidOf(host); }
  wire::ServiceRecord Service(size_t host, uint64_t id) const {
    wire::ServiceRecord record;
    record.service_id = id;
    record.service_gid = GidOf(host);
    record.p_key = PKey(0xFFFF);
    record.lease = 100;
    return record;
  }
  McMemberRecord Membership(size_t host, Gid mgid, uint8_t join_state = kJoinFull) const {
    McMemberRecord record;
    record.mgid = mgid;
    record.port_gid = GidOf(host);
    record.q_key = 0x1B;
    record.p_key = PKey(0xFFFF);
    record.join_state = join_state;
    return record;
  }
  uint16_t Join(size_t host, Gid mgid, uint8_t join_state = kJoinFull) {
    return shell.Set(Membership(host, mgid, join_state), kCreateMask, LidOf(host)).status();
  }
  uint16_t Leave(size_t host, Gid mgid, uint8_t join_state = kJoinFull) {
    return shell.Delete(Membership(host, mgid, join_state), kJoinMask, LidOf(host)).status();
  }
  std::vector<Guid> MembersOf(Gid mgid) const {
    std::vector<Guid> guids;
    if (const Group* group = shell.clients->FindGroup(mgid))
      for (const Member& member : group->members) guids.push_back(member.gid.guid());
    return guids;
  }
  static wire::InformInfo Subscription(uint16_t trap, bool subscribe = true) {
    wire::InformInfo info;
    info.is_generic = 1;
    info.subscribe = subscribe;
    info.lid_range_begin = Lid(0xFFFF);
    info.type = 0xFFFF;
    info.trap_number = trap;
    info.producer_type = 0xFFFFFF;
    return info;
  }
  uint16_t Subscribe(size_t host, uint16_t trap, bool subscribe = true) {
    return shell.Set(Subscription(trap, subscribe), 0, LidOf(host)).status();
  }
  static std::vector<uint16_t> TrapsOf(const std::vector<mad::OutgoingMad>& reports) {
    std::vector<uint16_t> traps;
    for (const auto& report : reports)
      traps.push_back(wire::Notice::Decode(std::span<const uint8_t>(report.payload)
                                               .subspan(wire::kSaDataAt)
                                               .first<wire::kSmpDataBytes>())
                          .trap);
    return traps;
  }
  // Takes the cable of a host, and with it the host, out of the fabric; or puts all back.
  void Lose(size_t host) {
    fabric::SnapshotBuilder builder(*shell.made.input.snapshot);
    builder.RemoveNode(shell.made.fabric.node[host]);
    shell.made.input.snapshot = builder.Build();
    shell.ShowFabric();
  }

  StateShell shell{Make(fabricd::testing::MakeFatTree(4, 2))};
};

// ---- services

TEST_F(StateTest, AServiceIsThereUntilItsLeaseEnds) {
  ASSERT_EQ(shell.Set(Service(kHost, 7), kId | kServiceGid | kServicePKey | kLease, LidOf(kHost))
                .status(),
            wire::kStatusOk);
  shell.Pass(std::chrono::seconds(40));
  const auto found = shell.Table(Service(kHost, 7), kId, LidOf(kOther));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].lease, 60u) << "what is left of it";
  shell.Pass(std::chrono::seconds(59));
  EXPECT_THAT(shell.Table(Service(kHost, 7), kId, LidOf(kOther)), SizeIs(1));
  shell.Pass(std::chrono::seconds(2));
  EXPECT_THAT(shell.Table(Service(kHost, 7), 0, LidOf(kOther)), IsEmpty());
  EXPECT_THAT(shell.clients->services->size(), 0u);
}

TEST_F(StateTest, ARenewalExtendsTheLease) {
  const uint64_t mask = kId | kServiceGid | kServicePKey | kLease;
  shell.Set(Service(kHost, 7), mask, LidOf(kHost));
  shell.Pass(std::chrono::seconds(90));
  shell.Set(Service(kHost, 7), mask, LidOf(kHost));
  shell.Pass(std::chrono::seconds(90));
  EXPECT_THAT(shell.Table(Service(kHost, 7), kId, LidOf(kOther)), SizeIs(1));
}

TEST_F(StateTest, OnlyTheServiceKeyPermitsChangesOfAService) {
  wire::ServiceRecord record = Service(kHost, 7);
  record.key = {1, 2, 3};
  const uint64_t mask = kId | kServiceGid | kServicePKey | kKey;
  ASSERT_EQ(shell.Set(record, mask, LidOf(kHost)).status(), wire::kStatusOk);
  const auto seen = shell.Table(record, kId, LidOf(kOther));
  ASSERT_THAT(seen, SizeIs(1));
  EXPECT_EQ(seen[0].key, (std::array<uint8_t, 16>{})) << "nobody is told the key";
  EXPECT_EQ(seen[0].lease, ServiceTable::kLeaseForEver);
  wire::ServiceRecord thief = record;
  thief.key = {9};
  EXPECT_EQ(shell.Delete(thief, mask, LidOf(kOther)).status(), wire::kSaStatusRequestDenied);
  EXPECT_EQ(shell.Set(thief, mask, LidOf(kOther)).status(), wire::kSaStatusRequestDenied);
  const Reply deleted = shell.Delete(record, mask, LidOf(kHost));
  EXPECT_EQ(deleted.status(), wire::kStatusOk);
  EXPECT_EQ(shell.Delete(record, mask, LidOf(kHost)).status(), wire::kSaStatusNoRecords);
}

TEST_F(StateTest, WithoutAKeyOnlyThePortItselfChangesAService) {
  const wire::ServiceRecord record = Service(kHost, 7);
  const uint64_t mask = kId | kServiceGid | kServicePKey;
  // Another port may offer it where nothing is there yet, and renew nothing.
  ASSERT_EQ(shell.Set(record, mask, LidOf(kOther)).status(), wire::kStatusOk);
  EXPECT_EQ(shell.Set(record, mask, LidOf(kOther)).status(), wire::kSaStatusRequestDenied);
  EXPECT_EQ(shell.Delete(record, mask, LidOf(kOther)).status(), wire::kSaStatusRequestDenied);
  EXPECT_EQ(shell.Set(record, mask, LidOf(kHost)).status(), wire::kStatusOk);
  EXPECT_EQ(shell.Delete(record, mask, LidOf(kHost)).status(), wire::kStatusOk);
}

TEST_F(StateTest, AServiceNeedsItsIdentifierAndAPortOfTheFabric) {
  EXPECT_EQ(shell.Set(Service(kHost, 7), kId, LidOf(kHost)).status(),
            wire::kSaStatusInsufficientComponents);
  wire::ServiceRecord record = Service(kHost, 7);
  record.service_gid.low ^= 1;
  EXPECT_EQ(shell.Set(record, kId | kServiceGid, LidOf(kHost)).status(),
            wire::kSaStatusRequestInvalidGid);
  record = Service(kHost, 7);
  record.p_key = PKey(0x8001);
  EXPECT_EQ(shell.Set(record, kId | kServiceGid | kServicePKey, LidOf(kHost)).status(),
            wire::kSaStatusRequestInvalid);
}

TEST_F(StateTest, APortMayOfferOnlySoManyServices) {
  const uint64_t mask = kId | kServiceGid | kServicePKey;
  for (uint64_t id = 0; id < ServiceTable::kMostOfPort; ++id)
    ASSERT_EQ(shell.Set(Service(kHost, id), mask, LidOf(kHost)).status(), wire::kStatusOk);
  EXPECT_EQ(shell.Set(Service(kHost, 1 << 20), mask, LidOf(kHost)).status(),
            wire::kSaStatusNoResources);
  EXPECT_EQ(shell.Set(Service(kHost, 3), mask, LidOf(kHost)).status(), wire::kStatusOk)
      << "renewing needs no room";
  EXPECT_EQ(shell.Set(Service(kSecond, 1), mask, LidOf(kSecond)).status(), wire::kStatusOk);
}

TEST_F(StateTest, APathIsFoundByTheServiceAtItsEnd) {
  shell.Set(Service(kOther, 7), kId | kServiceGid, LidOf(kOther));
  wire::PathRecord wanted;
  wanted.service_id = 7;
  wanted.sgid = GidOf(kHost);
  const uint64_t mask = Bit(PathComponent::kServiceIdHigh) | Bit(PathComponent::kServiceIdLow) |
                        Bit(PathComponent::kSgid);
  const Reply reply = shell.Ask(Ask(wanted, mask, wire::Method::kGet), LidOf(kHost));
  const auto paths = reply.Records<wire::PathRecord>();
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths[0].dgid, GidOf(kOther));
  EXPECT_EQ(paths[0].service_id, 7u);
}

// ---- groups

TEST_F(StateTest, TheBroadcastGroupIsThereFromTheBeginning) {
  const auto groups = shell.Table(McMemberRecord{}, 0, LidOf(kHost));
  ASSERT_THAT(groups, SizeIs(1));
  EXPECT_EQ(groups[0].mgid, kBroadcast);
  EXPECT_EQ(groups[0].mlid, Lid(0xC000));
  EXPECT_EQ(groups[0].q_key, 0x0B1Bu);
  EXPECT_EQ(groups[0].join_state, 0);
  const Reply joined = shell.Set(Membership(kHost, kBroadcast), kJoinMask, LidOf(kHost));
  ASSERT_EQ(joined.status(), wire::kStatusOk);
  EXPECT_EQ(Leave(kHost, kBroadcast), wire::kStatusOk);
  EXPECT_NE(shell.clients->FindGroup(kBroadcast), nullptr) << "it stays without members";
}

TEST_F(StateTest, AGroupLivesWithItsFullMembers) {
  ASSERT_EQ(Join(kHost, kMgid), wire::kStatusOk);
  ASSERT_EQ(Join(kSecond, kMgid, kJoinNon), wire::kStatusOk);
  ASSERT_EQ(Join(kOther, kMgid), wire::kStatusOk);
  const Lid mlid = shell.clients->FindGroup(kMgid)->record.mlid;
  EXPECT_EQ(mlid, Lid(0xC001));
  EXPECT_EQ(Leave(kHost, kMgid), wire::kStatusOk);
  EXPECT_THAT(MembersOf(kMgid), ElementsAre(GidOf(kSecond).guid(), GidOf(kOther).guid()));
  EXPECT_EQ(Leave(kHost, kMgid), wire::kSaStatusRequestInvalid) << "it is no member any more";
  EXPECT_EQ(Leave(kOther, kMgid), wire::kStatusOk);
  EXPECT_EQ(shell.clients->FindGroup(kMgid), nullptr) << "whoever else was in it";
  ASSERT_EQ(Join(kHost, Gid{kMgid.prefix, 1}), wire::kStatusOk);
  EXPECT_EQ(shell.clients->FindGroup({kMgid.prefix, 1})->record.mlid, mlid) << "given out again";
}

TEST_F(StateTest, JoinStatesAddUpAndGoOneByOne) {
  ASSERT_EQ(Join(kHost, kMgid), wire::kStatusOk);
  const Reply more = shell.Set(Membership(kHost, kMgid, kJoinSendOnly), kJoinMask, LidOf(kHost));
  EXPECT_EQ(more.Records<McMemberRecord>()[0].join_state, kJoinFull | kJoinSendOnly);
  const Reply less = shell.Delete(Membership(kHost, kMgid, kJoinSendOnly), kJoinMask, LidOf(kHost));
  EXPECT_EQ(less.Records<McMemberRecord>()[0].join_state, kJoinFull);
  EXPECT_THAT(MembersOf(kMgid), SizeIs(1));
}

TEST_F(StateTest, ASendOnlyFullMemberMakesAndKeepsAGroupAndReceivesNothing) {
  EXPECT_EQ(Join(kHost, kMgid, kJoinSendOnly), wire::kSaStatusRequestInvalid);
  ASSERT_EQ(Join(kHost, kMgid, kJoinSendOnlyFull), wire::kStatusOk);
  ASSERT_EQ(Join(kSecond, kMgid, kJoinNon), wire::kStatusOk);
  ASSERT_THAT(shell.groups->groups, SizeIs(1));
  EXPECT_THAT(shell.groups->groups[0].members,
              ElementsAre(fabric::MulticastMember{GidOf(kHost).guid(), false},
                          fabric::MulticastMember{GidOf(kSecond).guid(), true}));
}

TEST_F(StateTest, AJoinMustFitTheGroup) {
  ASSERT_EQ(Join(kHost, kMgid), wire::kStatusOk);
  McMemberRecord wrong = Membership(kOther, kMgid);
  wrong.q_key = 0x77;
  EXPECT_EQ(shell.Set(wrong, kJoinMask | Of({McComponent::kQKey}), LidOf(kOther)).status(),
            wire::kSaStatusRequestInvalid);
  wrong = Membership(kOther, kMgid);
  wrong.mtu = 5;
  wrong.mtu_selector = wire::Selector::kGreater;
  const uint64_t mtu = kJoinMask | Of({McComponent::kMtu, McComponent::kMtuSelector});
  EXPECT_EQ(shell.Set(wrong, mtu, LidOf(kOther)).status(), wire::kSaStatusRequestInvalid);
  wrong.mtu_selector = wire::Selector::kExactly;
  EXPECT_EQ(shell.Set(wrong, mtu, LidOf(kOther)).status(), wire::kStatusOk);
  shell.made.SetPort(kSecond, 1, [] {
    wire::PortInfo slow = testing::RunningPort();
    slow.neighbor_mtu = 3;
    return slow;
  }());
  shell.ShowFabric();
  EXPECT_EQ(Join(kSecond, kMgid), wire::kSaStatusRequestInvalid) << "its packets do not fit";
}

TEST_F(StateTest, ANewGroupIsMadeAsAskedFor) {
  McMemberRecord wanted = Membership(kHost, Gid());
  wanted.scope = 5;
  wanted.mtu_selector = wire::Selector::kLess;
  wanted.mtu = 5;
  const uint64_t mask = (kCreateMask & ~Of({McComponent::kMgid})) |
                        Of({McComponent::kScope, McComponent::kMtu, McComponent::kMtuSelector});
  const Reply reply = shell.Set(wanted, mask, LidOf(kHost));
  ASSERT_EQ(reply.status(), wire::kStatusOk);
  const McMemberRecord made = reply.Records<McMemberRecord>()[0];
  EXPECT_EQ(made.mgid.prefix >> 32, 0xFF15A01Bu) << "the SA's own kind of MGID";
  EXPECT_EQ(made.mtu, 4);
  EXPECT_EQ(made.port_gid, GidOf(kHost));
  const McMemberRecord again = shell.Set(wanted, mask, LidOf(kHost)).Records<McMemberRecord>()[0];
  EXPECT_NE(again.mgid, made.mgid);
  EXPECT_EQ(shell.Set(Membership(kHost, kMgid), kJoinMask, LidOf(kHost)).status(),
            wire::kSaStatusInsufficientComponents);
}

TEST_F(StateTest, IllegalMgidsAreRefused) {
  for (const uint64_t prefix : {0xFE12000000000000, 0xFF22000000000000, 0xFF32000000000000,
                                0xFF92000000000000, 0xFF12A01B00000000, 0xFF12401B80010000})
    EXPECT_EQ(Join(kHost, Gid{prefix, 5}), wire::kSaStatusRequestInvalid) << std::hex << prefix;
}

TEST_F(StateTest, OnlyTrustedClientsSeeTheMembersOfAGroup) {
  Join(kHost, kMgid);
  Join(kOther, kMgid);
  McMemberRecord wanted;
  wanted.mgid = kMgid;
  const auto seen = shell.Table(wanted, 1, LidOf(kSecond));
  ASSERT_THAT(seen, SizeIs(1));
  EXPECT_EQ(seen[0].port_gid, Gid());
  EXPECT_EQ(seen[0].join_state, 0);
  const auto all = shell.Table(wanted, 1, LidOf(kSecond), kSmKey);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[1].port_gid, GidOf(kOther));
  EXPECT_EQ(all[1].join_state, kJoinFull);
}

TEST_F(StateTest, AProxyJoinsForAnotherPortAndOnlyTheTwoMayUndoIt) {
  const Reply reply = shell.Set(Membership(kOther, kMgid), kCreateMask, LidOf(kHost));
  ASSERT_EQ(reply.status(), wire::kStatusOk);
  EXPECT_TRUE(reply.Records<McMemberRecord>()[0].proxy_join);
  const McMemberRecord record = Membership(kOther, kMgid);
  EXPECT_EQ(shell.Delete(record, kJoinMask, LidOf(kSecond)).status(),
            wire::kSaStatusRequestInvalid);
  EXPECT_EQ(shell.Delete(record, kJoinMask, LidOf(kOther)).status(), wire::kStatusOk);
}

TEST_F(StateTest, APathToAGroupIsTheGroups) {
  Join(kHost, kMgid);
  wire::PathRecord wanted;
  wanted.sgid = GidOf(kOther);
  wanted.dgid = kMgid;
  const uint64_t mask = Bit(PathComponent::kSgid) | Bit(PathComponent::kDgid);
  const auto paths =
      shell.Ask(Ask(wanted, mask, wire::Method::kGet), LidOf(kOther)).Records<wire::PathRecord>();
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths[0].dlid, shell.clients->FindGroup(kMgid)->record.mlid);
  EXPECT_EQ(paths[0].slid, LidOf(kOther));
  EXPECT_EQ(paths[0].mtu, 5);
}

TEST_F(StateTest, ThereAreOnlySoManyMlids) {
  fabric::SnapshotBuilder builder(*shell.made.input.snapshot);
  wire::SwitchInfo info;
  info.multicast_fdb_cap = 4;
  builder.SetSwitchInfo(shell.made.fabric.node[kLeaf], info);
  shell.made.input.snapshot = builder.Build();
  shell.ShowFabric();
  for (uint64_t group = 1; group <= 3; ++group)
    EXPECT_EQ(Join(kHost, Gid{kMgid.prefix, group}), wire::kStatusOk);
  EXPECT_EQ(Join(kHost, Gid{kMgid.prefix, 4}), wire::kSaStatusNoResources);
}

// ---- ports that come and go

TEST_F(StateTest, APortThatLeavesTakesItsMembershipsAlong) {
  Join(kHost, kMgid);
  Join(kOther, kMgid);
  Join(kOther, Gid{kMgid.prefix, 2});
  Subscribe(kOther, 0xFFFF);
  Lose(kOther);
  EXPECT_THAT(MembersOf(kMgid), ElementsAre(GidOf(kHost).guid()));
  EXPECT_EQ(shell.clients->FindGroup({kMgid.prefix, 2}), nullptr);
  EXPECT_THAT(*shell.clients->subscriptions, IsEmpty());
}

TEST_F(StateTest, AMemberThatVanishesWithItsSwitchIsKeptForAWhile) {
  Join(kHost, kMgid);
  const auto whole = shell.made.input.snapshot;
  const auto lose_both = [&] {
    fabric::SnapshotBuilder builder(*whole);
    builder.RemoveNode(shell.made.fabric.node[kHost]);
    builder.RemoveNode(shell.made.fabric.node[kLeaf]);
    shell.made.input.snapshot = builder.Build();
    shell.ShowFabric();
  };
  lose_both();
  shell.Pass(SaState::kAbsence - std::chrono::seconds(1));
  EXPECT_THAT(MembersOf(kMgid), SizeIs(1));
  shell.made.input.snapshot = whole;
  shell.ShowFabric();
  shell.Pass(SaState::kAbsence);
  EXPECT_THAT(MembersOf(kMgid), SizeIs(1)) << "it came back in time";
  lose_both();
  shell.Pass(SaState::kAbsence);
  EXPECT_EQ(shell.clients->FindGroup(kMgid), nullptr);
}

TEST_F(StateTest, AViewOfAnUnfinishedSweepRemovesNoMember) {
  Join(kHost, kMgid);
  fabric::SnapshotBuilder builder(*shell.made.input.snapshot);
  builder.RemoveNode(shell.made.fabric.node[kHost]);
  shell.made.input.snapshot = builder.Build();
  shell.ShowFabric(false);
  EXPECT_THAT(MembersOf(kMgid), SizeIs(1));
}

// ---- notices

TEST_F(StateTest, SubscribersReceiveReportsOfPortsAndGroups) {
  ASSERT_EQ(Subscribe(kHost, 0xFFFF), wire::kStatusOk);
  ASSERT_EQ(Subscribe(kHost, 0xFFFF), wire::kStatusOk) << "twice is once";
  Join(kOther, kMgid);
  const auto made = shell.TakeReports(true);
  ASSERT_THAT(TrapsOf(made), ElementsAre(66));
  EXPECT_EQ(made[0].to.lid, LidOf(kHost));
  EXPECT_EQ(made[0].to.qpn, 1u);
  const auto whole = shell.made.input.snapshot;
  Lose(kOther);
  EXPECT_THAT(TrapsOf(shell.TakeReports(true)), ElementsAre(65));
  EXPECT_THAT(TrapsOf(shell.TakeReports(true)), ElementsAre(67)) << "one at a time";
  shell.made.input.snapshot = whole;
  shell.ShowFabric();
  EXPECT_THAT(TrapsOf(shell.TakeReports(true)), ElementsAre(64));
  ASSERT_EQ(Subscribe(kHost, 0xFFFF, false), wire::kStatusOk);
  EXPECT_EQ(Subscribe(kHost, 0xFFFF, false), wire::kSaStatusRequestInvalid);
  Join(kOther, kMgid);
  EXPECT_THAT(shell.TakeReports(true), IsEmpty());
}

TEST_F(StateTest, RepeatedTrapsAreForwardedOnce) {
  Subscribe(kHost, 128);
  Subscribe(kSecond, 144);
  wire::Notice notice;
  notice.type = 1;
  notice.producer = 2;
  notice.trap = 128;
  const Lid leaf = shell.made.LidOf(kLeaf, 0);
  notice.issuer_lid = leaf;
  shell.Step(TrapCame{leaf, 5, notice});
  shell.Step(TrapCame{leaf, 5, notice});
  const auto reports = shell.TakeReports(true);
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports[0].to.lid, LidOf(kHost));
  EXPECT_THAT(shell.TakeReports(true), IsEmpty());
  shell.Step(TrapCame{leaf, 6, notice});
  EXPECT_THAT(shell.TakeReports(true), SizeIs(1));
}

TEST_F(StateTest, ASubscriberThatNeverAnswersIsDropped) {
  Subscribe(kHost, 66);
  for (uint64_t group = 1; group <= Reporter::kMostUnanswered; ++group)
    Join(kOther, Gid{kMgid.prefix, group});
  for (int attempt = 0; attempt < Reporter::kAttempts * Reporter::kMostUnanswered; ++attempt) {
    EXPECT_THAT(*shell.clients->subscriptions, SizeIs(1));
    EXPECT_THAT(shell.TakeReports(false), SizeIs(1));
  }
  EXPECT_THAT(*shell.clients->subscriptions, IsEmpty());
  EXPECT_THAT(shell.TakeReports(false), IsEmpty());
}

TEST_F(StateTest, SecurityTrapsAreNotForwardedToUntrustedSubscribers) {
  EXPECT_EQ(Subscribe(kHost, 257), wire::kSaStatusRequestInvalid);
  ASSERT_EQ(Subscribe(kHost, 0xFFFF), wire::kStatusOk);
  wire::Notice notice;
  notice.trap = 257;
  notice.issuer_lid = LidOf(kOther);
  shell.Step(TrapCame{LidOf(kOther), 5, notice});
  EXPECT_THAT(shell.TakeReports(true), IsEmpty());
}

TEST_F(StateTest, SubscriptionsAreListed) {
  Subscribe(kHost, 64);
  Subscribe(kHost, 65);
  const auto seen = shell.Table(wire::InformInfoRecord{}, 0, LidOf(kOther));
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_EQ(seen[1].subscriber_gid, GidOf(kHost));
  EXPECT_EQ(seen[1].number, 1);
  EXPECT_EQ(seen[1].info.trap_number, 65);
  EXPECT_EQ(seen[1].info.qpn, 0u);
  EXPECT_EQ(shell.Table(wire::InformInfoRecord{}, 0, LidOf(kOther), kSmKey)[0].info.qpn, 1u);
}

// ---- durability

TEST_F(StateTest, ARestartKeepsAllState) {
  wire::ServiceRecord service = Service(kHost, 7);
  shell.Set(service, kId | kServiceGid | kLease, LidOf(kHost));
  Join(kHost, kMgid);
  Join(kOther, kMgid, kJoinNon);
  Join(kHost, kBroadcast);
  Subscribe(kHost, 66);
  const ClientState before = *shell.clients;
  const fabric::MulticastGroups trees = *shell.groups;
  shell.clients = nullptr;
  shell.groups = nullptr;
  shell.Restart();
  ASSERT_NE(shell.clients, nullptr);
  EXPECT_EQ(*shell.groups, trees);
  EXPECT_EQ(*shell.state->Trees(), trees);
  EXPECT_EQ(*shell.clients->subscriptions, *before.subscriptions);
  const auto same = [](const auto& a, const auto& b) { return *a == *b; };
  EXPECT_TRUE(std::equal(before.services->begin(), before.services->end(),
                         shell.clients->services->begin(), shell.clients->services->end(), same));
  EXPECT_TRUE(std::equal(before.groups->begin(), before.groups->end(),
                         shell.clients->groups->begin(), shell.clients->groups->end(), same));
  EXPECT_THAT(shell.TakeReports(true), IsEmpty()) << "nothing has come or gone";
}

TEST_F(StateTest, NothingIsAnsweredOrShownBeforeItIsDurable) {
  shell.disk_waits = true;
  const Reply none = shell.Set(Membership(kHost, kMgid), kCreateMask, LidOf(kHost));
  EXPECT_EQ(none.outcome, Outcome::kNotARequest);
  EXPECT_EQ(shell.clients->FindGroup(kMgid), nullptr);
  const Reply second = shell.Set(Membership(kOther, kMgid), kCreateMask, LidOf(kOther));
  EXPECT_EQ(second.outcome, Outcome::kNotARequest);
  shell.FinishWrite();
  EXPECT_THAT(shell.arrived, SizeIs(1));
  EXPECT_THAT(MembersOf(kMgid), SizeIs(1));
  shell.FinishWrite();
  EXPECT_THAT(shell.arrived, SizeIs(2));
  EXPECT_THAT(MembersOf(kMgid), SizeIs(2));
}

TEST_F(StateTest, NoReportIsSentBeforeTheSubscriptionIsAnswered) {
  shell.disk_waits = true;
  shell.Set(Membership(kOther, kMgid), kCreateMask, LidOf(kOther));
  shell.Set(Subscription(66), 0, LidOf(kHost));
  shell.FinishWrite();
  EXPECT_THAT(shell.arrived, SizeIs(1));
  EXPECT_THAT(shell.reports, IsEmpty()) << "of the group, before the answer";
  shell.Set(Membership(kOther, {kMgid.prefix, 2}), kCreateMask, LidOf(kOther));
  shell.FinishWrite();
  EXPECT_THAT(shell.reports, IsEmpty());
  shell.FinishWrite();
  EXPECT_THAT(TrapsOf(shell.reports), ElementsAre(66));
}

TEST_F(StateTest, AWriteThatFailsIsBusyAndTriedAgain) {
  shell.disk_fails = true;
  EXPECT_EQ(Join(kHost, kMgid), wire::kStatusBusy);
  EXPECT_EQ(shell.clients->FindGroup(kMgid), nullptr);
  shell.Pass(SaState::kRetryWrite * 3);
  shell.disk_fails = false;
  shell.Pass(SaState::kRetryWrite * 2);
  EXPECT_THAT(MembersOf(kMgid), SizeIs(1));
  EXPECT_EQ(Join(kHost, kMgid), wire::kStatusOk) << "asked for again, as a client does";
  shell.Restart();
  EXPECT_THAT(MembersOf(kMgid), SizeIs(1));
}

TEST_F(StateTest, ARequestWithoutAChangeIsNotStored) {
  Join(kHost, kMgid);
  const int before = shell.writes;
  EXPECT_EQ(Join(kHost, kMgid), wire::kStatusOk);
  EXPECT_EQ(shell.writes, before);
}

TEST_F(StateTest, DamagedRowsAreRefused) {
  Join(kHost, kMgid);
  Subscribe(kHost, 66);
  shell.Set(Service(kHost, 7), kId | kServiceGid, LidOf(kHost));
  for (const auto& [key, value] : shell.rows) {
    StoredRows damaged = shell.rows;
    damaged[key].pop_back();
    EXPECT_EQ(SaState::Make(damaged, 0).status().code(), absl::StatusCode::kDataLoss) << key.table;
  }
}

}  // namespace
}  // namespace fabricd::sa
