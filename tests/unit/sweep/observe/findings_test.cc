// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/findings.h"

#include "tests/unit/sweep/observe/observe_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FindingsTest : public ObserveTest {
 protected:
  FindingsTest() { Discover(); }
  std::vector<uint64_t> Repath() {
    std::vector<NodeIndex> moved;
    found_.Repath(local_, [&](NodeIndex node, const wire::DirectedPath&,
                              const wire::DirectedPath&) { moved.push_back(node); });
    return GuidsOf(moved);
  }
  Findings found_{ground_};
};

TEST_F(FindingsTest, ALostLinkTouchesBothEndsAndItsFarSwitchMayNotKnowIt) {
  EXPECT_TRUE(found_.Lose(KnownPort(0x10, 36), KnownPort(0x11, 36)));
  EXPECT_TRUE(found_.lost_something);
  EXPECT_TRUE(NodeOf(0x11)->port(PortNum(36)).peer.IsNone());
  EXPECT_TRUE(NodeOf(0x11)->port(PortNum(36)).known);
  const SurveyChanges changes = found_.Take();
  EXPECT_THAT(GuidsOf(changes.touched), ElementsAre(0x10u, 0x11u));
  EXPECT_EQ(changes.about, KnownPort(0x10, 36));
  EXPECT_EQ(changes.peer, KnownPort(0x11, 36));
  EXPECT_FALSE(found_.lost_something) << "it was taken";
  EXPECT_TRUE(found_.Take().empty());
}

TEST_F(FindingsTest, AHostsEndIsUnknownFromThenOn) {
  EXPECT_FALSE(found_.Lose(KnownPort(0x10, 2), KnownPort(0x102, 1)));
  EXPECT_FALSE(NodeOf(0x102)->port(PortNum(1)).known);
}

TEST_F(FindingsTest, ALinkThatIsKnownToBeLostIsNothingNew) {
  EXPECT_FALSE(found_.Lose(KnownPort(0x10, 2), PortRef{}));
  EXPECT_FALSE(found_.Lose(KnownPort(0x10, 2), {NodeIndex(99), PortNum(1)}));
  EXPECT_FALSE(found_.lost_something);
  EXPECT_TRUE(found_.changes.empty());
}

TEST_F(FindingsTest, TheFirstLinkThatIsNamedStays) {
  found_.Lose(KnownPort(0x10, 2), KnownPort(0x102, 1));
  found_.Lose(KnownPort(0x10, 36), KnownPort(0x11, 36));
  EXPECT_EQ(found_.changes.about, KnownPort(0x10, 2));
}

TEST_F(FindingsTest, NodesThatNothingLeadsToAreRemoved) {
  found_.Lose(KnownPort(0x10, 36), KnownPort(0x11, 36));
  const NodeIndex leaf = Known(0x11), host = Known(0x103);
  EXPECT_THAT(Repath(), IsEmpty());
  EXPECT_EQ(builder_.node(leaf), nullptr);
  EXPECT_FALSE(devices_.Has(host));
  EXPECT_THAT(found_.Take().gone, ElementsAre(leaf, Known(0x101), host));
  EXPECT_THAT(Repath(), IsEmpty()) << "nothing has changed since";
}

TEST_F(FindingsTest, NodesWithAnotherRouteAreNamedAndTheirRequestsGoThere) {
  Plug(SwitchPort(0, 20), SwitchPort(1, 20));
  Discover();
  const uint8_t by = devices_.PathTo(Known(0x11))[1];
  engine_.Submit(devices_.Get(Known(0x11), wire::AttributeId::kSwitchInfo, 0));
  found_.Lose(KnownPort(0x10, by), KnownPort(0x11, by));
  EXPECT_THAT(Repath(), ElementsAre(0x11u, 0x101u, 0x103u));
  wire_.Step([](const mad::Completion&) {});
  ASSERT_EQ(wire_.sent.size(), 1u);
  EXPECT_EQ(wire_.sent[0].smp.path, devices_.PathTo(Known(0x11)));
  EXPECT_NE((*wire_.sent[0].smp.path)[1], by);
}

}  // namespace
}  // namespace fabricd::sweep
