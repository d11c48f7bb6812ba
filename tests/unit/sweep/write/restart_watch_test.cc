// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/restart_watch.h"

#include "tests/unit/sweep/write/writer_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class RestartWatchTest : public WriterTest {
 protected:
  RestartWatchTest() {
    EditPort(SwitchPort(0, 0), [](wire::PortInfo& info) { info.lid = Lid(1); });
    Begin();
  }
  RestartWatch& watch() { return run_->restarts; }
  const NodeIndex node_ = fabric_.switches[0];
};

TEST_F(RestartWatchTest, AnUnexpectedChangeHasPortZeroRead) {
  watch().Check(node_, /*expected=*/false);
  EXPECT_THAT(Sent(), ElementsAre("Get PortInfo 0x0 of s0"));
  EXPECT_THAT(record().rereads().Nodes(), ElementsAre(node_));
  watch().OnRead({node_, PortNum(0)});
  EXPECT_THAT(record().rereads().Nodes(), IsEmpty());
}

TEST_F(RestartWatchTest, AnUnexpectedChangeAfterTheLidWasSetIsARestart) {
  applied().Lft(node_).Confirm(0, {});
  applied().Mft(node_).Confirm({0, 0}, {});
  applied().NoteRefusal(SwitchPort(0, 0), 5);
  watch().NoteLidSet(node_);
  watch().Check(node_, /*expected=*/false);
  EXPECT_THAT(Sent(), IsEmpty());
  EXPECT_TRUE(applied().IsUntouched(node_));
  EXPECT_FALSE(applied().Mft(node_).Knows({0, 0}));
  EXPECT_FALSE(applied().IsKnownRefusal(SwitchPort(0, 0), 5));
  EXPECT_THAT(record().undone(), UnorderedElementsAre(node_));
  EXPECT_THAT(record().rereads().Nodes(), ElementsAre(node_));
}

TEST_F(RestartWatchTest, AnExpectedChangeProvesNothingAndHasPortZeroRead) {
  watch().NoteLidSet(node_);
  watch().Check(node_, /*expected=*/true);
  EXPECT_THAT(Sent(), ElementsAre("Get PortInfo 0x0 of s0"));
  EXPECT_THAT(record().undone(), IsEmpty());
}

TEST_F(RestartWatchTest, ASwitchWithoutALidOrThatIsGoneIsNotLookedAt) {
  watch().Check(fabric_.switches[1], false);
  fabric_.builder.RemoveNode(node_);
  watch().Check(node_, false);
  EXPECT_THAT(Sent(), IsEmpty());
  EXPECT_EQ(record().failures(), 0u);
}

TEST_F(RestartWatchTest, EachPortOfAHostIsReadByItsOwnRoute) {
  const PortRef port = fabric_.Host(1);
  wire::PortInfo info = fabric_.builder.node(port.node)->port(port.port).info;
  info.capability_mask |= wire::kCapIsExtendedSpeeds;
  fabric_.builder.SetPortInfo(port, info);
  devices_.SetPortPath(port, {1, 2});
  const auto request = ReadOfPort(devices_, *fabric_.builder.node(port.node), port.port);
  EXPECT_EQ(request.attribute, wire::AttributeId::kPortInfo);
  EXPECT_EQ(request.method, wire::Method::kGet);
  EXPECT_EQ(request.modifier, 1 | wire::kSmSupportsExtendedSpeeds);
  EXPECT_EQ(request.path, (wire::DirectedPath{1, 2}));
}

}  // namespace
}  // namespace fabricd::sweep
