// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/link_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LinkChangesTest : public testing::Test {
 protected:
  LinkChangesTest() {
    for (PortRef port : {host_, leaf_, trunk_[0], trunk_[1]})
      SetState(port, wire::PortState::kActive);
    before_ = fabric_.builder.Build();
  }
  void SetState(PortRef port, wire::PortState state) {
    wire::PortInfo info = SmallFabric::Up();
    info.port_state = state;
    fabric_.builder.SetPortInfo(port, info);
  }
  std::vector<LinkChange> Changes() { return FindLinkChanges(*before_, *fabric_.builder.Build()); }

  SmallFabric fabric_{2};
  const PortRef host_ = fabric_.Host(0), leaf_{fabric_.switches[0], PortNum(1)};
  const PortRef trunk_[2] = {{fabric_.switches[0], PortNum(36)},
                             {fabric_.switches[1], PortNum(36)}};
  std::shared_ptr<const fabric::FabricSnapshot> before_;
};

TEST_F(LinkChangesTest, NothingChangesWithoutAChange) {
  EXPECT_THAT(Changes(), IsEmpty());
  fabric_.builder.SetDescription(fabric_.switches[0], "renamed");
  EXPECT_THAT(Changes(), IsEmpty());
}

TEST_F(LinkChangesTest, ALinkIsDownWhereOneEndSaysSoAndIsNamedOnce) {
  SetState(trunk_[0], wire::PortState::kDown);
  SetState(trunk_[1], wire::PortState::kDown);
  fabric_.builder.Unlink(trunk_[0]);
  EXPECT_THAT(Changes(), ElementsAre(LinkChange{trunk_[0], trunk_[1], true, false}));
}

TEST_F(LinkChangesTest, ADeviceThatHasMerelyNotAnsweredIsNoLostLink) {
  fabric_.builder.RemoveNode(host_.node);
  EXPECT_THAT(Changes(), IsEmpty()) << "its switch says that the port is up";
  fabric_.builder.SetPortUnknown(leaf_);
  EXPECT_THAT(Changes(), IsEmpty());
  SetState(leaf_, wire::PortState::kDown);
  EXPECT_THAT(Changes(), ElementsAre(LinkChange{leaf_, host_, true, false}));
}

TEST_F(LinkChangesTest, ALinkThatTrainedAgainWasDownMeanwhile) {
  SetState(trunk_[1], wire::PortState::kInit);
  EXPECT_THAT(Changes(), ElementsAre(LinkChange{trunk_[0], trunk_[1], true, true}));
}

TEST_F(LinkChangesTest, ALinkThatWasNeverConfiguredAndIsInitHasNotTrainedAgain) {
  SetState(trunk_[0], wire::PortState::kInit);
  SetState(trunk_[1], wire::PortState::kInit);
  before_ = fabric_.builder.Build();
  SetState(trunk_[1], wire::PortState::kActive);
  EXPECT_THAT(Changes(), IsEmpty());
}

TEST_F(LinkChangesTest, ANewLinkCameUpAndARecabledOneDidBoth) {
  fabric_.Cable({fabric_.switches[0], PortNum(20)}, {fabric_.switches[1], PortNum(20)});
  EXPECT_THAT(
      Changes(),
      ElementsAre(LinkChange{
          {fabric_.switches[0], PortNum(20)}, {fabric_.switches[1], PortNum(20)}, false, true}));
  before_ = fabric_.builder.Build();
  SetState(leaf_, wire::PortState::kDown);
  const PortRef other{fabric_.switches[1], PortNum(9)};
  fabric_.Cable(other, host_);
  EXPECT_THAT(Changes(), ElementsAre(LinkChange{leaf_, host_, true, false},
                                     LinkChange{other, host_, false, true}));
}

}  // namespace
}  // namespace fabricd::sweep
