// SPDX-License-Identifier: Apache-2.0
// The TableWatch: what it must find in the tables of a fabric that carries traffic, and each of the
// rules by which a pair may lose its way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checkers/table_watch.h"
#include "sim/simulation/simulation.h"
#include "tests/unit/sim/test_client.h"

namespace fabricd::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TableWatchTest : public ::testing::Test {
 protected:
  static constexpr uint8_t kNowhere = wire::LinearForwardingTable::kNoPath;

  void SetUp() override {
    fabric_.SetObserver(&watch_);
    const size_t manager = simulation_.Add({});
    simulation_.Start(manager);
    ASSERT_TRUE(simulation_.RunUntilUp(manager));
    simulation_.RunFor(seconds(1));
    ASSERT_THAT(watch_.findings(), IsEmpty());
    ASSERT_GT(watch_.statistics().sets, 0u);
    simulation_.Kill(manager);
    client_.now = simulation_.now();
    found_ = Discover(client_);
    leaf_ = SwitchOf("node0001 mlx5_0");
    far_leaf_ = SwitchOf("node0001 mlx5_1");
    lid_ = LidOf("node0001 mlx5_0");
    spine_ = fabric_.LinkedPeer(PortTo(far_leaf_, lid_)).node;
  }

  NodeIndex SwitchOf(const char* host) {
    return fabric_.LinkedPeer(*fabric_.FindHostPort(host)).node;
  }
  Lid LidOf(const char* host) {
    return fabric_.device(fabric_.FindHostPort(host)->node)->port(PortNum(1)).info.lid;
  }
  PortRef PortTo(NodeIndex node, Lid lid) {
    return {node, PortNum(fabric_.device(node)->LftPort(lid))};
  }
  void SetEntry(NodeIndex node, Lid lid, uint8_t port) {
    found_ = Discover(client_);  // Some way that is left.
    const Discovered::Node& to = found_.nodes.at(fabric_.device(node)->guid());
    const uint32_t block = lid.value() / 64u;
    auto table = client_.Get(to.path, wire::AttributeId::kLinearForwardingTable, block)
                     .As<wire::LinearForwardingTable>();
    table.port[lid.value() % 64u] = port;
    ASSERT_TRUE(client_.Set(to.path, table, block).ok());
  }
  void Unlink(PortRef port) { ASSERT_TRUE(fabric_.Unlink(client_.now, port).ok()); }
  // A port of `node` to another switch than `used` leads to.
  uint8_t OtherUplink(NodeIndex node, uint8_t used) {
    const NodeIndex there = fabric_.device(node)->port(PortNum(used)).cable.node;
    for (uint8_t port = 1; port <= fabric_.device(node)->last_port().value(); ++port) {
      const PortRef peer = fabric_.LinkedPeer({node, PortNum(port)});
      if (!peer.IsNone() && peer.node != there && fabric_.device(peer.node)->IsSwitch())
        return port;
    }
    return kNowhere;
  }

  Simulation simulation_{**Generate("superpod:sus=1,hosts=4,rails=2")};
  SimFabric& fabric_ = simulation_.fabric();
  TableWatch watch_{fabric_, {.notice = milliseconds(500)}};
  TestClient client_{fabric_, *fabric_.FindHostPort("node0002 mlx5_0")};
  Discovered found_;
  NodeIndex leaf_, far_leaf_, spine_;  // leaf_ has lid_; far_leaf_ sends it by spine_.
  Lid lid_;
};

TEST_F(TableWatchTest, APairThatIsCutBySetIsFound) {
  SetEntry(far_leaf_, lid_, kNowhere);
  EXPECT_THAT(watch_.findings(),
              ElementsAre(ContainsRegex("^transient cut: .* -> LID [0-9]+ and 0 more after Set "
                                        "LinearForwardingTable 0 of .*, at ")));
  EXPECT_EQ(watch_.statistics().cuts, 1u);
}

TEST_F(TableWatchTest, AllPairsOverACutEntryAreCut) {
  SetEntry(leaf_, lid_, kNowhere);
  EXPECT_GE(watch_.statistics().cuts, 3u);
}

TEST_F(TableWatchTest, AForwardingLoopIsAlsoACreditLoop) {
  SetEntry(spine_, lid_, fabric_.LinkedPeer(PortTo(far_leaf_, lid_)).port.value());
  EXPECT_THAT(watch_.findings(), Contains(ContainsRegex("^transient loop: LID ")));
  EXPECT_THAT(watch_.findings(), Contains(ContainsRegex("^transient cut: ")));
  EXPECT_THAT(watch_.findings(), Contains(ContainsRegex("^transient credit loop: .*-> back ")));
}

TEST_F(TableWatchTest, AForwardingLoopOfAnUnassignedLidIsFound) {
  const Lid nobody(200);
  const PortRef up = PortTo(far_leaf_, lid_);
  // Far above LinearFDBTop: it drops what it is given.
  SetEntry(far_leaf_, nobody, up.port.value());
  SetEntry(spine_, nobody, fabric_.LinkedPeer(up).port.value());
  EXPECT_THAT(watch_.findings(), IsEmpty());
  for (NodeIndex node : {far_leaf_, spine_}) {
    const auto& path = found_.nodes.at(fabric_.device(node)->guid()).path;
    auto info = client_.Get(path, wire::AttributeId::kSwitchInfo).As<wire::SwitchInfo>();
    info.linear_fdb_top = 255;
    ASSERT_TRUE(client_.Set(path, info).ok());
  }
  EXPECT_THAT(watch_.findings(), Contains(ContainsRegex("^transient loop: LID 200 at ")));
}

TEST_F(TableWatchTest, ASetCannotCutAPairThatAFaultHasCut) {
  const PortRef up = PortTo(far_leaf_, lid_);
  Unlink(up);
  SetEntry(far_leaf_, lid_, kNowhere);
  EXPECT_THAT(watch_.findings(), IsEmpty());
  EXPECT_GT(watch_.statistics().faults_cuts, 0u);
}

TEST_F(TableWatchTest, APairThatIsServedAgainMayNotBeCut) {
  const PortRef up = PortTo(far_leaf_, lid_);
  const uint8_t other = OtherUplink(far_leaf_, up.port.value());
  Unlink(up);
  SetEntry(far_leaf_, lid_, other);
  EXPECT_THAT(watch_.findings(), IsEmpty());
  client_.now += seconds(1);
  SetEntry(far_leaf_, lid_, up.port.value());
  EXPECT_THAT(watch_.findings(), Contains(ContainsRegex("^transient cut: ")));
}

TEST_F(TableWatchTest, APathOverALinkThatHasJustDiedIsChargedToTheFault) {
  const PortRef up = PortTo(far_leaf_, lid_);
  const uint8_t other = OtherUplink(far_leaf_, up.port.value());
  Unlink({far_leaf_, PortNum(other)});
  client_.now += milliseconds(400);
  SetEntry(far_leaf_, lid_, other);
  EXPECT_THAT(watch_.findings(), IsEmpty());
  SetEntry(far_leaf_, lid_, up.port.value());
  client_.now += milliseconds(200);
  SetEntry(far_leaf_, lid_, other);
  EXPECT_THAT(watch_.findings(), Contains(ContainsRegex("^transient cut: ")));
}

TEST_F(TableWatchTest, EntriesOfALidWithoutAPathMayBeRemoved) {
  Unlink(*fabric_.FindHostPort("node0001 mlx5_0"));
  for (NodeIndex node : {far_leaf_, spine_, leaf_}) SetEntry(node, lid_, kNowhere);
  EXPECT_THAT(watch_.findings(), IsEmpty());
}

TEST_F(TableWatchTest, AnUnwantedEndPortMayBeCutUntilItIsWanted) {
  const PortRef host = *fabric_.FindHostPort("node0001 mlx5_0");
  const uint8_t port = PortTo(leaf_, lid_).port.value();
  watch_.SetUnwanted(host, true);
  SetEntry(leaf_, lid_, kNowhere);
  EXPECT_THAT(watch_.findings(), IsEmpty());
  watch_.SetUnwanted(host, false);
  SetEntry(leaf_, lid_, port);
  EXPECT_THAT(watch_.findings(), IsEmpty());
  SetEntry(leaf_, lid_, kNowhere);
  EXPECT_THAT(watch_.findings(), Contains(ContainsRegex("^transient cut: ")));
}

TEST_F(TableWatchTest, ARebootOfASwitchCutsItsPairs) {
  const uint8_t up = PortTo(far_leaf_, lid_).port.value();
  ASSERT_TRUE(fabric_.Reboot(client_.now, spine_).ok());
  client_.Wait(client_.now + seconds(3));
  watch_.Look();
  EXPECT_THAT(watch_.findings(), IsEmpty());
  EXPECT_GT(watch_.statistics().faults_cuts, 0u);
  const uint64_t cuts = watch_.statistics().faults_cuts;
  // It has no table, and its links wait for a manager: to lead there is a cut, and not the
  // reboot's.
  SetEntry(far_leaf_, lid_, OtherUplink(far_leaf_, up));
  EXPECT_THAT(watch_.findings(), IsEmpty());
  SetEntry(far_leaf_, lid_, up);
  EXPECT_THAT(watch_.findings(), Contains(ContainsRegex("^transient cut: ")));
  EXPECT_EQ(watch_.statistics().faults_cuts, cuts);
}

}  // namespace
}  // namespace fabricd::sim
