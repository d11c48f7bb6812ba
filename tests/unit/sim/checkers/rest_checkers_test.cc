// SPDX-License-Identifier: Apache-2.0
// The checkers of a fabric at rest: a subnet that fabricd has brought up passes, and each register
// that is then written wrong is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checkers/checkers.h"
#include "sim/checkers/end_ports.h"
#include "sim/checkers/key_checker.h"
#include "sim/simulation/simulation.h"
#include "tests/unit/sim/test_client.h"

namespace fabricd::sim {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using wire::AttributeId;
using wire::DirectedPath;

class RestCheckers : public ::testing::Test {
 protected:
  void SetUp() override {
    const size_t manager = simulation_.Add({});
    simulation_.Start(manager);
    ASSERT_TRUE(simulation_.RunUntilUp(manager));
    simulation_.RunFor(std::chrono::seconds(1));
    view_ = simulation_.manager(manager).view;
    client_.now = simulation_.now();
    found_ = Discover(client_);
  }
  std::vector<std::string> Tables(size_t limit = 10) const {
    return TablesUnlikePlan(fabric_, *view_->snapshot, *view_->plan, limit);
  }
  PortRef client_host() const { return *fabric_.FindHostPort("node0002 mlx5_0"); }
  Lid LidOf(const std::string& host) {
    return fabric_.device(*fabric_.FindNode(host))->port(PortNum(1)).info.lid;
  }
  // A switch, and the first port of it that leads to another one.
  const Discovered::Node& SwitchWithUplink(uint8_t& port) {
    for (const Guid guid : found_.order) {
      const Discovered::Node& node = found_.nodes.at(guid);
      if (node.info.node_type != wire::NodeType::kSwitch) continue;
      for (const auto& [num, peer] : node.links) {
        port = num;
        if (found_.nodes.at(peer.first).info.node_type == wire::NodeType::kSwitch) return node;
      }
    }
    ADD_FAILURE() << "no such switch";
    return found_.nodes.begin()->second;
  }
  void SetEntry(const Discovered::Node& node, Lid lid, uint8_t port) {
    const uint32_t block = lid.value() / 64u;
    auto table = client_.Get(node.path, AttributeId::kLinearForwardingTable, block)
                     .As<wire::LinearForwardingTable>();
    table.port[lid.value() % 64u] = port;
    ASSERT_TRUE(client_.Set(node.path, table, block).ok());
  }

  Simulation simulation_{**Generate("superpod:sus=1,hosts=4,rails=2")};
  SimFabric& fabric_ = simulation_.fabric();
  TestClient client_{fabric_, *fabric_.FindHostPort("node0002 mlx5_0")};
  std::shared_ptr<const sweep::FabricView> view_;
  Discovered found_;
};

TEST_F(RestCheckers, AcceptASubnetThatFabricdBroughtUp) {
  EXPECT_THAT(PortsNotActive(fabric_), IsEmpty());
  EXPECT_THAT(BrokenPairs(fabric_), IsEmpty());
  EXPECT_THAT(Loops(fabric_), IsEmpty());
  EXPECT_THAT(LidFaults(fabric_), IsEmpty());
  EXPECT_THAT(PKeyFaults(fabric_), IsEmpty());
  EXPECT_THAT(Tables(), IsEmpty());
}

TEST_F(RestCheckers, ALostEntryDiffersFromThePlanAndBreaksPairs) {
  uint8_t uplink = 0;
  const Discovered::Node& node = SwitchWithUplink(uplink);
  const Lid lid = LidOf("node0002 mlx5_0");
  SetEntry(node, lid, 255);
  EXPECT_THAT(Tables(), ElementsAre(HasSubstr(fmt::format("LID {} leaves by 255", lid))));
  EXPECT_THAT(BrokenPairs(fabric_), Contains(HasSubstr(fmt::format("-> LID {} of ", lid))));
  EXPECT_THAT(BrokenPairs(fabric_, 100), Each(HasSubstr(fmt::format("-> LID {} of ", lid))));
  EXPECT_THAT(Loops(fabric_), IsEmpty());
}

TEST_F(RestCheckers, AForwardingLoopOfAnUnassignedLidIsFound) {
  uint8_t uplink = 0;
  const Discovered::Node& node = SwitchWithUplink(uplink);
  const auto& [peer_guid, peer_port] = node.links.at(uplink);
  const Discovered::Node& peer = found_.nodes.at(peer_guid);
  const Lid nobodys(static_cast<uint16_t>(view_->lids->top().value() + 1));
  for (const Discovered::Node* each : {&node, &peer}) {
    auto info = client_.Get(each->path, AttributeId::kSwitchInfo).As<wire::SwitchInfo>();
    info.linear_fdb_top = nobodys.value();
    ASSERT_TRUE(client_.Set(each->path, info).ok());
  }
  SetEntry(node, nobodys, uplink);
  EXPECT_THAT(Loops(fabric_), IsEmpty());
  SetEntry(peer, nobodys, peer_port);
  EXPECT_THAT(Loops(fabric_), ElementsAre(HasSubstr(fmt::format("LID {} at ", nobodys))));
  EXPECT_THAT(BrokenPairs(fabric_), IsEmpty());
}

TEST_F(RestCheckers, APortThatIsNotActiveIsNamedAndCarriesNothing) {
  ASSERT_TRUE(fabric_.Unlink(client_.now, client_host()).ok());
  ASSERT_TRUE(fabric_.Link(client_.now, client_host()).ok());
  client_.Wait(client_.now + std::chrono::seconds(1));
  EXPECT_THAT(PortsNotActive(fabric_), SizeIs(2));  // Both ends.
  EXPECT_THAT(PortsNotActive(fabric_), Contains("node0002 mlx5_0/1"));
  EXPECT_THAT(BrokenPairs(fabric_, 1000), Contains(ContainsRegex("^node0002 mlx5_0/1 -> ")));
}

TEST_F(RestCheckers, PortsThatNoSmReachesAreNotChecked) {
  EXPECT_THAT(PortsBeyond(fabric_, client_host()), IsEmpty());
  const NodeIndex leaf = *fabric_.FindNode("su1-rail0-leaf");
  ASSERT_EQ(fabric_.LinkedPeer(client_host()).node, leaf);
  for (uint8_t num = 1; num <= fabric_.device(leaf)->last_port().value(); ++num) {
    const PortRef peer = fabric_.LinkedPeer({leaf, PortNum(num)});
    if (peer.IsNone() || !fabric_.device(peer.node)->IsSwitch()) continue;
    ASSERT_TRUE(fabric_.Unlink(client_.now, peer).ok());
  }
  const PortRef far = *fabric_.FindHostPort("node0002 mlx5_1");
  const auto beyond = PortsBeyond(fabric_, client_host());
  EXPECT_TRUE(beyond.contains(far));
  EXPECT_TRUE(beyond.contains({fabric_.LinkedPeer(far).node, PortNum(0)}));
  EXPECT_FALSE(beyond.contains(client_host()));
  EXPECT_FALSE(beyond.contains({leaf, PortNum(0)}));
  ASSERT_TRUE(fabric_.Unlink(client_.now, far).ok());
  ASSERT_TRUE(fabric_.Link(client_.now, far).ok());
  client_.Wait(client_.now + std::chrono::seconds(1));
  EXPECT_THAT(PortsNotActive(fabric_), SizeIs(2));
  EXPECT_THAT(PortsNotActive(fabric_, 10, beyond), IsEmpty());
}

TEST_F(RestCheckers, DataTakesAnActiveEgressAndAnArmedIngress) {
  const PortRef peer = fabric_.LinkedPeer(client_host());
  const auto relink = [&] {
    ASSERT_TRUE(fabric_.Unlink(client_.now, client_host()).ok());
    ASSERT_TRUE(fabric_.Link(client_.now, client_host()).ok());
    client_.Wait(client_.now + std::chrono::seconds(1));
  };
  const auto set = [&](const DirectedPath& path, PortNum port, wire::PortState state) {
    ASSERT_TRUE(
        client_
            .ChangePort(path, port.value(), [=](wire::PortInfo& info) { info.port_state = state; })
            .ok());
  };
  const auto to_host = Contains(HasSubstr(fmt::format("-> LID {} of", LidOf("node0002 mlx5_0"))));
  relink();
  set({1}, peer.port, wire::PortState::kArmed);
  set({}, PortNum(1), wire::PortState::kArmed);
  EXPECT_THAT(BrokenPairs(fabric_, 1000), to_host);  // By an egress that is ARMED.
  set({1}, peer.port, wire::PortState::kActive);
  EXPECT_THAT(BrokenPairs(fabric_, 1000), Not(to_host));
  relink();
  set({1}, peer.port, wire::PortState::kArmed);
  set({1}, peer.port, wire::PortState::kActive);
  EXPECT_THAT(BrokenPairs(fabric_, 1000), to_host);  // Into an ingress that is INIT.
}

TEST_F(RestCheckers, APulledCableBreaksItsPairs) {
  ASSERT_TRUE(fabric_.Unlink(client_.now, client_host()).ok());
  EXPECT_THAT(PortsNotActive(fabric_), IsEmpty());
  EXPECT_THAT(BrokenPairs(fabric_), IsEmpty());
}

TEST_F(RestCheckers, ALidThatIsHeldTwiceOrNotAtAll) {
  const auto give = [this](const DirectedPath& path, Lid lid) {
    return client_.ChangePort(path, 1, [lid](wire::PortInfo& info) { info.lid = lid; }).ok();
  };
  ASSERT_TRUE(give(DirectedPath(), LidOf("node0003 mlx5_0")));
  EXPECT_THAT(LidFaults(fabric_), ElementsAre(ContainsRegex("^LID [0-9]+ of .* is held twice$")));
  client_.Wait(client_.now);
  ASSERT_TRUE(fabric_.Reboot(client_.now, *fabric_.FindNode("node0002 mlx5_0")).ok());
  client_.Wait(client_.now + std::chrono::seconds(10));
  EXPECT_THAT(LidFaults(fabric_), ElementsAre("node0002 mlx5_0/1 has no LID"));
}

TEST_F(RestCheckers, APKeyTableWithoutTheDefaultKeyOrWithAnother) {
  auto table = client_.Get(DirectedPath(), AttributeId::kPKeyTable).As<wire::PKeyTable>();
  table.keys[1] = PKey(0x8005);
  ASSERT_TRUE(client_.Set(DirectedPath(), table).ok());
  EXPECT_THAT(PKeyFaults(fabric_),
              ElementsAre("node0002 mlx5_0/1 holds [0x8005 0xffff] instead of [0xffff]"));
  table.keys[0] = PKey(0x7FFF);  // A limited member.
  table.keys[1] = PKey(0);
  ASSERT_TRUE(client_.Set(DirectedPath(), table).ok());
  EXPECT_THAT(PKeyFaults(fabric_),
              ElementsAre("node0002 mlx5_0/1 holds [0x7fff] instead of [0xffff]"));
}

TEST_F(RestCheckers, NameNoMoreFindingsThanRequested) {
  for (const auto& [guid, node] : found_.nodes) {
    if (node.info.node_type != wire::NodeType::kSwitch) continue;
    for (uint16_t lid = 1; lid <= view_->lids->top().value(); ++lid) SetEntry(node, Lid(lid), 255);
  }
  EXPECT_THAT(BrokenPairs(fabric_, 3), SizeIs(3));
  EXPECT_THAT(Tables(2), SizeIs(2));
}

}  // namespace
}  // namespace fabricd::sim
