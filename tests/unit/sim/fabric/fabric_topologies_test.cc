// SPDX-License-Identifier: Apache-2.0
// SimFabrics of large topologies and of real ones.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sim/fabric/sim_fabric.h"
#include "sim/fabric/topology.h"
#include "tests/unit/sim/test_client.h"

namespace fabricd::sim {
namespace {

using wire::PortState;

size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(SimFabricScale, The11664PortTreeIsDiscoveredAndStaysSmall) {
  const auto topology = Generate("fat-tree:radix=36,levels=3");
  ASSERT_TRUE(topology.ok());
  [[maybe_unused]] const size_t before = ResidentBytes();
  SimFabric fabric(**topology);
  TestClient client(fabric, fabric.DefaultHostPort());
  const Discovered found = Discover(client);
  EXPECT_EQ(found.nodes.size(), 11664u + 1620u);
  // All tables as a subnet manager would fill them: 208 blocks for 13,284 LIDs.
  wire::LinearForwardingTable table;
  table.port.fill(1);
  for (const auto& [guid, node] : found.nodes) {
    if (node.info.node_type != wire::NodeType::kSwitch) continue;
    for (uint32_t block = 0; block < 208; ++block) {
      ASSERT_TRUE(client.Set(node.path, table, block).ok());
    }
  }
  EXPECT_EQ(fabric.stats().sets(), 336960u);
#ifndef __SANITIZE_ADDRESS__
  EXPECT_LT(ResidentBytes() - before, 300u << 20);
#endif
}

// Real fabrics and designs of others: all nodes connected to the host come up under the simple SM.
TEST(SimFabricTopologies, ComeUpUnderASimpleSm) {
  const std::filesystem::path folder = FABRICD_SOURCE_DIR "/../shared/topologies";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared topologies here";
  size_t came_up = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".net") == std::string::npos &&
        name.find(".ibnetdiscover") == std::string::npos) {
      continue;
    }
    SCOPED_TRACE(name);
    const auto topology = MakeTopology(entry.path().string());
    ASSERT_TRUE(topology.ok()) << topology.status();
    SimFabric fabric(**topology);
    TestClient client(fabric, fabric.DefaultHostPort());
    TinySm sm(client);
    EXPECT_TRUE(sm.BringUp());
    for (const auto& [guid, node] : sm.found.nodes) {
      for (const auto& [port, peer] : node.links) {
        const SimDevice& device = *fabric.device((*topology)->FindIndex(guid));
        EXPECT_EQ(device.port(PortNum(port)).info.port_state, PortState::kActive);
      }
    }
    came_up += sm.found.nodes.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(came_up, 10u);
}

}  // namespace
}  // namespace fabricd::sim
