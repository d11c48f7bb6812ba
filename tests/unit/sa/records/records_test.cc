// SPDX-License-Identifier: Apache-2.0
// Records of devices (IBA vol 1 §15.2.5), the form of requests and answers (§15.4) and who sees
// what (§15.4.1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "mad/wire/class_port_info.h"
#include "mad/wire/sa_components.h"
#include "mad/wire/sa_records.h"
#include "mad/wire/sa_state_records.h"
#include "routing/multicast/multicast_rows.h"
#include "sa/view/asker.h"
#include "tests/unit/sa/sa_fixture.h"

namespace fabricd::sa {
namespace {

using testing::Ask;
using testing::Make;
using testing::Query;
using testing::Reply;
using testing::SaFabric;
using testing::Send;
using wire::Method;
using wire::SaAttribute;

// Handles 0-3 leaves, 4-5 spines, 6-13 hosts.
SaFabric Tree(uint8_t lmc = 0) { return Make(fabricd::testing::MakeFatTree(4, 2), lmc); }
constexpr size_t kLeaf = 0, kHost = 6, kOther = 13;

template <typename Record>
std::vector<Record> Table(const SaView& view, const Record& wanted, uint64_t mask, Lid from,
                          SmKey key = {}) {
  Query query = Ask(wanted, mask);
  query.key = key;
  const Reply reply = Send(view, query, from);
  EXPECT_EQ(reply.status(), wire::kStatusOk);
  return reply.Records<Record>();
}

TEST(Records, Nodes) {
  const SaFabric made = Tree(1);
  const SaView view = made.View();
  const Lid me = made.LidOf(kHost);
  const auto all = Table(view, wire::NodeRecord{}, 0, me);
  EXPECT_EQ(all.size(), made.input.snapshot->node_count());
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const auto& a, const auto& b) { return a.lid < b.lid; }));
  wire::NodeRecord wanted;
  wanted.lid = Lid(static_cast<uint16_t>(me.value() + 1));  // Not its first.
  const auto one = Table(view, wanted, 1, me);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].lid, me);
  EXPECT_EQ(one[0].info.node_guid, made.GuidOf(kHost));
  EXPECT_EQ(one[0].info.port_guid, made.GidOf(kHost).guid());
  EXPECT_EQ(one[0].info.local_port, PortNum(1));
  EXPECT_EQ(one[0].description.text,
            made.input.snapshot->node(made.fabric.node[kHost])->description);
  wanted.info.node_type = wire::NodeType::kSwitch;
  EXPECT_EQ(Table(view, wanted, 1u << 4, me).size(), 6u);
  EXPECT_EQ(Table(view, wanted, 1u << 4 | 1, me).size(), 0u);
  wanted.info.node_guid = made.GuidOf(kOther);
  EXPECT_EQ(Table(view, wanted, 1u << 7, me).size(), 1u);
  wanted.description.text = one[0].description.text;
  EXPECT_EQ(Table(view, wanted, 1u << 14, me).size(), 1u);
}

TEST(Records, PortsWithCapabilities) {
  SaFabric made = Tree();
  wire::PortInfo info = testing::RunningPort();
  info.capability_mask = 0x0202;
  info.capability_mask2 = 0x0010;
  made.SetPort(kHost, 1, info);
  const SaView view = made.View();
  const Lid me = made.LidOf(kHost);
  wire::PortInfoRecord wanted;
  wanted.lid = made.LidOf(kLeaf, 0);
  const auto of_leaf = Table(view, wanted, 1, me);
  ASSERT_EQ(of_leaf.size(), 5u) << "port 0 and four others";
  for (size_t port = 0; port < of_leaf.size(); ++port) {
    EXPECT_EQ(of_leaf[port].port.value(), port);
    EXPECT_EQ(of_leaf[port].lid, wanted.lid);
    EXPECT_FALSE(of_leaf[port].info.m_key) << "not told to the untrusted";
  }
  wanted.port = PortNum(3);
  wanted.options = 0x80;
  EXPECT_EQ(Table(view, wanted, 0b111, me).size(), 1u);
  EXPECT_EQ(Table(view, wanted, 0b111, me, testing::kSmKey)[0].info.m_key, MKey(0x77));
  wanted.info.m_key = MKey(0x77);
  EXPECT_EQ(Table(view, wanted, 1u << 3, me).size(), 0u) << "nor found out by asking for it";
  wanted.info.capability_mask = 0x0002;
  wanted.info.capability_mask2 = 0x0010;
  Query query = Ask(wanted, 1u << 7);
  EXPECT_TRUE(Send(view, query, me).Records<wire::PortInfoRecord>().empty());
  query.modifier = 1u << 31;
  ASSERT_EQ(Send(view, query, me).Records<wire::PortInfoRecord>().size(), 1u);
  EXPECT_EQ(Send(view, query, me).Records<wire::PortInfoRecord>()[0].lid, me);
  query = Ask(wanted, uint64_t{1} << 53 | 1u << 7);
  query.modifier = 1u << 31;
  EXPECT_EQ(Send(view, query, me).Records<wire::PortInfoRecord>().size(), 1u);
  wanted.info.capability_mask2 = 0x0011;
  query = Ask(wanted, uint64_t{1} << 53 | 1u << 7);
  query.modifier = 1u << 31;
  EXPECT_TRUE(Send(view, query, me).Records<wire::PortInfoRecord>().empty());
}

TEST(Records, SwitchesAndTheirTables) {
  const SaFabric made = Tree();
  const SaView view = made.View();
  const Lid me = made.LidOf(kHost);
  EXPECT_EQ(Table(view, wire::SwitchInfoRecord{}, 0, me).size(), 6u);
  wire::LinearForwardingTableRecord wanted;
  wanted.lid = made.LidOf(kLeaf, 0);
  const auto blocks = Table(view, wanted, 1, me);
  ASSERT_EQ(blocks.size(), 1u) << "14 LIDs";
  for (uint16_t lid = 1; lid <= 14; ++lid)
    EXPECT_EQ(blocks[0].table.port[lid],
              made.input.plan->EgressPort(made.fabric.node[kLeaf], Lid(lid)));
  wanted.block = 1;
  EXPECT_TRUE(Table(view, wanted, 0b11, me).empty());
  EXPECT_EQ(Send(view, Ask(wire::MulticastForwardingTableRecord{}, 0, Method::kGet), me).status(),
            wire::kSaStatusNoRecords);
}

TEST(Records, MulticastTables) {
  SaFabric made = Tree();
  const auto tree = [&](uint16_t mlid, std::vector<PortRef> ports) {
    auto made_tree = std::make_shared<routing::MulticastTree>();
    made_tree->mlid = Lid(mlid);
    made_tree->ports = std::move(ports);
    return made_tree;
  };
  const Lid me = made.LidOf(kHost), leaf = made.LidOf(kLeaf, 0);
  EXPECT_TRUE(Table(made.View(), wire::MulticastForwardingTableRecord{}, 0, me).empty());
  made.input.multicast = std::make_shared<const routing::MulticastPlan>();
  EXPECT_TRUE(Table(made.View(), wire::MulticastForwardingTableRecord{}, 0, me).empty());
  made.input.multicast = std::make_shared<const routing::MulticastPlan>(
      routing::PlanOfTrees({tree(0xC001, {made.Ref(kLeaf, 1), made.Ref(kLeaf, 3)}),
                            tree(0xC021, {made.Ref(kLeaf, 0), made.Ref(kLeaf + 1, 2)})},
                           nullptr));
  const SaView view = made.View();
  const auto all = Table(view, wire::MulticastForwardingTableRecord{}, 0, me);
  ASSERT_EQ(all.size(), 4u) << "two switches have entries up to the second block";
  EXPECT_EQ(all[2].lid, made.LidOf(kLeaf + 1, 0));
  EXPECT_EQ(all[2].table, wire::MulticastForwardingTable{}) << "its first block is empty";
  wire::MulticastForwardingTableRecord wanted;
  wanted.lid = leaf;
  const auto blocks = Table(view, wanted, 1, me);
  ASSERT_EQ(blocks.size(), 2u);
  wire::MulticastForwardingTableRecord expected;
  expected.lid = leaf;
  expected.table.port_mask[1] = 0b1010;
  EXPECT_EQ(blocks[0], expected);
  expected.block = 1;
  expected.table.port_mask[1] = 0b1;
  EXPECT_EQ(blocks[1], expected);
  wanted.block = 1;
  EXPECT_EQ(Table(view, wanted, 0b1001, me).size(), 1u);
  wanted.position = 1;
  EXPECT_TRUE(Table(view, wanted, 0b1011, me).empty()) << "sixteen ports have one position";
}

// Only the multicast tables differ: the expensive indexes are shared.
TEST(Records, ViewsShareUnchangedParts) {
  SaFabric made = Tree();
  const SaView before = made.View();
  made.input.multicast = std::make_shared<const routing::MulticastPlan>();
  const SaView after(made.input, &before);
  EXPECT_EQ(&before.ends(), &after.ends());
  EXPECT_EQ(&before.paths(), &after.paths());
  EXPECT_EQ(after.input().multicast, made.input.multicast);
  made.input.isolated = {made.Ref(kOther, 1)};
  const SaView cut(made.input, &after);
  EXPECT_NE(&after.ends(), &cut.ends());
  EXPECT_TRUE(cut.ends()[cut.ends().FindLid(made.LidOf(kOther))].isolated);
}

TEST(Records, Links) {
  const SaFabric made = Tree();
  const SaView view = made.View();
  const auto links = Table(view, wire::LinkRecord{}, 0, made.LidOf(kHost));
  EXPECT_EQ(links.size(), 32u) << "sixteen cables, both ways";
  const auto key = [](Lid a, PortNum p, Lid b, PortNum q) {
    return std::array{a.value(), uint16_t{p.value()}, b.value(), uint16_t{q.value()}};
  };
  std::set<std::array<uint16_t, 4>> ways;
  for (const auto& link : links)
    ways.insert(key(link.from_lid, link.from_port, link.to_lid, link.to_port));
  for (const auto& link : links)
    EXPECT_TRUE(ways.contains(key(link.to_lid, link.to_port, link.from_lid, link.from_port)));
  wire::LinkRecord wanted;
  wanted.from_lid = made.LidOf(kHost);
  ASSERT_EQ(Table(view, wanted, 1, made.LidOf(kHost)).size(), 1u);
  const PortRef peer = made.input.snapshot->port(made.Ref(kHost, 1))->peer;
  EXPECT_EQ(Table(view, wanted, 1, made.LidOf(kHost))[0].to_port, peer.port);
}

TEST(Records, ManagersGuidsAndTables) {
  SaFabric made = Tree();
  wire::SmInfo sm;
  sm.guid = made.GidOf(kHost).guid();
  sm.sm_key = testing::kSmKey;
  sm.state = wire::SmState::kMaster;
  made.input.sm.managers = {{made.Ref(kHost, 1), sm}};
  auto tables = std::make_shared<fabric::TablesByPort>();
  fabric::PortTables& leaf = (*tables)[made.Ref(kLeaf, 0)];
  for (uint8_t port = 0; port < 3; ++port) {
    wire::PKeyTable keys;
    keys.keys[0] = PKey(0xFFFF);
    leaf.p_keys.push_back({PortNum(port), 0, keys});
    leaf.lanes.push_back({PortNum(1), PortNum(port), {}});
    leaf.arbitration.push_back({PortNum(port), 1, {}});
  }
  made.input.tables = tables;
  wire::PortInfo many = testing::RunningPort();
  many.guid_cap = 9;
  made.SetPort(kOther, 1, many);
  const SaView view = made.View();
  const Lid me = made.LidOf(kOther);
  const auto managers = Table(view, wire::SmInfoRecord{}, 0, me);
  ASSERT_EQ(managers.size(), 1u);
  EXPECT_EQ(managers[0].lid, made.LidOf(kHost));
  EXPECT_EQ(managers[0].info.state, wire::SmState::kMaster);
  EXPECT_FALSE(managers[0].info.sm_key);
  EXPECT_EQ(Table(view, wire::SmInfoRecord{}, 0, me, testing::kSmKey)[0].info, sm);
  wire::GuidInfoRecord wanted;
  wanted.lid = me;
  const auto guids = Table(view, wanted, 1, me);
  ASSERT_EQ(guids.size(), 2u) << "a GUIDCap of 9 is two blocks";
  EXPECT_EQ(guids[0].info.guids[0], made.GidOf(kOther).guid());
  EXPECT_EQ(guids[1].block, 1);
  EXPECT_EQ(guids[1].info, wire::GuidInfo{});
  Query keys = Ask(wire::PKeyTableRecord{}, 0);
  EXPECT_EQ(Send(view, keys, me).status(), wire::kSaStatusRequestInvalid);
  keys.key = testing::kSmKey;
  EXPECT_EQ(Send(view, keys, me).Records<wire::PKeyTableRecord>().size(), 3u);
  wire::SlToVlMappingTableRecord map;
  map.out = PortNum(2);
  EXPECT_EQ(Table(view, map, 0b100, me).size(), 1u);
  EXPECT_EQ(Table(view, wire::VlArbitrationTableRecord{}, 0, me).size(), 3u);
}

TEST(Records, PortNumbersAreOfSwitchesOnly) {
  SaFabric made = Tree();
  auto tables = std::make_shared<fabric::TablesByPort>();
  (*tables)[made.Ref(kHost, 1)].arbitration = {{PortNum(1), 1, {}}};
  (*tables)[made.Ref(kLeaf, 0)].arbitration = {{PortNum(1), 1, {}}};
  made.input.tables = tables;
  const SaView view = made.View();
  wire::VlArbitrationTableRecord wanted;
  wanted.lid = made.LidOf(kHost);
  const auto found = Table(view, wanted, 0b11, made.LidOf(kHost));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].port, PortNum(1));
  wanted.lid = made.LidOf(kLeaf, 0);
  EXPECT_EQ(Table(view, wanted, 0b11, made.LidOf(kHost)).size(), 0u);
}

TEST(Records, ListsNodesWhoseVlTablesAreUnread) {
  SaFabric made = Tree();
  auto tables = std::make_shared<fabric::TablesByPort>();
  (*tables)[made.Ref(kLeaf, 0)].has_all_lanes = true;
  made.input.tables = tables;
  const SaView view = made.View();
  const ClientState clients;
  std::vector<NodeIndex> unread;
  const auto ask = [&](const auto& record, uint64_t mask) {
    unread.clear();
    std::vector<uint8_t> reply;
    const Sources sources{view, clients, 0, &unread};
    EXPECT_EQ(Answer(sources, Ask(record, mask).Bytes(), made.LidOf(kHost), reply),
              Outcome::kAnswered);
    return unread;
  };
  wire::SlToVlMappingTableRecord map;
  map.lid = made.LidOf(kOther);
  EXPECT_THAT(ask(map, 1), ::testing::ElementsAre(made.fabric.node[kOther]));
  map.lid = made.LidOf(kLeaf, 0);
  EXPECT_THAT(ask(map, 1), ::testing::IsEmpty());
  EXPECT_EQ(ask(wire::VlArbitrationTableRecord{}, 0).size(), view.ends().size() - 1);
  EXPECT_THAT(ask(wire::NodeRecord{}, 0), ::testing::IsEmpty());
}

TEST(Records, SeenInSharedPartitionsOnly) {
  SaFabric made = Tree();
  auto tables = std::make_shared<fabric::TablesByPort>();
  wire::PKeyTable tenant;
  tenant.keys[0] = PKey(0x8005);
  for (size_t host : {kHost, kHost + 1})
    (*tables)[made.Ref(host, 1)].p_keys = {{PortNum(1), 0, tenant}};
  made.input.tables = tables;
  const SaView view = made.View();
  const Lid inside = made.LidOf(kHost), outside = made.LidOf(kOther);
  EXPECT_EQ(Table(view, wire::NodeRecord{}, 0, inside).size(), 2u);
  EXPECT_EQ(Table(view, wire::NodeRecord{}, 0, outside).size(), 12u);
  EXPECT_EQ(Table(view, wire::NodeRecord{}, 0, inside, testing::kSmKey).size(), 14u);
  EXPECT_EQ(Table(view, wire::LinkRecord{}, 0, inside).size(), 0u) << "the leaf is not seen";
  EXPECT_EQ(Table(view, wire::LinkRecord{}, 0, outside).size(), 28u);
}

TEST(Answers, Form) {
  const SaFabric made = Tree();
  const SaView view = made.View();
  const Lid me = made.LidOf(kHost);
  const Query query = Ask(wire::NodeRecord{}, 0);
  const Reply table = Send(view, query, me);
  EXPECT_EQ(table.header.mad.method, Method::kGetTableResp);
  EXPECT_EQ(table.header.mad.transaction_id, 0x1122334455667788u);
  EXPECT_EQ(table.header.attribute_offset, 14);
  EXPECT_EQ(table.data.size(), 14 * wire::NodeRecord::kBytes);
  EXPECT_EQ(table.header.rmpp.version, 1);
  EXPECT_EQ(table.header.rmpp.flags, wire::kRmppActive | wire::kRmppFirst);
  EXPECT_EQ(table.header.rmpp.data1, 1u);
  EXPECT_EQ(table.header.rmpp.data2, table.data.size() + 8 * 20) << "eight segments";
  wire::NodeRecord one;
  one.lid = me;
  Query trusted = Ask(one, 1, Method::kGet);
  trusted.key = testing::kSmKey;
  const Reply single = Send(view, trusted, me);
  EXPECT_EQ(single.header.mad.method, Method::kGetResp);
  EXPECT_EQ(single.data.size(), wire::kSaDataBytes);
  EXPECT_EQ(single.header.rmpp, wire::RmppHeader{});
  EXPECT_FALSE(single.header.sm_key) << "never told";
  const Reply empty = Send(view, Ask(wire::MulticastForwardingTableRecord{}, 0), me);
  EXPECT_EQ(empty.status(), wire::kStatusOk);
  EXPECT_TRUE(empty.data.empty());
  EXPECT_EQ(empty.header.rmpp.data2, 20u);
  EXPECT_EQ(empty.header.rmpp.flags, wire::kRmppActive | wire::kRmppFirst | wire::kRmppLast);
}

TEST(Answers, Statuses) {
  const SaFabric made = Tree();
  const SaView view = made.View();
  const Lid me = made.LidOf(kHost);
  const auto status = [&](Query query) { return Send(view, query, me).status(); };
  wire::NodeRecord nobody;
  nobody.lid = Lid(4711);
  EXPECT_EQ(status(Ask(nobody, 1, Method::kGet)), wire::kSaStatusNoRecords);
  EXPECT_EQ(status(Ask(nobody, 0, Method::kGet)), wire::kSaStatusTooManyRecords);
  EXPECT_EQ(status(Ask(nobody, 0, Method::kSet)), wire::kStatusUnsupportedMethodAttribute);
  EXPECT_EQ(status(Ask(nobody, 0, Method::kGetMulti)), wire::kStatusUnsupportedMethodAttribute);
  EXPECT_EQ(status(Ask(nobody, 0, static_cast<Method>(0x16))), wire::kStatusUnsupportedMethod);
  Query query = Ask(nobody, 0);
  query.attribute = static_cast<SaAttribute>(0x3B);
  EXPECT_EQ(status(query), wire::kStatusUnsupportedMethodAttribute);
  query = Ask(nobody, 0);
  query.class_version = 1;
  EXPECT_EQ(status(query), wire::kStatusBadVersion);
  EXPECT_EQ(Send(view, Ask(nobody, 0), Lid(4711)).outcome, Outcome::kUnknownRequester)
      << "a newer view will know it";
  query = Ask(nobody, 0);
  query.key = SmKey(99);
  EXPECT_EQ(Send(view, query, me).outcome, Outcome::kWrongKey);
  for (Method method : {Method::kGetResp, Method::kTrap, Method::kReport, Method::kTrapRepress,
                        Method::kReportResp})
    EXPECT_EQ(Send(view, Ask(nobody, 0, method), me).outcome, Outcome::kNotARequest);
  std::vector<uint8_t> reply;
  EXPECT_EQ(Answer({view, ClientState()}, std::vector<uint8_t>(255), me, reply),
            Outcome::kNotARequest);
}

TEST(Answers, ClassPortInfo) {
  const SaFabric made = Tree();
  const Reply reply =
      Send(made.View(), Ask(wire::ClassPortInfo{}, 0, Method::kGet), made.LidOf(kHost));
  ASSERT_EQ(reply.status(), wire::kStatusOk);
  const auto info = reply.Records<wire::ClassPortInfo>()[0];
  EXPECT_EQ(info.class_version, 2);
  EXPECT_EQ(info.capability_mask, 0x2702)
      << "notices, optional records, multicast, MultiPath, CapabilityMask match";
  EXPECT_EQ(info.response_time_value, 16);
  EXPECT_EQ(info.redirect.qpn, 1u);
  EXPECT_EQ(info.redirect.q_key, 0x80010000u);
  EXPECT_EQ(info.trap.q_key, 0x80010000u);
}

// A table too large for one payload is refused, not truncated.
TEST(Answers, TooLargeTable) {
  const SaFabric made = Tree(7);
  const SaView view = made.View();
  wire::PathRecord record;
  record.numb_path = 127;
  ASSERT_EQ(Send(view, Ask(record, 1u << 12), made.LidOf(kHost)).status(), wire::kStatusOk);
  // Twice as many ports with 128 LIDs have four times as many pairs: more than are looked at, even
  // for an answer of a few.
  const SaFabric wide = Make(fabricd::testing::MakeTree({{4, 1}, {5, 2}}), 7);
  record.numb_path = 1;
  EXPECT_EQ(
      Send(wide.View(), Ask(record, 1u << 12), wide.LidOf(wide.fabric.node.size() - 1)).status(),
      wire::kSaStatusNoResources);
  std::vector<uint8_t> bytes;
  RecordTable table(bytes);
  while (table.Add(size_t{1} << 20) != nullptr) continue;
  EXPECT_TRUE(table.is_full());
  EXPECT_EQ(table.count(), 64u);
  EXPECT_EQ(bytes.size(), RecordTable::kMostBytes);
}

}  // namespace
}  // namespace fabricd::sa
