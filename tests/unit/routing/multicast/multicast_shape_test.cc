// SPDX-License-Identifier: Apache-2.0
#include "routing/multicast/multicast_shape.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/fabrics.h"

namespace fabricd::routing {
namespace {

using fabricd::testing::FabricMaker;
using fabricd::testing::TestFabric;
using ::testing::ElementsAre;

// Four switches in a row, a host on each by port 1, the next switch by port 3.
TEST(MulticastShape, StartsAtTheMiddleOfTheTree) {
  FabricMaker maker;
  for (int number = 0; number < 4; ++number) maker.AddSwitch(4);
  for (size_t number = 0; number < 4; ++number) maker.Cable(number, 1, maker.AddHost(), 1);
  for (size_t number = 0; number < 3; ++number) maker.Cable(number, 3, number + 1, 2);
  const TestFabric fabric = maker.Build();
  const auto port = [&](size_t handle, uint8_t number) {
    return PortRef{fabric.node[handle], PortNum(number)};
  };
  MulticastTree tree;
  for (size_t number = 0; number < 4; ++number) {
    tree.ports.push_back(port(number, 1));
    if (number > 0) tree.ports.push_back(port(number, 2));
    if (number < 3) tree.ports.push_back(port(number, 3));
  }
  tree.ports.push_back(port(3, 0));
  std::sort(tree.ports.begin(), tree.ports.end());
  using Place = MulticastShape::Place;
  const auto ports = [](std::initializer_list<uint8_t> numbers) {
    std::vector<PortNum> made;
    for (uint8_t number : numbers) made.push_back(PortNum(number));
    return made;
  };
  const auto place = [&](size_t handle, uint32_t depth, uint8_t up, std::vector<PortNum> down,
                         std::vector<PortNum> ends) {
    return Place{fabric.node[handle], depth, PortNum(up), std::move(down), std::move(ends)};
  };
  // Of the two in the middle, that of the lower GUID; what is behind its lowest port first.
  EXPECT_THAT(
      ShapeOf(tree, *fabric.snapshot).places,
      ElementsAre(place(1, 0, 0, ports({2, 3}), ports({1})), place(0, 1, 3, {}, ports({1})),
                  place(2, 1, 2, ports({3}), ports({1})), place(3, 2, 2, {}, ports({0, 1}))));
  // The last cable has gone: the last switch is a part by itself, and the ports lead nowhere.
  maker.RemoveCable(maker.cable_count() - 1);
  const TestFabric cut = maker.Build();
  ASSERT_EQ(cut.node, fabric.node);
  EXPECT_THAT(ShapeOf(tree, *cut.snapshot).places,
              ElementsAre(place(1, 0, 0, ports({2, 3}), ports({1})), place(0, 1, 3, {}, ports({1})),
                          place(2, 1, 2, ports({3}), ports({1})),
                          place(3, 0, 0, ports({2}), ports({0, 1}))));
}

}  // namespace
}  // namespace fabricd::routing
