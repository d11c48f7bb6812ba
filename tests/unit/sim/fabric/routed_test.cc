// SPDX-License-Identifier: Apache-2.0
// LID-routed packets in a SimFabric: partitions, multicast, long payloads.
#include <gtest/gtest.h>

#include "mad/wire/notice.h"
#include "mad/wire/sa_header.h"
#include "tests/unit/sim/test_client.h"

namespace fabricd::sim {
namespace {

using wire::DirectedPath;
using wire::PortInfo;
using Kind = mad::IncomingMad::Kind;

// Leaf ports 1-4: hosts, 5-8: two cables to each of the two spines. All up by the dumb SM; the
// client is node0001 mlx5_0, the peer node0002 mlx5_0 on the same leaf.
class RoutedTest : public ::testing::Test {
 protected:
  RoutedTest() {
    client.now = Instant(std::chrono::seconds(1));
    sm = std::make_unique<TinySm>(client);
    EXPECT_TRUE(sm->BringUp());
    fabric.Attach(peer);
    client.Wait(client.now);
    fabric.ResetStats();
  }
  PortRef PortOf(const std::string& node, uint8_t port) {
    return {fabric.FindNode(node).value(), PortNum(port)};
  }
  const SimDevice& Device(const std::string& node) {
    return *fabric.device(fabric.FindNode(node).value());
  }
  Lid LidOf(const std::string& node) { return sm->lid.at(Device(node).guid()); }
  mad::OutgoingMad Query(Lid to, uint16_t pkey_index = 0, size_t bytes = wire::kMadBytes) {
    mad::OutgoingMad mad;
    mad.agent = mad::Agent::kSubnAdm;
    mad.to.lid = to;
    mad.to.qpn = 1;
    mad.to.sl = ServiceLevel(3);
    mad.to.pkey_index = pkey_index;
    mad.timeout = kTestTimeout;
    mad.payload.resize(bytes);
    wire::SaHeader header;
    header.mad.management_class = wire::ManagementClass::kSubnAdm;
    header.mad.class_version = 2;
    header.mad.method = wire::Method::kGet;
    header.mad.transaction_id = ++tid;
    header.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
    return mad;
  }
  // The SA MADs that arrived at `at` until now, and other MADs in `traps`.
  std::vector<mad::IncomingMad> Arrived(PortRef at) {
    std::vector<mad::IncomingMad> mads;
    for (Delivery& delivery : client.Wait(client.now)) {
      auto* mad = std::get_if<mad::IncomingMad>(&delivery.what);
      if (mad == nullptr) continue;
      if (mad->agent == mad::Agent::kSmpLid) {
        traps.push_back(wire::Notice::Decode(DecodeSmp(mad->payload).data));
      } else if (delivery.host == at) {
        mads.push_back(std::move(*mad));
      }
    }
    return mads;
  }
  void SetPKeys(const DirectedPath& path, uint32_t modifier, std::vector<uint16_t> keys) {
    wire::PKeyTable table;
    for (size_t i = 0; i < keys.size(); ++i) table.keys[i] = PKey(keys[i]);
    ASSERT_TRUE(client.Set(path, table, modifier).ok());
  }
  bool Passes(uint16_t pkey_index) {
    EXPECT_TRUE(fabric.Send(client.now, host, Query(LidOf("node0002 mlx5_0"), pkey_index)).ok());
    return !Arrived(peer).empty();
  }

  std::shared_ptr<const fabric::FabricSnapshot> topology =
      *Generate("superpod:sus=1,hosts=4,rails=2,radix=8");
  SimFabric fabric{*topology};
  PortRef host = fabric.DefaultHostPort();
  TestClient client{fabric, host};
  std::unique_ptr<TinySm> sm;
  const PortRef peer = PortOf("node0002 mlx5_0", 1);
  const DirectedPath self{}, leaf{1}, neighbour{1, 2};
  uint64_t tid = 0;
  std::vector<wire::Notice> traps;
};

TEST_F(RoutedTest, PartitionsMatchUnlessBothEndsAreLimited) {
  SetPKeys(self, 0, {0x7FFF, 0x8001, 0x0001, 0x8002, 0x0000});
  SetPKeys(neighbour, 0, {0x7FFF, 0x0000, 0x0001, 0xFFFF});
  EXPECT_TRUE(Passes(0));   // Limited to the full entry at index 3.
  EXPECT_TRUE(Passes(1));   // Full to limited.
  EXPECT_FALSE(Passes(2));  // Limited to limited.
  EXPECT_FALSE(Passes(3));  // Not in that partition.
  const auto violations = [&] {
    return Device("node0002 mlx5_0").port(PortNum(1)).info.p_key_violations;
  };
  EXPECT_EQ(violations(), 2);
  EXPECT_FALSE(Passes(4));    // No key there: the sender sends nothing.
  EXPECT_FALSE(Passes(200));  // Behind the table.
  EXPECT_EQ(violations(), 2);
  EXPECT_EQ(fabric.stats().lost_p_key, 4u);
  ASSERT_TRUE(fabric.Send(client.now, host, Query(LidOf("node0002 mlx5_0"), 0)).ok());
  const auto mads = Arrived(peer);
  ASSERT_EQ(mads.size(), 1u);
  EXPECT_EQ(mads[0].from.pkey_index, 3);  // The receiver's index, not the sender's.
  // And the request that was dropped times out.
  auto ended = client.Wait(client.now + kTestTimeout);
  size_t timed_out = 0;
  for (const Delivery& delivery : ended) {
    const auto* mad = std::get_if<mad::IncomingMad>(&delivery.what);
    timed_out += mad != nullptr && mad->kind == Kind::kTimedOut ? 1 : 0;
  }
  EXPECT_EQ(timed_out, 7u);
}

// As the kernel: what came is given with the route of its answer.
TEST_F(RoutedTest, CarriesAGrhBothWays) {
  const auto gid = [&](const std::string& node) {
    const SimPort& port = Device(node).port(PortNum(1));
    return Gid{port.info.gid_prefix, port.guid.value()};
  };
  mad::OutgoingMad query = Query(LidOf("node0002 mlx5_0"));
  query.to.global = mad::GlobalRoute{gid("node0002 mlx5_0"), 0, 63, 7, 0xABCDE};
  ASSERT_TRUE(fabric.Send(client.now, host, query).ok());
  const auto asked = Arrived(peer);
  ASSERT_EQ(asked.size(), 1u);
  const mad::GlobalRoute back{gid("node0001 mlx5_0"), 0, 255, 7, 0xABCDE};
  EXPECT_EQ(asked[0].from.global, back);
  mad::OutgoingMad answer{asked[0].agent, asked[0].from, {}, asked[0].payload};
  answer.payload[3] = static_cast<uint8_t>(wire::Method::kGetResp);
  ASSERT_TRUE(fabric.Send(client.now, peer, answer).ok());
  const auto answers = Arrived(host);
  ASSERT_EQ(answers.size(), 1u);
  ASSERT_TRUE(answers[0].from.global);
  EXPECT_EQ(answers[0].from.global->gid, gid("node0002 mlx5_0"));
}

TEST_F(RoutedTest, AGrhForAnotherPortIsDroppedButThatOfTheSaIsNot) {
  mad::OutgoingMad query = Query(LidOf("node0002 mlx5_0"));
  query.to.global = mad::GlobalRoute{{0xFE80000000000000, 0x4711}, 0, 63, 0, 0};
  ASSERT_TRUE(fabric.Send(client.now, host, query).ok());
  EXPECT_TRUE(Arrived(peer).empty());
  EXPECT_EQ(fabric.stats().lost_nobody, 1u);
  query = Query(LidOf("node0002 mlx5_0"));
  query.to.global = mad::GlobalRoute{{0xFE80000000000000, 0x0200000000000002}, 0, 63, 0, 0};
  ASSERT_TRUE(fabric.Send(client.now, host, query).ok());
  EXPECT_EQ(Arrived(peer).size(), 1u);
}

TEST_F(RoutedTest, ReportsABadPKey) {
  SetPKeys(self, 0, {0x8001});
  EXPECT_FALSE(Passes(0));
  ASSERT_EQ(traps.size(), 1u);
  EXPECT_EQ(traps[0].trap, wire::kTrapBadPKey);
  EXPECT_EQ(traps[0].type, 2);
  EXPECT_EQ(traps[0].issuer_lid, LidOf("node0002 mlx5_0"));
  const auto& details = traps[0].details;
  EXPECT_EQ(details[2] << 8 | details[3], LidOf("node0001 mlx5_0").value());
  EXPECT_EQ(details[4] << 8 | details[5], LidOf("node0002 mlx5_0").value());
  EXPECT_EQ(details[6] << 24 | details[7] << 16 | details[8] << 8 | details[9], 0x8001);
  EXPECT_EQ(details[10], 0x30);  // SL
  EXPECT_EQ(details[13], 1);     // QP1
  EXPECT_EQ(details[17], 1);
}

TEST_F(RoutedTest, SwitchesEnforcePartitionsWhereAsked) {
  SetPKeys(self, 0, {0x8001});
  SetPKeys(neighbour, 0, {0x0001});
  EXPECT_TRUE(Passes(0));
  SetPKeys(leaf, wire::PKeyTable::Modifier(PortNum(2), 0), {0x8002});
  EXPECT_TRUE(Passes(0));  // Not enforced yet.
  const auto enforce = [&](uint32_t port, bool in, bool out) {
    return client
        .ChangePort(leaf, port,
                    [&](PortInfo& info) {
                      info.partition_enforcement_inbound = in;
                      info.partition_enforcement_outbound = out;
                    })
        .ok();
  };
  ASSERT_TRUE(enforce(2, true, false));
  EXPECT_TRUE(Passes(0));  // Not that way.
  ASSERT_TRUE(enforce(2, true, true));
  traps.clear();
  EXPECT_FALSE(Passes(0));
  const auto violations = [&](uint8_t port) {
    return Device("su1-rail0-leaf").port(PortNum(port)).info.p_key_violations;
  };
  EXPECT_EQ(violations(2), 1);
  EXPECT_EQ(violations(1), 0);
  ASSERT_EQ(traps.size(), 1u);
  EXPECT_EQ(traps[0].trap, wire::kTrapSwitchBadPKey);
  EXPECT_EQ(traps[0].issuer_lid, LidOf("su1-rail0-leaf"));
  EXPECT_EQ(traps[0].details[6] << 8 | traps[0].details[7], 0x8001);
  EXPECT_EQ(traps[0].details[48] << 8 | traps[0].details[49], LidOf("su1-rail0-leaf").value());
  EXPECT_EQ(traps[0].details[50], 2);
  // The counter is cleared, not set.
  ASSERT_TRUE(client.ChangePort(leaf, 2, [](PortInfo& i) { i.p_key_violations = 9; }).ok());
  EXPECT_EQ(violations(2), 1);
  ASSERT_TRUE(client.ChangePort(leaf, 2, [](PortInfo& i) { i.p_key_violations = 0; }).ok());
  EXPECT_EQ(violations(2), 0);
  // The table of the end port behind lets both ways pass: membership is the receiver's affair.
  SetPKeys(leaf, wire::PKeyTable::Modifier(PortNum(2), 0), {0x0001});
  EXPECT_TRUE(Passes(0));
  // Inbound, at the sender's own port; SMPs have no P_Key.
  ASSERT_TRUE(enforce(1, true, false));
  EXPECT_FALSE(Passes(0));
  EXPECT_EQ(violations(1), 1);
  EXPECT_TRUE(client.Get(neighbour, wire::AttributeId::kNodeInfo).ok());
}

TEST_F(RoutedTest, TracesDataByPartitionsToo) {
  const Lid to = LidOf("node0002 mlx5_0");
  EXPECT_EQ(fabric.TraceData(host, to, PKey(0xFFFF)), peer);
  EXPECT_TRUE(fabric.TraceData(host, to, PKey(0x8001)).IsNone());
  EXPECT_EQ(fabric.TraceData(host, to), peer);
  SetPKeys(neighbour, 0, {0x0001});
  EXPECT_EQ(fabric.TraceData(host, to, PKey(0x8001)), peer);
  EXPECT_TRUE(fabric.TraceData(host, to, PKey(0x0001)).IsNone());
  ASSERT_TRUE(
      client.ChangePort(leaf, 2, [](PortInfo& info) { info.partition_enforcement_outbound = true; })
          .ok());
  EXPECT_TRUE(fabric.TraceData(host, to, PKey(0x8001)).IsNone());
  EXPECT_EQ(fabric.stats().lost_p_key, 0u);  // Nothing was sent.
}

// Multicast. Leaf 1 has the client on 1 and the peer on 2; spine1 on ports 5 and 6.
class MulticastTest : public RoutedTest {
 protected:
  void WriteMft(const DirectedPath& path, uint16_t mask) {
    using Table = wire::MulticastForwardingTable;
    const uint16_t entry = static_cast<uint16_t>(mlid.value() - 0xC000);
    const uint32_t modifier = Table::Modifier(0, entry / Table::kEntries);
    auto table = client.Get(path, Table::kAttribute, modifier).As<Table>();
    table.port_mask[entry % Table::kEntries] = mask;
    ASSERT_TRUE(client.Set(path, table, modifier).ok());
  }
  std::vector<PortRef> Receivers(Lid to = Lid(0xC003)) {
    mad::OutgoingMad mad = Query(to);
    mad.timeout = Duration::zero();
    EXPECT_TRUE(fabric.Send(client.now, host, mad).ok());
    std::vector<PortRef> receivers;
    for (const Delivery& delivery : client.Wait(client.now)) {
      const auto* mad_in = std::get_if<mad::IncomingMad>(&delivery.what);
      if (mad_in != nullptr && mad_in->agent == mad::Agent::kSubnAdm) {
        receivers.push_back(delivery.host);
      }
    }
    std::sort(receivers.begin(), receivers.end());
    return receivers;
  }
  const Lid mlid{0xC003};
  const DirectedPath spine{1, 5}, far_leaf{1, 5, 3};
};

TEST_F(MulticastTest, FollowsTheTablesToTheMembers) {
  EXPECT_TRUE(Receivers().empty());
  EXPECT_EQ(fabric.stats().lost_no_mft, 1u);
  const PortRef far = PortOf("node0003 mlx5_1", 1), inside = PortOf("su1-rail0-leaf", 0);
  fabric.Attach(far);
  fabric.Attach(inside);
  WriteMft(leaf, 1u << 0 | 1u << 1 | 1u << 2 | 1u << 5);
  ASSERT_EQ(fabric.LinkedPeer(PortOf("spine1", 3)), PortOf("su1-rail1-leaf", 5));
  WriteMft(spine, 1u << 1 | 1u << 3);
  WriteMft(far_leaf, 1u << 3 | 1u << 5);
  std::vector<PortRef> members{peer, far, inside};
  std::sort(members.begin(), members.end());
  EXPECT_EQ(Receivers(), members);  // Not back to the sender, and not back up.
  const MulticastReach reach = fabric.TraceMulticast(host, mlid);
  EXPECT_EQ(reach.ports, members);
  EXPECT_TRUE(reach.twice.empty());
  EXPECT_FALSE(reach.loops);
  // From the far end all others, the client too.
  std::vector<PortRef> others{host, peer, inside};
  std::sort(others.begin(), others.end());
  EXPECT_EQ(fabric.TraceMulticast(far, mlid).ports, others);
  // SMPs are not multicast.
  wire::Smp get;
  get.attribute = wire::AttributeId::kNodeInfo;
  EXPECT_TRUE(client.Exchange(get, mlid).timed_out);
  EXPECT_EQ(fabric.stats().lost_bad_route, 1u);
}

TEST_F(MulticastTest, NeedsActiveLinksAndItsPartition) {
  WriteMft(leaf, 1u << 2);
  EXPECT_EQ(Receivers(), std::vector<PortRef>{peer});
  SetPKeys(neighbour, 0, {0x8001});
  EXPECT_TRUE(Receivers().empty());
  EXPECT_EQ(fabric.stats().lost_p_key, 1u);
  EXPECT_EQ(fabric.TraceMulticast(host, mlid).ports, std::vector<PortRef>{peer});
  EXPECT_TRUE(fabric.TraceMulticast(host, mlid, PKey(0xFFFF)).ports.empty());
  EXPECT_EQ(fabric.TraceMulticast(host, mlid, PKey(0x8001)).ports, std::vector<PortRef>{peer});
  ASSERT_TRUE(
      client.ChangePort(leaf, 2, [](PortInfo& i) { i.port_state = wire::PortState::kDown; }).ok());
  EXPECT_TRUE(Receivers().empty());
  EXPECT_TRUE(fabric.TraceMulticast(host, mlid).ports.empty());
}

TEST_F(MulticastTest, BehindTheTableTheDefaultPortsApply) {
  EXPECT_TRUE(Receivers(Lid(0xD000)).empty());  // MulticastFDBCap is 0x1000.
  auto info = client.Get(leaf, wire::AttributeId::kSwitchInfo).As<wire::SwitchInfo>();
  info.default_multicast_primary_port = 2;
  info.default_multicast_not_primary_port = 1;
  ASSERT_TRUE(client.Set(leaf, info).ok());
  EXPECT_EQ(Receivers(Lid(0xD000)), std::vector<PortRef>{peer});
  EXPECT_TRUE(Receivers().empty());
  EXPECT_EQ(fabric.TraceMulticast(peer, Lid(0xD000)).ports, std::vector<PortRef>{host});
  info.multicast_fdb_top = 0xBFFF;  // Nothing is in the table.
  ASSERT_TRUE(client.Set(leaf, info).ok());
  EXPECT_EQ(Receivers(), std::vector<PortRef>{peer});
}

TEST_F(MulticastTest, FindsPortsThatGetItTwice) {
  // Both cables to the spine, which sends both on to the far leaf.
  const PortRef far = PortOf("node0003 mlx5_1", 1);
  fabric.Attach(far);
  WriteMft(leaf, 1u << 2 | 1u << 5 | 1u << 6);
  WriteMft(spine, 1u << 3);
  WriteMft(far_leaf, 1u << 3);
  std::vector<PortRef> copies{peer, far, far};
  std::sort(copies.begin(), copies.end());
  EXPECT_EQ(Receivers(), copies);
  const MulticastReach reach = fabric.TraceMulticast(host, mlid);
  EXPECT_EQ(reach.twice, std::vector<PortRef>{far});
  EXPECT_FALSE(reach.loops);
}

TEST_F(MulticastTest, ALoopEnds) {
  // Leaf and spine send it round over their two cables, with a copy to the peer each time.
  WriteMft(leaf, 1u << 2 | 1u << 5 | 1u << 6);
  WriteMft(spine, 1u << 1 | 1u << 2);
  const std::vector<PortRef> receivers = Receivers();
  EXPECT_GT(receivers.size(), 1u);
  EXPECT_LT(receivers.size(), 10u);
  EXPECT_GT(fabric.stats().lost_loop, 0u);
  EXPECT_EQ(fabric.next_event(), kNever);
  const MulticastReach reach = fabric.TraceMulticast(host, mlid);
  EXPECT_TRUE(reach.loops);
  EXPECT_EQ(reach.twice, std::vector<PortRef>{peer});
}

// The peer asks, the client answers with payloads under RMPP.
class RmppTest : public RoutedTest {
 protected:
  // A GetTableResp of `records` PathRecords to the request `asked`, each byte its own.
  static mad::OutgoingMad Table(const mad::IncomingMad& asked, size_t records) {
    mad::OutgoingMad answer;
    answer.agent = mad::Agent::kSubnAdm;
    answer.to = asked.from;
    answer.payload.assign(asked.payload.begin(), asked.payload.begin() + wire::kSaDataAt);
    answer.payload[3] = static_cast<uint8_t>(wire::Method::kGetTableResp);
    answer.payload[26] = wire::kRmppActive;
    for (size_t i = 0; i < records * 64; ++i) {
      answer.payload.push_back(static_cast<uint8_t>(i * 31 >> 3));
    }
    return answer;
  }
  // A request of the peer as the client gets it.
  mad::IncomingMad Ask() {
    mad::OutgoingMad query = Query(LidOf("node0001 mlx5_0"));
    query.payload[3] = static_cast<uint8_t>(wire::Method::kGetTable);
    query.timeout = std::chrono::seconds(10);
    EXPECT_TRUE(fabric.Send(client.now, peer, query).ok());
    std::vector<mad::IncomingMad> asked = Arrived(host);
    EXPECT_EQ(asked.size(), 1u);
    return asked.at(0);
  }
  static wire::SaHeader HeaderOf(const mad::IncomingMad& mad) {
    return wire::SaHeader::Decode(
        std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  }
};

TEST_F(RmppTest, CarriesALargeTableWhole) {
  const mad::OutgoingMad answer = Table(Ask(), 20000);
  ASSERT_EQ(answer.payload.size(), 1280056u);
  ASSERT_TRUE(fabric.Send(client.now, host, answer).ok());
  const auto mads = Arrived(peer);
  ASSERT_EQ(mads.size(), 1u);
  EXPECT_EQ(fabric.stats().rmpp_segments, 6400u);  // Of 200 bytes of records each.
  ASSERT_EQ(mads[0].payload.size(), answer.payload.size());
  EXPECT_TRUE(std::equal(answer.payload.begin() + wire::kSaDataAt, answer.payload.end(),
                         mads[0].payload.begin() + wire::kSaDataAt));
  const wire::SaHeader header = HeaderOf(mads[0]);
  EXPECT_EQ(header.mad.method, wire::Method::kGetTableResp);
  EXPECT_EQ(header.rmpp.version, 1);
  EXPECT_EQ(header.rmpp.type, wire::RmppType::kData);
  EXPECT_EQ(header.rmpp.flags, wire::kRmppActive | wire::kRmppFirst);
  EXPECT_EQ(header.rmpp.data1, 1u);
  EXPECT_EQ(header.rmpp.data2, 6400u * 20 + 1280000);
  EXPECT_TRUE(client.Wait(client.now + std::chrono::minutes(1)).empty());  // All is settled.
}

TEST_F(RmppTest, OneSegmentCarriesItsLength) {
  for (size_t records : {0u, 1u, 3u}) {
    ASSERT_TRUE(fabric.Send(client.now, host, Table(Ask(), records)).ok());
    const auto mads = Arrived(peer);
    ASSERT_EQ(mads.size(), 1u);
    EXPECT_EQ(mads[0].payload.size(), wire::kMadBytes);
    EXPECT_EQ(HeaderOf(mads[0]).rmpp.flags, wire::kRmppActive | wire::kRmppFirst | wire::kRmppLast);
    EXPECT_EQ(HeaderOf(mads[0]).rmpp.data2, 20 + records * 64);
  }
  EXPECT_EQ(fabric.stats().rmpp_segments, 3u);
}

TEST_F(RmppTest, TakesMoreThanOneMadUnderRmppOnly) {
  mad::OutgoingMad plain = Query(LidOf("node0002 mlx5_0"), 0, 3000);
  EXPECT_EQ(fabric.Send(client.now, host, plain).code(), absl::StatusCode::kInvalidArgument);
  plain.agent = mad::Agent::kPerf;
  plain.payload[1] = 4;
  plain.payload[26] = wire::kRmppActive;
  EXPECT_EQ(fabric.Send(client.now, host, plain).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RmppTest, APayloadThatIsLostIsReportedToItsSender) {
  const mad::IncomingMad asked = Ask();
  ASSERT_TRUE(
      client.ChangePort(leaf, 2, [](PortInfo& i) { i.port_state = wire::PortState::kDown; }).ok());
  client.Wait(client.now);
  const Instant sent = client.now;
  ASSERT_TRUE(fabric.Send(sent, host, Table(asked, 100)).ok());
  std::vector<mad::IncomingMad> reports;
  for (const Delivery& delivery : client.Wait(sent + std::chrono::seconds(5))) {
    const auto* mad = std::get_if<mad::IncomingMad>(&delivery.what);
    if (mad == nullptr || mad->agent != mad::Agent::kSubnAdm || delivery.host != host) continue;
    EXPECT_EQ(delivery.at, sent + std::chrono::seconds(2));
    reports.push_back(*mad);
  }
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].kind, Kind::kTimedOut);
  EXPECT_EQ(HeaderOf(reports[0]).mad.transaction_id, HeaderOf(asked).mad.transaction_id);
  EXPECT_EQ(reports[0].payload.size(), wire::kMadBytes);
  EXPECT_EQ(fabric.stats().unacknowledged, 1u);
}

TEST_F(RmppTest, OneLostSegmentLosesThePayload) {
  fabric.SetLinkLoss(peer, 0.005);
  const mad::IncomingMad small = Ask();
  ASSERT_TRUE(fabric.Send(client.now, host, Table(small, 1)).ok());
  EXPECT_EQ(Arrived(peer).size(), 1u);
  // All of 6400 segments pass with a probability of 1e-14.
  const mad::IncomingMad large = Ask();
  ASSERT_TRUE(fabric.Send(client.now, host, Table(large, 20000)).ok());
  EXPECT_TRUE(Arrived(peer).empty());
  EXPECT_EQ(fabric.stats().lost_by_fault, 1u);
}

// Of 6,400 segments one in ten is lost; the kernel sends them again.
TEST_F(RmppTest, RetriesCarryAPayloadOverALossyLink) {
  mad::OutgoingMad answer = Table(Ask(), 20000);
  answer.timeout = std::chrono::milliseconds(250);
  answer.retries = 20;
  fabric.SetLinkLoss(peer, 0.1);
  ASSERT_TRUE(fabric.Send(client.now, host, answer).ok());
  EXPECT_EQ(Arrived(peer).size(), 1u);
  client.Wait(client.now + std::chrono::minutes(1));
  EXPECT_EQ(fabric.stats().unacknowledged, 0u);
}

// The kernel waits for more, which does not come (docs/SA.md).
TEST_F(RmppTest, APayloadWithATimeoutComesBackAlsoWhereItHasArrived) {
  mad::OutgoingMad answer = Table(Ask(), 100);
  answer.timeout = std::chrono::milliseconds(250);
  ASSERT_TRUE(fabric.Send(client.now, host, answer).ok());
  ASSERT_EQ(Arrived(peer).size(), 1u);
  std::vector<mad::IncomingMad> back;
  for (const Delivery& delivery : client.Wait(client.now + std::chrono::seconds(5)))
    if (const auto* mad = std::get_if<mad::IncomingMad>(&delivery.what); delivery.host == host)
      back.push_back(*mad);
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].kind, Kind::kTimedOut);
  EXPECT_EQ(fabric.stats().unacknowledged, 0u);
}

TEST_F(RmppTest, AnEndedProgramReceivesNothing) {
  const mad::IncomingMad asked = Ask();
  ASSERT_TRUE(
      client.ChangePort(leaf, 2, [](PortInfo& i) { i.port_state = wire::PortState::kDown; }).ok());
  ASSERT_TRUE(fabric.Send(client.now, host, Table(asked, 100)).ok());
  fabric.Detach(client.now, host);
  fabric.Attach(host);
  client.Wait(client.now + std::chrono::seconds(5));
  EXPECT_EQ(fabric.stats().unacknowledged, 0u);
}

}  // namespace
}  // namespace fabricd::sim
