// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/active_links.h"

#include <gtest/gtest.h>

#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

wire::PortInfo InState(wire::PortState state) {
  wire::PortInfo info = SmallFabric::Up();
  info.port_state = state;
  return info;
}

TEST(ActiveLinks, TracksLinksThatReachAndLeaveActive) {
  SmallFabric small(3);
  const PortRef host = small.Host(0);
  ActiveLinks links;
  auto look = [&]() -> const std::set<PortRef>& {
    links.Update(small.builder.Build());
    return links.inactive();
  };
  for (size_t i = 0; i < 3; ++i) {
    small.builder.SetPortInfo(small.Host(i), InState(wire::PortState::kActive));
    small.builder.SetPortInfo(small.builder.node(small.hosts[i])->port(small.Host(i).port).peer,
                              InState(wire::PortState::kActive));
  }
  const size_t between = look().size();  // The links between the switches stay as they are.
  small.builder.SetPortInfo(host, InState(wire::PortState::kArmed));
  EXPECT_EQ(look().size(), between + 1);
  EXPECT_TRUE(links.inactive().contains(host));
  // Its neighbour goes down: there is no link that could become ACTIVE.
  const PortRef peer = small.builder.node(host.node)->port(host.port).peer;
  small.builder.SetPortInfo(peer, InState(wire::PortState::kDown));
  EXPECT_FALSE(look().contains(host));
  small.builder.SetPortInfo(peer, InState(wire::PortState::kActive));
  EXPECT_TRUE(look().contains(host));
  small.builder.RemoveNode(host.node);
  EXPECT_EQ(look().size(), between);
}

}  // namespace
}  // namespace fabricd::sweep
