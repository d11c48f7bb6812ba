// SPDX-License-Identifier: Apache-2.0
// How ports and links are written.
#include "fabric/port_name.h"

#include <gtest/gtest.h>

namespace fabricd::fabric {
namespace {

TEST(PortName, APortIsItsNodeAndItsNumber) {
  EXPECT_EQ(PortName("leaf1", PortNum(3)), "leaf1/3");
  EXPECT_EQ(PortName("node0001 mlx5_0", PortNum(1)), "node0001 mlx5_0/1");
  EXPECT_EQ(PortName("leaf1", PortNum(0)), "leaf1/0");
}

TEST(PortName, PortZeroOfASubjectIsTheNode) {
  EXPECT_EQ(EndName("leaf1", PortNum(0)), "leaf1");
  EXPECT_EQ(EndName("leaf1", PortNum(255)), "leaf1/255");
}

TEST(PortName, ALinkIsItsTwoEnds) {
  EXPECT_EQ(LinkName(PortName("leaf1", PortNum(3)), PortName("spine2", PortNum(7))),
            "leaf1/3 ↔ spine2/7");
}

}  // namespace
}  // namespace fabricd::fabric
