// SPDX-License-Identifier: Apache-2.0
// Multicast groups and their members (IBA vol 1 §15.2.5.17).
#include <gmock/gmock.h>

#include "tests/unit/sa/state/client_state_fixture.h"

namespace fabricd::sa {
namespace {

using testing::Ask;
using testing::Bit;
using ::testing::ElementsAre;
using testing::kSmKey;
using testing::Reply;
using ::testing::SizeIs;
using wire::McMemberRecord;

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

TEST_F(StateTest, MlidsOfWhichSwitchesHoldForeignEntriesAreAllocatedLast) {
  const auto mlid = [&](uint64_t group) {
    EXPECT_EQ(Join(kHost, Gid{kMgid.prefix, group}), wire::kStatusOk);
    return shell.clients->FindGroup({kMgid.prefix, group})->record.mlid;
  };
  shell.made.input.foreign_mlids = std::make_shared<const std::vector<Lid>>(
      std::vector<Lid>{Lid(0xC001), Lid(0xC002), Lid(0xC004)});
  shell.ShowFabric();
  EXPECT_EQ(mlid(1), Lid(0xC003));
  EXPECT_EQ(mlid(2), Lid(0xC005));
  shell.made.input.foreign_mlids = nullptr;
  shell.ShowFabric();
  EXPECT_EQ(mlid(3), Lid(0xC001));
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

}  // namespace
}  // namespace fabricd::sa
