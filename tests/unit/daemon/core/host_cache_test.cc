// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/host_cache.h"

#include <gtest/gtest.h>

#include "fabric/snapshot_builder.h"

namespace fabricd::daemon {
namespace {

class HostCacheTest : public ::testing::Test {
 protected:
  NodeIndex AddAdapter(uint64_t guid, const std::string& description) {
    wire::NodeInfo info;
    info.node_type = wire::NodeType::kChannelAdapter;
    info.num_ports = 1;
    info.node_guid = Guid(guid);
    info.port_guid = Guid(guid + 1);
    info.local_port = PortNum(1);
    const NodeIndex node = builder_.PutNode(info);
    builder_.SetDescription(node, description);
    return node;
  }

  fabric::SnapshotBuilder builder_;
  fabric::HostPatterns patterns_;
  HostCache cache_{patterns_};
};

TEST_F(HostCacheTest, SnapshotsWithTheSameNodesShareATable) {
  const NodeIndex node = AddAdapter(0x10, "node1 mlx5_0");
  const auto table = cache_.Get(builder_.Build());
  ASSERT_NE(table->Find("node1"), nullptr);
  wire::PortInfo port;
  port.port_state = wire::PortState::kActive;
  builder_.SetPortInfo({node, PortNum(1)}, port);
  EXPECT_EQ(cache_.Get(builder_.Build()), table);
}

TEST_F(HostCacheTest, ANewNodeIsFound) {
  AddAdapter(0x10, "node1 mlx5_0");
  const auto before = cache_.Get(builder_.Build());
  AddAdapter(0x20, "node2 mlx5_0");
  const auto after = cache_.Get(builder_.Build());
  EXPECT_EQ(before->Find("node2"), nullptr);
  EXPECT_NE(after->Find("node2"), nullptr);
}

}  // namespace
}  // namespace fabricd::daemon
