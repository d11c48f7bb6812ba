// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/paths.h"

#include "tests/unit/sweep/observe/observe_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using wire::DirectedPath;

class PathsTest : public ObserveTest {
 protected:
  // A second cable between the switches, at ports 20.
  PathsTest() {
    Plug(SwitchPort(0, 20), SwitchPort(1, 20));
    Discover();
  }
  PathChanges Refresh() { return RefreshPaths(builder_, local_, devices_); }
  std::vector<std::string> Moved(const PathChanges& changes) const {
    std::vector<std::string> texts;
    for (const auto& [node, from, to] : changes.moved)
      texts.push_back(fmt::format("{:#x} {} {}", builder_.node(node)->guid().value(),
                                  from.ToString(), to.ToString()));
    return texts;
  }
};

TEST_F(PathsTest, RoutesThatWorkAreLeftAlone) {
  const DirectedPath before = devices_.PathTo(Known(0x103));
  const PathChanges changes = Refresh();
  EXPECT_THAT(Moved(changes), IsEmpty());
  EXPECT_THAT(changes.unreached, IsEmpty());
  EXPECT_EQ(devices_.PathTo(Known(0x103)), before);
}

TEST_F(PathsTest, NodesBehindALostLinkAreReachedByAnother) {
  const bool by_20 = devices_.PathTo(Known(0x11)) == DirectedPath{1, 20};
  builder_.Unlink(KnownPort(0x10, by_20 ? 20 : 36));
  const PathChanges changes = Refresh();
  const uint8_t now = by_20 ? 36 : 20;
  EXPECT_EQ(devices_.PathTo(Known(0x11)), (DirectedPath{1, now}));
  EXPECT_EQ(devices_.PathTo(Known(0x101)), (DirectedPath{1, now, 1}));
  EXPECT_EQ(changes.moved.size(), 3u) << "the switch and both its hosts";
  EXPECT_THAT(changes.unreached, IsEmpty());
}

TEST_F(PathsTest, NodesThatNoLinkLeadsToAreNamed) {
  builder_.Unlink(KnownPort(0x10, 20));
  builder_.Unlink(KnownPort(0x10, 36));
  builder_.Unlink(KnownPort(0x10, 2));
  EXPECT_THAT(GuidsOf(Refresh().unreached), ElementsAre(0x11u, 0x101u, 0x102u, 0x103u));
}

TEST_F(PathsTest, WithoutItsOwnNodeNothingChanges) {
  builder_.RemoveNode(local_.node);
  EXPECT_THAT(Refresh().unreached, IsEmpty());
}

TEST_F(PathsTest, ANodeWithoutARouteGetsOneAndHasNotMoved) {
  devices_.Remove(Known(0x103));
  const PathChanges changes = Refresh();
  EXPECT_TRUE(devices_.Has(Known(0x103)));
  EXPECT_THAT(Moved(changes), IsEmpty());
}

TEST_F(PathsTest, EachPortOfAHostKeepsItsOwnRoute) {
  wire::NodeInfo info;
  info.node_type = wire::NodeType::kChannelAdapter;
  info.num_ports = 2;
  info.node_guid = Guid(0x200);
  info.port_guid = Guid(0x2001);
  info.local_port = PortNum(1);
  const NodeIndex dual = builder_.PutNode(info);
  const PortRef first{dual, PortNum(1)}, second{dual, PortNum(2)};
  for (PortRef port : {first, second, KnownPort(0x10, 30), KnownPort(0x11, 30)})
    builder_.SetPortInfo(port, SmallFabric::Up());
  builder_.Link(first, KnownPort(0x10, 30));
  builder_.Link(second, KnownPort(0x11, 30));
  Refresh();
  EXPECT_EQ(devices_.PathTo(dual), (DirectedPath{1, 30}));
  ASSERT_NE(devices_.FurtherPathTo(second), nullptr);
  const DirectedPath far = *devices_.FurtherPathTo(second);
  builder_.Unlink(KnownPort(0x10, far[1]));
  const PathChanges changes = Refresh();
  EXPECT_NE(*devices_.FurtherPathTo(second), far);
  EXPECT_THAT(Moved(changes), testing::Contains(testing::StartsWith("0x200 ")));
}

TEST_F(PathsTest, TheLinksOfARouteAreThoseThatAreActiveBySwitchPort) {
  const NodeIndex host = Known(0x103);
  devices_.SetPath(host, {1, 36, 2});
  EXPECT_THAT(LinksOnPath(builder_, local_, devices_, host),
              ElementsAre(KnownPort(0x10, 36), KnownPort(0x11, 2)));
  wire::PortInfo info = SmallFabric::Up();
  builder_.SetPortInfo(KnownPort(0x10, 36), info);
  EXPECT_THAT(LinksOnPath(builder_, local_, devices_, host), ElementsAre(KnownPort(0x11, 2)));
  devices_.SetPath(host, {1, 77, 2});
  EXPECT_THAT(LinksOnPath(builder_, local_, devices_, host), IsEmpty()) << "there is no such port";
  devices_.SetPath(host, {1, 25, 2});
  EXPECT_THAT(LinksOnPath(builder_, local_, devices_, host), IsEmpty()) << "nothing is behind it";
}

}  // namespace
}  // namespace fabricd::sweep
