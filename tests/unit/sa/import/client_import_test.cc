// SPDX-License-Identifier: Apache-2.0
// OpenSM's dump of its Subnet Administration, read and taken over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sa/import/client_import.h"
#include "sa/state/sa_state.h"

namespace fabricd::sa {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr WallMs kNow = 1'700'000'000'000;

const std::string kGroup =
    "MC Group 0xc001  (well known): mgid=0xff12401bffff0000:0x00000000ffffffff"
    " port_gid=0x0000000000000000:0x0000000000000000 qkey=0x00000b1b mlid=0xc001 mtu=0x84"
    " tclass=0x07 pkey=0xffff rate=0x83 pkt_life=0x92 sl_flow_hop=0x10abcd05 scope_state=0x20"
    " proxy_join=0x0\n\n";
const std::string kMember =
    "mcm_port: port_gid=0xfe80000000000000:0x0000000000100001 scope_state=0x21 proxy_join=0x0\n\n";
const std::string kProxied =
    "mcm_port: port_gid=0xfe80000000000000:0x0000000000100002 scope_state=0x24 proxy_join=0x1\n\n";
const std::string kInform =
    "InformInfo Record: subscriber_gid=0xfe80000000000000:0x0000000000100001 subscriber_enum=0x7"
    " InformInfo: gid=0x0000000000000000:0x0000000000000000 lid_range_begin=0xffff"
    " lid_range_end=0x0 is_generic=0x1 subscribe=0x1 trap_type=0xffff trap_num=0x40"
    " qpn_resp_time_val=0x113 node_type=0xffffff rep_addr: lid=0x0002 path_bits=0x00"
    " static_rate=0x00 remote_qp=0x00000001 remote_qkey=0x80010000 pkey_ix=0x0002 sl=0x03\n\n";
const std::string kService =
    "Service Record: id=0x0000000000000011 gid=0xfe80000000000000:0x0000000000100001 pkey=0x0"
    " lease=0x64 key=0x0102030405060708:0x090a0b0c0d0e0f10 name='it's a name'"
    " data8=0x1112131415161718:0x191a1b1c1d1e1f20 data16=0x0001000200030004:0x0005000600070008"
    " data32=0x0000000100000002:0x0000000300000004 data64=0x000000000000000a:0x000000000000000b"
    " modified_time=0x6553f100 lease_period=0x64\n\n";
const std::string kGuids =
    "GUIDInfo Record: base_guid=0x0000000000100001 lid=0x0002 block_num=0x0"
    " guid0=0x0000000000100001 guid1=0x00000000000000a1 guid2=0x0000000000000000"
    " guid3=0x00000000000000a3 guid4=0x0000000000000000 guid5=0x0000000000000000"
    " guid6=0x0000000000000000 guid7=0x0000000000000000\n\n";
constexpr Gid kPort{0xFE80000000000000, 0x100001};

ClientImport Import(const std::string& text) {
  const OpensmDump dump = ParseOpensmDump(text);
  EXPECT_EQ(FaultsText(dump.faults), "");
  return ImportClients(dump, kNow);
}
std::shared_ptr<const ClientState> StateOf(const StoredRows& rows) {
  auto state = SaState::Make(rows, kNow);
  EXPECT_TRUE(state.ok()) << state.status();
  return (*state)->TakeEffects(Instant{}).publish;
}

TEST(ClientImport, TakesOverAllThatOpensmDumps) {
  const ClientImport made =
      Import("# by hand\n" + kGuids + kGroup + kMember + kProxied + kInform + kService);
  EXPECT_THAT(made.skipped, IsEmpty());
  const auto state = StateOf(made.rows);
  ASSERT_THAT(*state->groups, SizeIs(1));
  const Group& group = *state->groups->front();
  EXPECT_TRUE(group.permanent);
  EXPECT_EQ(group.record.mgid, (Gid{0xFF12401BFFFF0000, 0xFFFFFFFF}));
  EXPECT_EQ(group.record.mlid, Lid(0xC001));
  EXPECT_EQ(group.record.q_key, 0xB1Bu);
  EXPECT_EQ(group.record.mtu, 4);
  EXPECT_EQ(group.record.rate, 3);
  EXPECT_EQ(group.record.packet_life_time, 18);
  EXPECT_EQ(group.record.traffic_class, 7);
  EXPECT_EQ(group.record.sl, ServiceLevel(1));
  EXPECT_EQ(group.record.flow_label, 0x0ABCDu);
  EXPECT_EQ(group.record.hop_limit, 5);
  EXPECT_EQ(group.record.scope, 2);
  EXPECT_THAT(group.members, ElementsAre(Member{kPort, kJoinFull, kPort},
                                         Member{{kPort.prefix, 0x100002}, 4, {}}));
  ASSERT_THAT(*state->subscriptions, SizeIs(1));
  const Subscription& subscription = state->subscriptions->front();
  EXPECT_EQ(subscription.target, (ReportTarget{kPort, 1, ServiceLevel(3), 2}));
  EXPECT_EQ(subscription.info.trap_number, 64);
  EXPECT_EQ(subscription.info.producer_type, 0xFFFFFFu);
  EXPECT_EQ(subscription.info.resp_time_value, 0x13);
  ASSERT_THAT(*state->services, SizeIs(1));
  const Service& service = *state->services->front();
  EXPECT_EQ(service.record.service_id, 0x11u);
  EXPECT_EQ(service.record.p_key, kDefaultFullPKey) << "none is every one";
  EXPECT_EQ(service.record.key[15], 0x10);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(service.record.name.data())), "it's a name");
  EXPECT_EQ(service.record.data8[8], 0x19);
  EXPECT_THAT(service.record.data16, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(service.record.data32, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(service.record.data64, ElementsAre(10, 11));
  EXPECT_EQ(service.expires, (0x6553F100 + 100) * WallMs{1000});
  EXPECT_EQ(state->aliases->PortOf(Guid(0xA3)), kPort.guid());
  EXPECT_EQ(state->aliases->PortOf(kPort.guid()), Guid()) << "the port's own is no alias";
}

TEST(ClientImport, LeavesOutRecordsThatCannotBeKept) {
  std::string twin = kGroup;  // OpenSM can give one MLID to several groups.
  twin.replace(twin.find("00000000ffffffff"), 16, "0000000000000001");
  std::string empty = twin;
  empty.erase(empty.find(" (well known)"), 13);
  for (size_t at = 0; (at = empty.find("0xc001", at)) != std::string::npos; ++at)
    empty[at + 5] = '2';
  std::string late = kService;
  late.replace(late.find("0x6553f100"), 10, "0x5553f100");
  const ClientImport made = Import(kGroup + twin + kMember + empty + kProxied + kInform + kInform +
                                   late + kGuids + kGuids);
  EXPECT_THAT(made.skipped, ElementsAre(Field(&LineFault::line, 3), Field(&LineFault::line, 7),
                                        Field(&LineFault::line, 13), Field(&LineFault::line, 15),
                                        Field(&LineFault::line, 19)));
  EXPECT_EQ(made.groups, 1u);
  EXPECT_EQ(made.members, 0u);
  EXPECT_EQ(made.subscriptions, 1u);
  EXPECT_EQ(made.services, 0u);
  EXPECT_EQ(made.aliases, 1u);
}

TEST(ClientImport, EachFaultNamesItsLine) {
  std::string cut = kGroup.substr(0, kGroup.find(" rate=")) + "\n";
  std::string wide = kMember;
  wide.replace(wide.find("0x21"), 4, "0x121");
  std::string low = kGroup;
  for (size_t at = 0; (at = low.find("0xc001", at)) != std::string::npos; ++at) low[at + 2] = 'b';
  const OpensmDump dump =
      ParseOpensmDump(kMember + cut + kMember + kGroup + wide + low + "hello\n");
  EXPECT_EQ(FaultsText(dump.faults),
            "line 1: a member without a group before it; line 3: no ` rate=0x`; "
            "line 8: behind ` scope_state=0x` is no hexadecimal number of 8 bits; "
            "line 10: 0xb001 and 0xb001 are not one multicast LID; "
            "line 12: no record that OpenSM writes");
}

TEST(ClientImport, AnythingIsReadOrRefused) {
  const std::string whole = kGuids + kGroup + kMember + kInform + kService;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string text = whole;
    text[at] = static_cast<char>(text[at] ^ (1 + at % 127));
    const OpensmDump dump = ParseOpensmDump(text);
    if (dump.ok()) StateOf(ImportClients(dump, kNow).rows);
    StateOf(ImportClients(ParseOpensmDump(""), kNow).rows);
    ParseOpensmDump(whole.substr(0, at));
  }
}

}  // namespace
}  // namespace fabricd::sa
