// SPDX-License-Identifier: Apache-2.0
#include "fabric/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "fabric/snapshot_builder.h"

namespace fabricd::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NodeNameMapTest, ReadsTheFormatOfInfinibandDiags) {
  const NodeNameMap map = NodeNameMap::Parse(
      "# comment\r\n"
      "0x0002c90100000000 \"leaf one\"\t# the first\r\n"
      "\n"
      "2c90100000100\t\"leaf2\"\n"
      "0X2C90100000200 \"Leaf3\"");
  EXPECT_EQ(map.Find(Guid(0x2c90100000000)), "leaf one");
  EXPECT_EQ(map.Find(Guid(0x2c90100000100)), "leaf2");
  EXPECT_EQ(map.Find(Guid(0x2c90100000200)), "Leaf3");
  EXPECT_EQ(map.Find(Guid(1)), "");
  EXPECT_EQ(map.size(), 3u);
  EXPECT_TRUE(map.skipped.empty());
}

TEST(NodeNameMapTest, ReportsLinesThatItSkips) {
  const NodeNameMap map = NodeNameMap::Parse(
      "leaf1 0x5\n0x5 leaf\n0x0 \"zero\"\n0x5 \"\"\n0x5 \"a\"\n0x5 \"b\"\n0x5 \"open\n");
  EXPECT_EQ(map.Find(Guid(5)), "a");
  std::vector<size_t> lines;
  for (const auto& skipped : map.skipped) lines.push_back(skipped.line);
  EXPECT_THAT(lines, ElementsAre(1, 2, 3, 4, 6, 7));
}

TEST(ParseGuidTest, AcceptsEachNotationOfGuids) {
  EXPECT_EQ(ParseGuid("0x0002c90100000a0b"), Guid(0x2c90100000a0b));
  EXPECT_EQ(ParseGuid("0x2c90100000A0B"), Guid(0x2c90100000a0b));
  EXPECT_EQ(ParseGuid("0002c90100000a0b"), Guid(0x2c90100000a0b));
  EXPECT_EQ(ParseGuid("0002:c901:0000:0a0b"), Guid(0x2c90100000a0b));
  EXPECT_EQ(ParseGuid("2:c901:0:a0b"), Guid(0x2c90100000a0b));
  EXPECT_EQ(ParseGuid("00:02:c9:01:00:00:0a:0b"), Guid(0x2c90100000a0b));
  for (const char* other : {"", "0x", "0x12", "12", "leaf1", "0x12345678901234567", "a:b:c",
                            "a:b:c:d:e", "1:2:3:", "12345:2:3:4", "0x2c90100000a0g"}) {
    EXPECT_EQ(ParseGuid(other), Guid(0)) << other;
  }
}

class NameTableTest : public testing::Test {
 protected:
  NodeIndex Add(uint64_t guid, wire::NodeType type, uint8_t ports, const char* description) {
    wire::NodeInfo info;
    info.node_type = type;
    info.num_ports = ports;
    info.node_guid = Guid(guid);
    const NodeIndex node = builder_.PutNode(info);
    builder_.SetDescription(node, description);
    return node;
  }
  void SetUp() override {
    leaf_ = Add(0x2c90100000000, wire::NodeType::kSwitch, 36, "MF0;leaf1:MQM8700/U1");
    node_ = Add(0x2c90200000000, wire::NodeType::kChannelAdapter, 2, "node12 mlx5_3");
    twin_b_ = Add(0x2c90300000002, wire::NodeType::kChannelAdapter, 1, "twin");
    twin_a_ = Add(0x2c90300000001, wire::NodeType::kChannelAdapter, 1, "twin ");
    slash_ = Add(0x2c90400000000, wire::NodeType::kSwitch, 8, "SW4/leaf1/U1");
    bare_ = Add(0x2c90500000000, wire::NodeType::kChannelAdapter, 1, "");
    builder_.SetPortGuid({node_, PortNum(2)}, Guid(0x2c90200000002));
    wire::PortInfo info;
    info.lid = Lid(24);
    info.lmc = 1;
    builder_.SetPortInfo({node_, PortNum(2)}, info);
    info.lid = Lid(7);
    info.lmc = 0;
    builder_.SetPortInfo({leaf_, PortNum(0)}, info);
    snapshot_ = builder_.Build();
  }
  // "node/port", "node", or the error.
  std::string Resolve(std::string_view text, const LidTable* lids = nullptr) {
    const NodeNames names(*snapshot_, &map_);
    const NameTable table(*snapshot_, names, lids);
    const auto address = table.Resolve(text);
    if (!address.ok()) return Message(address.status());
    const std::string guid = fmt::format("{:x}", snapshot_->node(address->node)->guid().value());
    return address->has_port ? fmt::format("{}/{}", guid, address->port) : guid;
  }

  SnapshotBuilder builder_;
  NodeNameMap map_ = NodeNameMap::Parse("0x2c90100000000 \"rack1-leaf\"");
  std::shared_ptr<const FabricSnapshot> snapshot_;
  NodeIndex leaf_, node_, twin_a_, twin_b_, slash_, bare_;
};

TEST_F(NameTableTest, DisplayNames) {
  EXPECT_EQ(DisplayName(*snapshot_->node(leaf_), &map_), "rack1-leaf");
  EXPECT_EQ(DisplayName(*snapshot_->node(leaf_)), "MF0;leaf1:MQM8700/U1");
  EXPECT_EQ(DisplayName(*snapshot_->node(bare_), &map_), "0x0002c90500000000");
  EXPECT_EQ(PortName(*snapshot_->node(leaf_), PortNum(17), &map_), "rack1-leaf/17");
}

TEST_F(NameTableTest, ResolvesEachNotationOfNodesAndPorts) {
  EXPECT_EQ(Resolve("0x2c90100000000"), "2c90100000000");
  EXPECT_EQ(Resolve("0002:c901:0000:0000"), "2c90100000000");
  EXPECT_EQ(Resolve("rack1-leaf"), "2c90100000000");
  EXPECT_EQ(Resolve("MF0;leaf1:MQM8700/U1"), "2c90100000000");
  EXPECT_EQ(Resolve("leaf1"), "2c90100000000");
  EXPECT_EQ(Resolve(" node12 mlx5_3 "), "2c90200000000");
  EXPECT_EQ(Resolve("SW4/leaf1/U1"), "2c90400000000");
  EXPECT_EQ(Resolve("leaf1/17"), "2c90100000000/17");
  EXPECT_EQ(Resolve("leaf1:17"), "2c90100000000/17");
  EXPECT_EQ(Resolve("leaf1/0"), "2c90100000000/0");
  EXPECT_EQ(Resolve("SW4/leaf1/U1/8"), "2c90400000000/8");
  EXPECT_EQ(Resolve("node12 mlx5_3/1"), "2c90200000000/1");
  EXPECT_EQ(Resolve("0x2c90100000000/36"), "2c90100000000/36");
  EXPECT_EQ(Resolve("0002:c901:0000:0000:36"), "2c90100000000/36");
  EXPECT_EQ(Resolve("0x2c90200000002"), "2c90200000000/2");  // A port's GUID.
}

TEST_F(NameTableTest, ResolvesLids) {
  EXPECT_EQ(Resolve("25"), "2c90200000000/2");
  EXPECT_EQ(Resolve("0x18"), "2c90200000000/2");
  EXPECT_EQ(Resolve("7"), "2c90100000000/0");
  EXPECT_EQ(Resolve("7/12"), "2c90100000000/12");
  LidTable lids;
  lids.Assign({node_, PortNum(1)}, {Lid(7), 0});
  EXPECT_EQ(Resolve("7", &lids), "2c90200000000/1");
  EXPECT_THAT(Resolve("25", &lids), HasSubstr("no node, port or LID \"25\""));
}

TEST_F(NameTableTest, ReportsUnknownAndAmbiguousNames) {
  EXPECT_THAT(Resolve("twin"), HasSubstr("2 nodes have the name \"twin\" (0x0002c90300000001, "
                                         "0x0002c90300000002)"));
  EXPECT_THAT(Resolve("twin/1"), HasSubstr("2 nodes have the name"));
  EXPECT_THAT(Resolve("leaf2"), HasSubstr("no node, port or LID \"leaf2\""));
  EXPECT_THAT(Resolve("leaf2/1"), HasSubstr("\"leaf2/1\""));
  EXPECT_THAT(Resolve("leaf1/37"), HasSubstr("rack1-leaf has no port 37"));
  EXPECT_THAT(Resolve("node12 mlx5_3/0"), HasSubstr("has no port 0"));
  for (const char* text : {"", "/", ":", "/1", "0", "0x", "leaf1/", "leaf1/999"}) {
    EXPECT_THAT(Resolve(text), HasSubstr("no node, port or LID")) << text;
  }
  const NodeNames names(*snapshot_);
  EXPECT_THAT(names.Find("twin"), ElementsAre(twin_a_, twin_b_));
  EXPECT_TRUE(names.Find("rack1-leaf").empty());
}

}  // namespace
}  // namespace fabricd::fabric
