// SPDX-License-Identifier: Apache-2.0
// The way of MADs through a SimFabric.
#include "sim/fabric/sim_fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "fabric/snapshot_builder.h"
#include "mad/wire/notice.h"
#include "sim/fabric/topology.h"
#include "tests/unit/sim/fabric/fabric_fixture.h"

namespace fabricd::sim {
namespace {

using ::testing::HasSubstr;
using wire::AttributeId;
using wire::DirectedPath;
using wire::PortInfo;
using wire::PortState;
using Kind = mad::IncomingMad::Kind;

std::vector<mad::LocalPortEvent::Kind> Events(const std::vector<Delivery>& deliveries) {
  std::vector<mad::LocalPortEvent::Kind> kinds;
  for (const Delivery& delivery : deliveries) {
    if (const auto* event = std::get_if<mad::LocalPortEvent>(&delivery.what))
      kinds.push_back(event->kind);
  }
  return kinds;
}

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

}  // namespace
}  // namespace fabricd::sim
