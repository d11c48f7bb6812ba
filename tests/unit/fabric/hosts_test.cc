// SPDX-License-Identifier: Apache-2.0
#include "fabric/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rng.h"
#include "common/status.h"
#include "fabric/aggregation_node.h"
#include "fabric/snapshot_builder.h"

namespace fabricd::fabric {
namespace {

using ::testing::HasSubstr;

TEST(CompareNaturalTest, DigitsAreNumbers) {
  const std::vector<std::string> sorted = {
      "",      "10",     "a",     "a1b2",   "a1b10",   "a10b1",   "node",
      "node1", "node01", "node2", "node10", "node10a", "node10b", "node99999999999999999999"};
  for (size_t i = 0; i < sorted.size(); ++i) {
    for (size_t k = 0; k < sorted.size(); ++k) {
      const bool less = CompareNatural(sorted[i], sorted[k]) < 0;
      if (sorted[i] == "node01" || sorted[k] == "node01") continue;
      EXPECT_EQ(less, i < k) << sorted[i] << " and " << sorted[k];
    }
  }
  // Equal as numbers, yet not the same name: an order, and a strict one.
  EXPECT_NE(CompareNatural("node1", "node01"), 0);
  EXPECT_EQ(CompareNatural("node1", "node01"), -CompareNatural("node01", "node1"));
  EXPECT_EQ(CompareNatural("node1", "node1"), 0);
}

TEST(HostPatternsTest, BuiltInRule) {
  const HostPatterns patterns;
  const auto is = [&](std::string_view text, std::string_view host, std::string_view device,
                      int rail) {
    const HostPatterns::Reading reading = patterns.Read(text);
    EXPECT_EQ(reading.host, host) << text;
    EXPECT_EQ(reading.device, device) << text;
    EXPECT_EQ(reading.rail, rail) << text;
  };
  is("node12 mlx5_3", "node12", "mlx5_3", 3);
  is("node12 HCA-2", "node12", "HCA-2", 2);
  is("  node12\tmlx5_11 ", "node12", "mlx5_11", 11);
  is("node12", "", "", -1);
  is("MT25408 ConnectX Mellanox Technologies", "", "", -1);
  is("", "", "", -1);
  is("node12 mlx5_99999999999", "node12", "mlx5_99999999999", -1);
  is(std::string(100000, 'x') + " mlx5_1", "", "", -1);  // Must not exhaust the stack.
}

// The built-in rule is hand-written code; it agrees with its regular expression on any text.
TEST(HostPatternsTest, BuiltInRuleIsItsExpression) {
  const HostPatterns built_in;
  const auto written = HostPatterns::Compile(R"(^(\S+)\s+(\S*[0-9])$)", "");
  ASSERT_TRUE(written.ok());
  Rng rng(11);
  size_t told = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (uint64_t length = rng.Below(12); length > 0; --length) text += "ab01_ -\t\v"[rng.Below(9)];
    if (i % 100 == 0) text += std::string(125, 'x') + " y7";
    const auto one = built_in.Read(text), other = written->Read(text);
    EXPECT_EQ(one.host, other.host) << text;
    EXPECT_EQ(one.device, other.device) << text;
    told += !one.host.empty();
  }
  EXPECT_GT(told, 1000u);
}

TEST(HostPatternsTest, ConfiguredRules) {
  const auto own = HostPatterns::Compile("^IB-([a-z0-9]+)-(.*)$", "rail([0-9]+)");
  ASSERT_TRUE(own.ok());
  const HostPatterns::Reading reading = own->Read("IB-gpu7-rail5-a");
  EXPECT_EQ(reading.host, "gpu7");
  EXPECT_EQ(reading.device, "rail5-a");
  EXPECT_EQ(reading.rail, 5);
  EXPECT_EQ(own->Read("node12 mlx5_3").host, "");
  // One group: the host only.
  const auto host_only = HostPatterns::Compile("^([^.]+)\\.", "");
  ASSERT_TRUE(host_only.ok());
  EXPECT_EQ(host_only->Read("node12.example.org mlx5_3").host, "node12");
  EXPECT_EQ(host_only->Read("node12.example.org mlx5_3").device, "mlx5_3");
  EXPECT_EQ(host_only->Read("node12.example.org mlx5_3").rail, 3);
}

TEST(HostPatternsTest, FaultyExpressionsAreNamed) {
  EXPECT_THAT(Message(HostPatterns::Compile("(", "").status()), HasSubstr("expression \"(\""));
  EXPECT_THAT(Message(HostPatterns::Compile("", "[0-9]+$").status()),
              HasSubstr("\"[0-9]+$\" has no group"));
}

class FindHostsTest : public testing::Test {
 protected:
  NodeIndex Add(const char* description, uint64_t system = 0, uint8_t ports = 1,
                wire::NodeType type = wire::NodeType::kChannelAdapter) {
    wire::NodeInfo info;
    info.node_type = type;
    info.num_ports = ports;
    info.node_guid = Guid(++guid_);
    info.system_image_guid = Guid(system);
    const NodeIndex node = builder_.PutNode(info);
    builder_.SetDescription(node, description);
    return node;
  }
  HostTable Find() { return FindHosts(*builder_.Build(), HostPatterns()); }
  // "host: device/port/rail, …; …"
  static std::string Picture(const HostTable& table) {
    std::string text;
    for (const Host& host : table.hosts()) {
      text += host.name + ":";
      for (const HostPort& port : host.ports) {
        text += fmt::format(" {}/{}/{}", port.device, port.port.port, port.rail);
      }
      text += "; ";
    }
    return text;
  }
  uint64_t guid_ = 0x100;
  SnapshotBuilder builder_;
};

TEST_F(FindHostsTest, GroupsAdaptersInNaturalOrder) {
  Add("node10 mlx5_0");
  Add("node2 mlx5_10");
  const NodeIndex wanted = Add("node2 mlx5_2", 0, 2);
  EXPECT_EQ(Picture(Find()), "node2: mlx5_2/1/2 mlx5_2/2/2 mlx5_10/1/10; node10: mlx5_0/1/0; ");
  const HostTable table = Find();
  ASSERT_TRUE(table.HostOf(wanted));
  EXPECT_EQ(table.HostOf(wanted)->name, "node2");
  EXPECT_EQ(table.Find("node10")->ports.size(), 1u);
  EXPECT_EQ(table.Find("node1"), nullptr);
}

TEST_F(FindHostsTest, OthersAreNoHosts) {
  const NodeIndex leaf = Add("node1 mlx5_0", 0, 36, wire::NodeType::kSwitch);
  const NodeIndex router = Add("node1 mlx5_1", 0, 2, wire::NodeType::kRouter);
  const NodeIndex sharp = Add("Mellanox Technologies Aggregation Node");
  const NodeIndex quantum = Add("Quantum Mellanox Technologies");
  const HostTable table = Find();
  EXPECT_TRUE(table.hosts().empty());
  for (const NodeIndex node : {leaf, router, sharp, quantum, NodeIndex(99)}) {
    EXPECT_EQ(table.HostOf(node), nullptr);
  }
}

TEST_F(FindHostsTest, AnAggregationNodeIsKnownByItsDeviceIdToo) {
  const NodeIndex node = Add("node1 mlx5_0");
  wire::NodeInfo info = builder_.node(node)->info;
  EXPECT_FALSE(IsAggregationNode(*builder_.node(node)));
  info.device_id = 53001;
  builder_.PutNode(info);
  EXPECT_TRUE(IsAggregationNode(*builder_.node(node)));
  EXPECT_TRUE(Find().hosts().empty());
}

TEST_F(FindHostsTest, ASwitchNamedQuantumIsNoAggregationNode) {
  const NodeIndex node = Add("Quantum Mellanox Technologies", 0, 41, wire::NodeType::kSwitch);
  EXPECT_FALSE(IsAggregationNode(*builder_.node(node)));
}

TEST_F(FindHostsTest, SystemImageGuidJoinsAdaptersWithoutAHostName) {
  Add("MT25408 ConnectX Mellanox Technologies", 0xA0);
  Add("MT25408 ConnectX Mellanox Technologies", 0xA0);
  Add("MT25408 ConnectX Mellanox Technologies", 0xB0);
  Add("storage", 0xC0);
  Add("storage", 0xC0);
  Add("node5 mlx5_0", 0xD0);
  Add("ConnectX7 Mellanox Technologies", 0xD0);  // The same card, not named yet.
  EXPECT_EQ(Picture(Find()),
            "0x00000000000000a0: /1/-1 /1/-1; 0x00000000000000b0: /1/-1; "
            "node5: /1/-1 mlx5_0/1/0; storage: /1/-1 /1/-1; ");
}

TEST_F(FindHostsTest, AWordSharedByTwoSystemsNamesNeither) {
  Add("storage", 0xA0);
  Add("storage", 0xB0);
  Add("lonely");
  EXPECT_EQ(Picture(Find()),
            "0x00000000000000a0: /1/-1; 0x00000000000000b0: /1/-1; lonely: /1/-1; ");
}

}  // namespace
}  // namespace fabricd::fabric
