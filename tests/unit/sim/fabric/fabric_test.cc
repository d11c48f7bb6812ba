// SPDX-License-Identifier: Apache-2.0
// The way of MADs through a SimFabric, its links, traps and faults.
#include "sim/fabric/sim_fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/status.h"
#include "fabric/snapshot_builder.h"
#include "mad/wire/notice.h"
#include "sim/fabric/topology.h"
#include "tests/unit/sim/test_client.h"

namespace fabricd::sim {
namespace {

using ::testing::HasSubstr;
using wire::AttributeId;
using wire::DirectedPath;
using wire::PortInfo;
using wire::PortState;
using Kind = mad::IncomingMad::Kind;

std::vector<mad::IncomingMad> Mads(const std::vector<Delivery>& deliveries) {
  std::vector<mad::IncomingMad> mads;
  for (const Delivery& delivery : deliveries) {
    if (const auto* mad = std::get_if<mad::IncomingMad>(&delivery.what)) mads.push_back(*mad);
  }
  return mads;
}

std::vector<mad::LocalPortEvent::Kind> Events(const std::vector<Delivery>& deliveries) {
  std::vector<mad::LocalPortEvent::Kind> kinds;
  for (const Delivery& delivery : deliveries) {
    if (const auto* event = std::get_if<mad::LocalPortEvent>(&delivery.what))
      kinds.push_back(event->kind);
  }
  return kinds;
}

class FabricTest : public ::testing::Test {
 protected:
  explicit FabricTest(SimOptions options = {}) : fabric(*topology, options) {
    client.now = Instant(std::chrono::seconds(1));
  }
  PortRef PortOf(const std::string& node, uint8_t port) {
    return {fabric.FindNode(node).value(), PortNum(port)};
  }
  const SimDevice& Device(const std::string& node) {
    return *fabric.device(fabric.FindNode(node).value());
  }
  mad::OutgoingMad NodeInfoGet(const DirectedPath& path, uint32_t tid) {
    wire::Smp smp;
    smp.attribute = AttributeId::kNodeInfo;
    smp.tid = TransactionId(tid);
    smp.path = path;
    return EncodeSmp(smp, kTestTimeout);
  }

  // Leaf ports 1-4: hosts, 5-8: two cables to each of the two spines.
  std::shared_ptr<const fabric::FabricSnapshot> topology =
      *Generate("superpod:sus=1,hosts=4,rails=2,radix=8");
  SimFabric fabric;
  PortRef host = fabric.DefaultHostPort();
  TestClient client{fabric, host};
  const DirectedPath leaf{1};
};

TEST_F(FabricTest, SitsOnTheFirstHostByNaturalOrder) {
  EXPECT_EQ(Device("node0001 mlx5_0").guid(), fabric.device(host.node)->guid());
  EXPECT_EQ(fabric.FindHostPort("node0003 mlx5_1/1").value(), PortOf("node0003 mlx5_1", 1));
  EXPECT_EQ(fabric.FindHostPort("su1-rail0-leaf").value(), PortOf("su1-rail0-leaf", 0));
  EXPECT_EQ(fabric.FindHostPort(fmt::format("{}", Device("node0002 mlx5_0").guid())).value(),
            PortOf("node0002 mlx5_0", 1));
  EXPECT_EQ(fabric.FindHostPort("node0003 mlx5_1/2").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(fabric.FindHostPort("nobody").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(FabricTest, WalksDirectedRoutesHopByHop) {
  // host → leaf 1 → spine → leaf 2 → its host 3.
  const Answer answer = client.Get({1, 5, 3, 3}, AttributeId::kNodeDescription);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.As<wire::NodeDescription>().text, "node0003 mlx5_1");
  EXPECT_TRUE(answer.smp.returning);
  EXPECT_EQ(answer.smp.hop_pointer, 0);
  EXPECT_EQ(answer.smp.return_path[1], 1);  // Into leaf 1 from the host.
  EXPECT_EQ(answer.smp.return_path[2], 1);  // Into the spine by its first port.
  EXPECT_EQ(answer.smp.return_path[3], 5);
  EXPECT_EQ(answer.smp.return_path[4], 1);
  EXPECT_TRUE(client.Get({}, AttributeId::kNodeInfo).ok());
}

TEST_F(FabricTest, LosesMadsWithInvalidRoutes) {
  EXPECT_TRUE(client.Get({1, 9}, AttributeId::kNodeInfo).timed_out);     // No such port.
  EXPECT_TRUE(client.Get({1, 0}, AttributeId::kNodeInfo).timed_out);     // Port 0 is no way on.
  EXPECT_TRUE(client.Get({1, 2, 1}, AttributeId::kNodeInfo).timed_out);  // A CA does not forward.
  EXPECT_TRUE(client.Get({2}, AttributeId::kNodeInfo).timed_out);        // Not the client's port.
  EXPECT_EQ(fabric.stats().timed_out, 4u);
  EXPECT_EQ(fabric.stats().lost_bad_route, 3u);
  EXPECT_EQ(fabric.stats().lost_link_down, 1u);
}

TEST_F(FabricTest, TimesOutExactlyWhenAsked) {
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail0-leaf", 2)).ok());
  const Instant sent = client.now;
  ASSERT_TRUE(fabric.Send(sent, host, NodeInfoGet({1, 2}, 7)).ok());
  std::vector<Delivery> out;
  fabric.Advance(sent + kTestTimeout - Duration(1), out);
  EXPECT_TRUE(Mads(out).empty());
  EXPECT_EQ(fabric.next_event(), sent + kTestTimeout);
  fabric.Advance(sent + kTestTimeout, out);
  const auto mads = Mads(out);
  ASSERT_EQ(mads.size(), 1u);
  EXPECT_EQ(mads[0].kind, Kind::kTimedOut);
  EXPECT_EQ(DecodeSmp(mads[0].payload).tid, TransactionId(7));
  EXPECT_EQ(DecodeSmp(mads[0].payload).return_path[1], 0);  // The request as it was sent.
}

TEST_F(FabricTest, BehavesAsTheKernelDoes) {
  const Instant now = client.now;
  ASSERT_TRUE(fabric.Send(now, host, NodeInfoGet({1, 9}, 7)).ok());
  EXPECT_EQ(fabric.Send(now, host, NodeInfoGet({1}, 7)).code(), absl::StatusCode::kInvalidArgument);
  // Without a time-out nothing waits for the answer: it is dropped.
  mad::OutgoingMad careless = NodeInfoGet({1}, 8);
  careless.timeout = Duration::zero();
  ASSERT_TRUE(fabric.Send(now, host, careless).ok());
  EXPECT_EQ(fabric.stats().unmatched_responses, 1u);
  mad::OutgoingMad wrong_agent = NodeInfoGet({1}, 9);
  wrong_agent.agent = mad::Agent::kSubnAdm;
  EXPECT_EQ(fabric.Send(now, host, wrong_agent).code(), absl::StatusCode::kInvalidArgument);
  mad::OutgoingMad stub = NodeInfoGet({1}, 10);
  stub.payload.resize(24);
  EXPECT_EQ(fabric.Send(now, host, stub).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fabric.Send(now, PortOf("node0002 mlx5_0", 1), NodeInfoGet({1}, 11)).code(),
            absl::StatusCode::kFailedPrecondition);
  mad::OutgoingMad old_version = NodeInfoGet({1}, 12);
  old_version.payload[0] = 9;
  EXPECT_EQ(DecodeSmp(fabric.Exchange(now, host, old_version).back().payload).status,
            wire::kStatusBadVersion);
}

TEST_F(FabricTest, DiscoveryFindsTheTopology) {
  const Discovered found = Discover(client);
  size_t links = 0;
  topology->ForEachNode([&](const fabric::Node& node) {
    ASSERT_TRUE(found.nodes.contains(node.guid())) << node.description;
    const Discovered::Node& seen = found.nodes.at(node.guid());
    for (size_t number = 1; number < node.ports.size(); ++number) {
      const PortRef peer = node.ports[number].peer;
      if (peer.IsNone()) continue;
      ++links;
      ASSERT_TRUE(seen.links.contains(static_cast<uint8_t>(number))) << node.description << number;
      EXPECT_EQ(seen.links.at(static_cast<uint8_t>(number)),
                std::pair(topology->node(peer.node)->guid(), peer.port.value()));
    }
  });
  EXPECT_EQ(found.nodes.size(), topology->node_count());
  EXPECT_EQ(links, 2u * (8 + 8));
}

TEST_F(FabricTest, AProgramMaySitOnASwitch) {
  TestClient inside(fabric, PortOf("su1-rail0-leaf", 0));
  EXPECT_EQ(inside.Get({}, AttributeId::kNodeInfo).As<wire::NodeInfo>().local_port, PortNum(0));
  EXPECT_EQ(inside.Get({2}, AttributeId::kNodeDescription).As<wire::NodeDescription>().text,
            "node0002 mlx5_0");
  TinySm sm(inside);
  EXPECT_EQ(sm.found.nodes.size(), topology->node_count());
  ASSERT_TRUE(sm.BringUp());
  EXPECT_EQ(
      fabric.TraceData(PortOf("node0004 mlx5_1", 1), sm.lid.at(Device("su1-rail0-leaf").guid())),
      PortOf("su1-rail0-leaf", 0));
}

TEST_F(FabricTest, RoutesByTheProgrammedTables) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  for (Guid from : sm.found.order) {
    const bool is_switch = sm.found.nodes.at(from).info.node_type == wire::NodeType::kSwitch;
    const PortRef source{topology->FindIndex(from), PortNum(is_switch ? 0 : 1)};
    for (Guid to : sm.found.order) {
      EXPECT_EQ(fabric.TraceData(source, sm.lid.at(to)).node, topology->FindIndex(to));
    }
  }
  // And an SMP over the tables: LID routed.
  wire::Smp get;
  get.attribute = AttributeId::kNodeDescription;
  const Lid far = sm.lid.at(Device("node0004 mlx5_1").guid());
  const Answer answer = client.Exchange(get, far);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.As<wire::NodeDescription>().text, "node0004 mlx5_1");
  EXPECT_TRUE(client.Exchange(get, Lid(999)).timed_out);
  EXPECT_EQ(fabric.stats().lost_no_lft, 1u);
}

TEST_F(FabricTest, CarriesDataOnlyOverActiveLinks) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  const PortRef other = PortOf("node0002 mlx5_0", 1);
  TestClient peer(fabric, other);
  mad::OutgoingMad query;
  query.agent = mad::Agent::kSubnAdm;
  query.to.lid = sm.lid.at(Device("node0001 mlx5_0").guid());
  query.to.qpn = 1;
  query.timeout = kTestTimeout;
  query.payload.resize(wire::kMadBytes);
  wire::MadHeader header;
  header.management_class = wire::ManagementClass::kSubnAdm;
  header.class_version = 2;
  header.method = wire::Method::kGet;
  const auto encode = [&](uint64_t tid) {
    header.transaction_id = tid;
    header.Encode(std::span<uint8_t, wire::kMadBytes>(query.payload.data(), wire::kMadBytes));
  };
  encode(1);
  ASSERT_TRUE(fabric.Send(client.now, other, query).ok());
  auto mads = Mads(client.Wait(client.now));
  ASSERT_EQ(mads.size(), 1u);
  EXPECT_EQ(mads[0].payload.size(), wire::kMadBytes);
  EXPECT_EQ(mads[0].from.lid, sm.lid.at(Device("node0002 mlx5_0").guid()));
  EXPECT_EQ(mads[0].from.qpn, 1u);
  // After the link retrains it is INIT: SMPs pass, data does not.
  ASSERT_TRUE(
      client.ChangePort({1, 2}, 1, [](PortInfo& i) { i.port_state = PortState::kDown; }).ok());
  encode(2);
  ASSERT_TRUE(fabric.Send(client.now, other, query).ok());
  for (const mad::IncomingMad& mad : Mads(client.Wait(client.now))) {
    EXPECT_NE(mad.agent, mad::Agent::kSubnAdm);
  }
  EXPECT_EQ(fabric.stats().lost_not_active, 1u);
  EXPECT_TRUE(client.Get({1, 2}, AttributeId::kNodeInfo).ok());
}

TEST_F(FabricTest, ResponsesToGmpsArriveAtTheAgentOfTheirClass) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  const std::pair<mad::Agent, wire::ManagementClass> kAgents[] = {
      {mad::Agent::kPerf, wire::ManagementClass::kPerf},
      {mad::Agent::kVendor, wire::ManagementClass::kVendor}};
  for (const auto& [agent, management_class] : kAgents) {
    mad::OutgoingMad get;
    get.agent = agent;
    get.to.lid = sm.lid.at(Device("node0002 mlx5_0").guid());
    get.to.qpn = 1;
    get.to.qkey = 0x80010000;
    get.timeout = kTestTimeout;
    get.payload.resize(wire::kMadBytes);
    wire::MadHeader header;
    header.management_class = management_class;
    header.method = wire::Method::kGet;
    header.attribute = wire::AttributeId::kClassPortInfo;
    header.transaction_id = 7;
    header.Encode(std::span<uint8_t, wire::kMadBytes>(get.payload.data(), wire::kMadBytes));
    EXPECT_EQ(fabric.Exchange(client.now, host, get).back().agent, agent);
    get.agent = mad::Agent::kSubnAdm;
    EXPECT_EQ(fabric.Send(client.now, host, get).code(), absl::StatusCode::kInvalidArgument);
    client.now += kTestTimeout;
  }
}

// Trap 128 of a pulled cable: from both switches, LID routed, repeated until repressed.
TEST_F(FabricTest, ReportsALostLinkUntilRepressed) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  ASSERT_TRUE(client.ChangePort(leaf, 0, [](PortInfo& info) { info.subnet_timeout = 15; }).ok());
  client.Wait(client.now);
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail0-leaf", 4)).ok());
  auto mads = Mads(client.Wait(client.now));
  ASSERT_EQ(mads.size(), 1u);
  const wire::Smp trap = DecodeSmp(mads[0].payload);
  const Lid leaf_lid = sm.lid.at(Device("su1-rail0-leaf").guid());
  EXPECT_EQ(trap.method, wire::Method::kTrap);
  EXPECT_EQ(mads[0].agent, mad::Agent::kSmpLid);
  EXPECT_EQ(mads[0].from.lid, leaf_lid);
  const auto notice = wire::Notice::Decode(trap.data);
  EXPECT_EQ(notice.trap, wire::kTrapLinkStateChange);
  EXPECT_EQ(notice.issuer_lid, leaf_lid);
  EXPECT_EQ(notice.subject_lid(), leaf_lid);
  EXPECT_TRUE(client.Get(leaf, AttributeId::kSwitchInfo).As<wire::SwitchInfo>().port_state_change);
  EXPECT_EQ(client.PortInfoOf(leaf, 4).port_state, PortState::kDown);

  // Repeated after 4.096 us * 2^15 = 134 ms.
  mads = Mads(client.Wait(client.now + std::chrono::milliseconds(150)));
  ASSERT_EQ(mads.size(), 1u);
  EXPECT_EQ(DecodeSmp(mads[0].payload).tid, trap.tid);
  wire::Smp repress = trap;
  repress.method = wire::Method::kTrapRepress;
  ASSERT_TRUE(fabric.Send(client.now, host, EncodeSmp(repress, Duration::zero(), leaf_lid)).ok());
  EXPECT_TRUE(Mads(client.Wait(client.now + std::chrono::seconds(60))).empty());
}

TEST_F(FabricTest, ReportsAnEventThatHappenedWhileATrapWasPending) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  client.Wait(client.now);
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail0-leaf", 4)).ok());
  auto mads = Mads(client.Wait(client.now));
  ASSERT_EQ(mads.size(), 1u);
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail0-leaf", 3)).ok());
  EXPECT_TRUE(Mads(client.Wait(client.now)).empty());
  wire::Smp repress = DecodeSmp(mads[0].payload);
  repress.method = wire::Method::kTrapRepress;
  ASSERT_TRUE(
      fabric.Send(client.now, host, EncodeSmp(repress, Duration::zero(), mads[0].from.lid)).ok());
  mads = Mads(client.Wait(client.now));
  ASSERT_EQ(mads.size(), 1u);
  EXPECT_NE(DecodeSmp(mads[0].payload).tid, repress.tid);
}

TEST_F(FabricTest, EndsUnrepressedTrapsAfterElevenAttempts) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail0-leaf", 4)).ok());
  EXPECT_EQ(Mads(client.Wait(client.now + std::chrono::minutes(10))).size(), 11u);
  EXPECT_EQ(fabric.next_event(), kNever);
}

TEST_F(FabricTest, RoutesTrapsByTheTablesThatRemain) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  client.Wait(client.now);
  // The far leaf's traps go to the host by one of its two spines; both cables of that spine are
  // pulled.
  const uint8_t egress =
      Device("su1-rail1-leaf").LftPort(sm.lid.at(Device("node0001 mlx5_0").guid()));
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail1-leaf", egress)).ok());
  std::vector<Lid> senders;
  for (const auto& mad : Mads(client.Wait(client.now))) senders.push_back(mad.from.lid);
  EXPECT_EQ(senders, std::vector<Lid>{sm.lid.at(Device("spine1").guid())});
}

TEST_F(FabricTest, LinkStateFollowsTheCable) {
  EXPECT_EQ(fabric.Link(client.now, PortOf("su1-rail0-leaf", 2)).code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail0-leaf", 2)).ok());
  EXPECT_EQ(fabric.Unlink(client.now, PortOf("node0002 mlx5_0", 1)).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Device("node0002 mlx5_0").port(PortNum(1)).info.port_state, PortState::kDown);
  EXPECT_TRUE(client.Get({1, 2}, AttributeId::kNodeInfo).timed_out);
  ASSERT_TRUE(fabric.Link(client.now, PortOf("node0002 mlx5_0", 1)).ok());
  EXPECT_EQ(client.PortInfoOf(leaf, 2).port_state, PortState::kInit);
  EXPECT_TRUE(client.Get({1, 2}, AttributeId::kNodeInfo).ok());
  EXPECT_EQ(fabric.Unlink(client.now, PortOf("su1-rail0-leaf", 0)).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(FabricTest, MovesACable) {
  const PortRef old_socket = PortOf("su1-rail0-leaf", 2), adapter = PortOf("node0002 mlx5_0", 1);
  const PortRef free = PortOf("spine1", 8);
  ASSERT_EQ(fabric.LinkedPeer(adapter), old_socket);
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail1-leaf", 8)).ok());
  ASSERT_TRUE(fabric.Unlink(client.now, adapter).ok());
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("spine1", 1)).ok());
  EXPECT_EQ(fabric.Connect(client.now, adapter, PortOf("spine1", 2)).code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(fabric.Connect(client.now, adapter, PortOf("spine1", 1)).ok());
  EXPECT_EQ(fabric.LinkedPeer(PortOf("spine1", 1)), adapter);
  EXPECT_EQ(fabric.LinkedPeer(old_socket), PortRef());
  EXPECT_EQ(fabric.Link(client.now, old_socket).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(fabric.LinkedPeer(free).IsNone());
  size_t pulled = 0;
  for (const SimCable& cable : fabric.ListCables()) pulled += cable.plugged ? 0 : 1;
  EXPECT_EQ(pulled, 1u);
}

TEST_F(FabricTest, RebootLosesWrittenState) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  const NodeIndex spine = fabric.FindNode("spine1").value();
  ASSERT_NE(fabric.device(spine)->lft_blocks_stored(), 0u);
  ASSERT_TRUE(fabric.Reboot(client.now, spine).ok());
  EXPECT_EQ(fabric.Reboot(client.now, spine).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(client.Get({1, 5}, AttributeId::kNodeInfo).timed_out);
  client.Wait(client.now + std::chrono::seconds(1));
  EXPECT_TRUE(client.Get({1, 5}, AttributeId::kNodeInfo).ok());
  EXPECT_EQ(client.PortInfoOf({1, 5}, 0).lid, Lid());
  EXPECT_EQ(fabric.device(spine)->lft_blocks_stored(), 0u);
  EXPECT_EQ(client.PortInfoOf(leaf, 5).port_state, PortState::kInit);
  EXPECT_EQ(client.PortInfoOf(leaf, 7).port_state, PortState::kActive);  // The other spine's.
}

TEST_F(FabricTest, ANodeThatIsOffIsUnreachableUntilItIsOn) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  client.Wait(client.now);
  const NodeIndex spine = fabric.FindNode("spine1").value();
  EXPECT_EQ(fabric.PowerOn(client.now, spine).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(fabric.PowerOff(client.now, spine).ok());
  EXPECT_EQ(fabric.PowerOff(client.now, spine).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(fabric.Reboot(client.now, spine).code(), absl::StatusCode::kFailedPrecondition);
  size_t from_neighbours = 0;
  for (const auto& mad : Mads(client.Wait(client.now + std::chrono::hours(1)))) {
    ++from_neighbours;
    EXPECT_NE(mad.from.lid, sm.lid.at(Device("spine1").guid()));  // It says no more.
  }
  EXPECT_GT(from_neighbours, 0u);
  EXPECT_TRUE(client.Get({1, 5}, AttributeId::kNodeInfo).timed_out);
  EXPECT_EQ(client.PortInfoOf(leaf, 5).port_state, PortState::kDown);
  size_t off = 0;
  for (const SimNode& node : fabric.ListNodes()) off += node.running ? 0 : 1;
  EXPECT_EQ(off, 1u);
  // A cable that is plugged meanwhile trains when both ends have power.
  const PortRef socket = PortOf("su1-rail0-leaf", 6);
  ASSERT_TRUE(fabric.Unlink(client.now, socket).ok());
  ASSERT_TRUE(fabric.Link(client.now, socket).ok());
  EXPECT_TRUE(fabric.LinkedPeer(socket).IsNone());
  ASSERT_TRUE(fabric.PowerOn(client.now, spine).ok());
  EXPECT_FALSE(fabric.LinkedPeer(socket).IsNone());
  EXPECT_TRUE(client.Get({1, 5}, AttributeId::kNodeInfo).ok());
  EXPECT_EQ(client.PortInfoOf({1, 5}, 0).lid, Lid());
  EXPECT_EQ(fabric.device(spine)->lft_blocks_stored(), 0u);
}

// Traps 129-131: each port sends its own, and each is repressed by itself.
TEST_F(FabricTest, ReportsTheThresholdsOfAPort) {
  EXPECT_EQ(fabric.RaisePortTrap(client.now, PortOf("su1-rail0-leaf", 4), 129).code(),
            absl::StatusCode::kFailedPrecondition);  // No subnet manager yet.
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  client.Wait(client.now);
  ASSERT_TRUE(fabric.RaisePortTrap(client.now, PortOf("su1-rail0-leaf", 4), 129).ok());
  ASSERT_TRUE(fabric.RaisePortTrap(client.now, PortOf("su1-rail0-leaf", 3), 129).ok());
  ASSERT_TRUE(fabric.RaisePortTrap(client.now, PortOf("node0003 mlx5_1", 1), 131).ok());
  EXPECT_EQ(fabric.RaisePortTrap(client.now, PortOf("spine1", 1), 128).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fabric.RaisePortTrap(client.now, PortOf("spine1", 9), 130).code(),
            absl::StatusCode::kNotFound);
  const auto mads = Mads(client.Wait(client.now));
  ASSERT_EQ(mads.size(), 3u);
  const Lid leaf_lid = sm.lid.at(Device("su1-rail0-leaf").guid());
  const Lid host_lid = sm.lid.at(Device("node0003 mlx5_1").guid());
  const auto expect = [&](size_t at, uint16_t trap, Lid lid, uint8_t port, uint32_t producer) {
    const auto notice = wire::Notice::Decode(DecodeSmp(mads[at].payload).data);
    EXPECT_EQ(notice.trap, trap);
    EXPECT_EQ(notice.type, 1);
    EXPECT_EQ(notice.producer, producer);
    EXPECT_EQ(notice.issuer_lid, lid);
    EXPECT_EQ(notice.subject_lid(), lid);
    EXPECT_EQ(notice.subject_port(), PortNum(port));
  };
  expect(0, 129, leaf_lid, 4, 2);
  expect(1, 129, leaf_lid, 3, 2);
  expect(2, 131, host_lid, 1, 1);
  // Repressed by its transaction: the other two go on.
  wire::Smp repress = DecodeSmp(mads[0].payload);
  repress.method = wire::Method::kTrapRepress;
  ASSERT_TRUE(fabric.Send(client.now, host, EncodeSmp(repress, Duration::zero(), leaf_lid)).ok());
  const auto repeats = Mads(client.Wait(client.now + std::chrono::milliseconds(100)));
  ASSERT_EQ(repeats.size(), 2u);
  for (const auto& mad : repeats) EXPECT_NE(DecodeSmp(mad.payload).tid, repress.tid);
}

// Trap 256 names the requester and its request. It is sent again after the repress for another
// attempt.
TEST_F(FabricTest, ReportsABadMKey) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  ASSERT_TRUE(client
                  .ChangePort({1, 2}, 1,
                              [](PortInfo& info) {
                                info.m_key = MKey(0x1234);
                                info.m_key_protect_bits = 1;
                              })
                  .ok());
  client.Wait(client.now);
  const Lid lid = sm.lid.at(Device("node0002 mlx5_0").guid());
  client.m_key = MKey(7);
  EXPECT_TRUE(client.Set({1, 2}, wire::PKeyTable(), 2).timed_out);
  wire::Smp routed;
  routed.method = wire::Method::kSet;
  routed.attribute = AttributeId::kGuidInfo;
  EXPECT_TRUE(client.Exchange(routed, lid).timed_out);
  client.m_key = MKey();
  ASSERT_FALSE(client.unsolicited.empty());
  const wire::Smp trap = DecodeSmp(client.unsolicited.front().payload);
  auto notice = wire::Notice::Decode(trap.data);
  EXPECT_EQ(notice.trap, wire::kTrapBadMKey);
  EXPECT_EQ(notice.type, 2);
  EXPECT_EQ(notice.issuer_lid, lid);
  const auto& details = notice.details;
  EXPECT_EQ(details[2] << 8 | details[3], 0xFFFF);  // Directed: it has no source LID.
  EXPECT_EQ(details[4] << 8 | details[5], 0xFFFF);
  EXPECT_EQ(details[6], 0x02);
  EXPECT_EQ(details[8] << 8 | details[9], 0x0016);
  EXPECT_EQ(details[13], 2);  // AttributeModifier
  EXPECT_EQ(details[21], 7);  // M_Key
  EXPECT_EQ(details[23], 0x80 | 2);
  EXPECT_EQ(details[25], 1);  // Return path: into the leaf by port 1, into the node by port 1.
  EXPECT_EQ(details[26], 1);

  wire::Smp repress = trap;
  repress.method = wire::Method::kTrapRepress;
  repress.m_key = MKey(0x1234);
  client.Wait(client.now);
  ASSERT_TRUE(fabric.Send(client.now, host, EncodeSmp(repress, Duration::zero(), lid)).ok());
  const auto later = Mads(client.Wait(client.now));
  ASSERT_EQ(later.size(), 1u);
  notice = wire::Notice::Decode(DecodeSmp(later[0].payload).data);
  EXPECT_EQ(notice.details[2] << 8 | notice.details[3],
            sm.lid.at(Device("node0001 mlx5_0").guid()).value());
  EXPECT_EQ(notice.details[9], 0x14);
  EXPECT_EQ(notice.details[23], 0);
  EXPECT_EQ(Device("node0002 mlx5_0").port(PortNum(1)).info.m_key_violations, 2);
}

TEST_F(FabricTest, LocalPortEvents) {
  using Event = mad::LocalPortEvent::Kind;
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  EXPECT_EQ(Events(client.Wait(client.now)),
            (std::vector<Event>{Event::kLidChange, Event::kSmChange, Event::kPortActive}));
  ASSERT_TRUE(client.ChangePort({}, 1, [](PortInfo& info) { info.client_reregister = true; })
                  .As<PortInfo>()
                  .client_reregister);
  EXPECT_EQ(Events(client.Wait(client.now)), std::vector<Event>{Event::kClientReregister});
  ASSERT_TRUE(fabric.Unlink(client.now, host).ok());
  EXPECT_EQ(Events(client.Wait(client.now)), std::vector<Event>{Event::kPortDown});
}

TEST_F(FabricTest, HandsSmInfoToTheProgramOnAnSmPort) {
  TinySm sm(client);
  ASSERT_TRUE(sm.BringUp());
  const PortRef other = PortOf("node0003 mlx5_1", 1);
  fabric.Attach(other);
  fabric.SetIsSm(client.now, other, true);
  const auto traps = Mads(client.Wait(client.now));
  ASSERT_EQ(traps.size(), 1u);  // Trap 144
  const auto notice = wire::Notice::Decode(DecodeSmp(traps[0].payload).data);
  EXPECT_EQ(notice.trap, wire::kTrapCapabilityMaskChanged);
  EXPECT_EQ(notice.subject_lid(), sm.lid.at(Device("node0003 mlx5_1").guid()));

  const DirectedPath path{1, 5, 3, 3};
  EXPECT_NE(client.PortInfoOf(path, 1).capability_mask & wire::kCapIsSm, 0u);
  wire::Smp get;
  get.attribute = AttributeId::kSmInfo;
  get.tid = TransactionId(4711);
  get.path = path;
  ASSERT_TRUE(fabric.Send(client.now, host, EncodeSmp(get, kTestTimeout)).ok());
  std::vector<Delivery> out;
  fabric.Advance(client.now, out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].host, other);
  wire::Smp answer = DecodeSmp(std::get<mad::IncomingMad>(out[0].what).payload);
  EXPECT_EQ(answer.hop_pointer, path.hops() + 1);
  answer.method = wire::Method::kGetResp;
  answer.returning = true;
  wire::SmInfo{.guid = Guid(5), .priority = 3, .state = wire::SmState::kStandby}.Encode(
      answer.data);
  ASSERT_TRUE(fabric.Send(client.now, other, EncodeSmp(answer, Duration::zero())).ok());
  out.clear();
  fabric.Advance(client.now, out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].host, host);
  EXPECT_EQ(wire::SmInfo::Decode(DecodeSmp(std::get<mad::IncomingMad>(out[0].what).payload).data)
                .priority,
            3);
}

TEST_F(FabricTest, PlaysAThirdPartySm) {
  const PortRef other = PortOf("node0002 mlx5_0", 1);
  const wire::SmInfo master{.guid = Guid(5), .priority = 7, .state = wire::SmState::kMaster};
  fabric.SetScriptedSm(client.now, other, master);
  const Answer answer = client.Get({1, 2}, AttributeId::kSmInfo);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.As<wire::SmInfo>(), master);
  fabric.SetScriptedSm(client.now, other, std::nullopt);
  EXPECT_EQ(client.Get({1, 2}, AttributeId::kSmInfo).status,
            wire::kStatusUnsupportedMethodAttribute);
}

class LatencyTest : public FabricTest {
 protected:
  LatencyTest()
      : FabricTest({.link_latency = std::chrono::microseconds(1),
                    .training_time = std::chrono::milliseconds(10)}) {}
};

TEST_F(LatencyTest, EveryHopTakesItsTime) {
  const Instant sent = client.now;
  ASSERT_TRUE(fabric.Send(sent, host, NodeInfoGet({1, 5, 3, 3}, 7)).ok());
  std::vector<Delivery> out;
  fabric.Advance(sent + std::chrono::nanoseconds(7999), out);
  EXPECT_TRUE(out.empty());
  fabric.Advance(sent + std::chrono::microseconds(8), out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].at, sent + std::chrono::microseconds(8));
  EXPECT_TRUE(Mads(client.Wait(sent + std::chrono::seconds(1))).empty());  // No time-out later.
}

TEST_F(LatencyTest, AMadInFlightIsLostWithItsLink) {
  ASSERT_TRUE(fabric.Send(client.now, host, NodeInfoGet({1, 5, 3, 3}, 7)).ok());
  client.now += std::chrono::nanoseconds(2500);
  ASSERT_TRUE(fabric.Unlink(client.now, PortOf("su1-rail1-leaf", 3)).ok());
  const auto mads = Mads(client.Wait(client.now + kTestTimeout));
  ASSERT_EQ(mads.size(), 1u);
  EXPECT_EQ(mads[0].kind, Kind::kTimedOut);
}

TEST_F(LatencyTest, LinksTrainForAWhile) {
  const PortRef socket = PortOf("su1-rail0-leaf", 2);
  ASSERT_TRUE(fabric.Unlink(client.now, socket).ok());
  ASSERT_TRUE(fabric.Link(client.now, socket).ok());
  EXPECT_EQ(Device("su1-rail0-leaf").port(PortNum(2)).info.port_physical_state,
            wire::PortPhysicalState::kTraining);
  client.Wait(client.now + std::chrono::milliseconds(5));
  // Pulled again while it trains: that training must not bring it up.
  ASSERT_TRUE(fabric.Unlink(client.now, socket).ok());
  client.Wait(client.now + std::chrono::milliseconds(8));
  EXPECT_TRUE(fabric.LinkedPeer(socket).IsNone());
  ASSERT_TRUE(fabric.Link(client.now, socket).ok());
  client.Wait(client.now + std::chrono::milliseconds(10));
  EXPECT_EQ(fabric.LinkedPeer(socket), PortOf("node0002 mlx5_0", 1));
}

TEST(SimFabricNames, AreRefusedWhenAmbiguous) {
  const auto read = MakeTopology("superpod:hosts=2,rails=1,radix=8");
  ASSERT_TRUE(read.ok());
  fabric::SnapshotBuilder builder(**read);
  (*read)->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch()) builder.SetDescription(node.index, "MT4129 ConnectX7");
  });
  SimFabric fabric(*builder.Build());
  const auto found = fabric.FindNode("MT4129 ConnectX7");
  EXPECT_EQ(found.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(found.status()), HasSubstr("2 nodes are called"));
}

size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(SimFabricScale, The11664PortTreeIsDiscoveredAndStaysSmall) {
  const auto topology = Generate("fat-tree:radix=36,levels=3");
  ASSERT_TRUE(topology.ok());
  [[maybe_unused]] const size_t before = ResidentBytes();
  SimFabric fabric(**topology);
  TestClient client(fabric, fabric.DefaultHostPort());
  const Discovered found = Discover(client);
  EXPECT_EQ(found.nodes.size(), 11664u + 1620u);
  // All tables as a subnet manager would fill them: 208 blocks for 13,284 LIDs.
  wire::LinearForwardingTable table;
  table.port.fill(1);
  for (const auto& [guid, node] : found.nodes) {
    if (node.info.node_type != wire::NodeType::kSwitch) continue;
    for (uint32_t block = 0; block < 208; ++block) {
      ASSERT_TRUE(client.Set(node.path, table, block).ok());
    }
  }
  EXPECT_EQ(fabric.stats().sets(), 336960u);
#ifndef __SANITIZE_ADDRESS__
  EXPECT_LT(ResidentBytes() - before, 300u << 20);
#endif
}

// Real fabrics and designs of others: all nodes connected to the host come up under the simple SM.
TEST(SimFabricTopologies, ComeUpUnderASimpleSm) {
  const std::filesystem::path folder = FABRICD_SOURCE_DIR "/../shared/topologies";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared topologies here";
  size_t came_up = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".net") == std::string::npos &&
        name.find(".ibnetdiscover") == std::string::npos) {
      continue;
    }
    SCOPED_TRACE(name);
    const auto topology = MakeTopology(entry.path().string());
    ASSERT_TRUE(topology.ok()) << topology.status();
    SimFabric fabric(**topology);
    TestClient client(fabric, fabric.DefaultHostPort());
    TinySm sm(client);
    EXPECT_TRUE(sm.BringUp());
    for (const auto& [guid, node] : sm.found.nodes) {
      for (const auto& [port, peer] : node.links) {
        const SimDevice& device = *fabric.device((*topology)->FindIndex(guid));
        EXPECT_EQ(device.port(PortNum(port)).info.port_state, PortState::kActive);
      }
    }
    came_up += sm.found.nodes.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(came_up, 10u);
}

}  // namespace
}  // namespace fabricd::sim
