// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/observed_fabric.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Two switches and four hosts, discovered from the first host.
class ObservedFabricTest : public testing::Test {
 protected:
  ObservedFabricTest() {
    builder() = std::move(small_.builder);
    observed_.OnDiscovered(small_.Host(0), {});
  }
  fabric::SnapshotBuilder& builder() { return observed_.builder(); }

  SmallFabric small_{4};
  ObservedFabric observed_{{}};
};

TEST_F(ObservedFabricTest, BeforeTheFirstDiscoveryItIsEmpty) {
  const ObservedFabric observed({});
  EXPECT_EQ(observed.snapshot()->node_count(), 0u);
  EXPECT_TRUE(observed.local().IsNone());
  EXPECT_THAT(observed.OwnLinkFault(""), HasSubstr("cannot be read"));
}

TEST_F(ObservedFabricTest, TheSnapshotStaysUntilItIsRebuilt) {
  builder().SetDescription(small_.hosts[0], "node0001 mlx5_0");
  EXPECT_EQ(observed_.snapshot()->node(small_.hosts[0])->description, "");
  observed_.Rebuild();
  EXPECT_EQ(observed_.snapshot()->node(small_.hosts[0])->description, "node0001 mlx5_0");
}

TEST_F(ObservedFabricTest, AnOwnLinkThatIsUsableHasNoFault) {
  EXPECT_EQ(observed_.OwnLinkFault(": hold 3"), "");
}

TEST_F(ObservedFabricTest, AnOwnPortWithoutLinkNamesTheHoldsThatMayBeTheCause) {
  wire::PortInfo down;
  down.port_state = wire::PortState::kDown;
  builder().SetPortInfo(small_.Host(0), down);
  observed_.Rebuild();
  EXPECT_EQ(observed_.OwnLinkFault(": hold 3"), "the SM's own port has no link: hold 3");
}

TEST_F(ObservedFabricTest, AnOwnLinkWhosePeerDoesNotAnswerIsAFault) {
  builder().Unlink(small_.Host(0));
  observed_.Rebuild();
  EXPECT_THAT(observed_.OwnLinkFault(""), HasSubstr("does not answer"));
}

TEST_F(ObservedFabricTest, ASwitchNeedsNoLinkOfItsOwn) {
  observed_.OnDiscovered({small_.switches[0], PortNum(0)}, {});
  EXPECT_EQ(observed_.OwnLinkFault(""), "");
}

TEST_F(ObservedFabricTest, UnreadAttributesAreBoundedAndReplacedByADiscovery) {
  observed_.AddUnread(std::vector<Unread>(kMaxUnread - 1));
  observed_.AddUnread(std::vector<Unread>(5));
  EXPECT_EQ(observed_.unread().size(), kMaxUnread);
  observed_.OnDiscovered(small_.Host(0), {});
  EXPECT_THAT(observed_.unread(), IsEmpty());
}

TEST_F(ObservedFabricTest, SwitchesWithUnknownPortsArePassedOverUnlessThePortsAreUnread) {
  // Ports 3 to 35 of both switches were never read.
  EXPECT_THAT(observed_.SwitchesPassedOver(), ElementsAre(small_.switches[0], small_.switches[1]));
  std::vector<Unread> unread;
  for (uint8_t port = 3; port < 36; ++port)
    unread.push_back({{small_.switches[0], PortNum(port)}, wire::AttributeId::kPortInfo, port});
  observed_.AddUnread(unread);
  EXPECT_THAT(observed_.SwitchesPassedOver(), ElementsAre(small_.switches[1]));
}

TEST_F(ObservedFabricTest, HostsAreReplacedByTheSwitchesTheyAreAttachedTo) {
  EXPECT_THAT(observed_.SwitchesOf({small_.hosts[1], small_.switches[0], NodeIndex(99)}),
              ElementsAre(small_.switches[0], small_.switches[1]));
  EXPECT_EQ(observed_.SwitchPortOf(small_.Host(1)), (PortRef{small_.switches[1], PortNum(1)}));
  const PortRef management{small_.switches[1], PortNum(0)};
  EXPECT_EQ(observed_.SwitchPortOf(management), management);
  EXPECT_TRUE(observed_.SwitchPortOf({}).IsNone());
  EXPECT_TRUE(observed_.SwitchPortOf({NodeIndex(99), PortNum(1)}).IsNone());
}

TEST_F(ObservedFabricTest, PortsThatAreUpAndNotActiveAreListedUntilTheyAreActive) {
  EXPECT_THAT(observed_.InactivePorts(), Contains(small_.Host(2)));
  wire::PortInfo active = SmallFabric::Up();
  active.port_state = wire::PortState::kActive;
  builder().SetPortInfo(small_.Host(2), active);
  observed_.Rebuild();
  EXPECT_THAT(observed_.InactivePorts(), Not(Contains(small_.Host(2))));
}

TEST_F(ObservedFabricTest, NamesAreDescriptionsOrElseGuids) {
  builder().SetDescription(small_.switches[0], "leaf1");
  const PortRef port{small_.switches[0], PortNum(36)};
  EXPECT_EQ(observed_.NameOf(port), "leaf1/36");
  EXPECT_EQ(observed_.NameOf({small_.switches[0], PortNum(0)}), "leaf1");
  EXPECT_EQ(observed_.NameOf(port, {small_.switches[1], PortNum(36)}),
            "leaf1/36 ↔ 0x0000000000000011/36");
  EXPECT_EQ(observed_.NameOf(port, {}), "leaf1/36");
  EXPECT_EQ(observed_.NameOf({NodeIndex(99), PortNum(1)}), "node index 99");
}

}  // namespace
}  // namespace fabricd::sweep
