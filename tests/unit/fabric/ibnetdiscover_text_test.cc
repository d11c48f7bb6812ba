// SPDX-License-Identifier: Apache-2.0
// Topology text, written for the quirk it shows; real files are read in shared_topologies_test.cc.
#include "fabric/ibnetdiscover_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "fabric/names.h"
#include "fabric/snapshot_builder.h"

namespace fabricd::fabric {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::LinkSpeed;

// The snapshot of text that must be readable without a remark.
std::shared_ptr<const FabricSnapshot> Clean(std::string_view text) {
  ReadResult result = ReadTopology(text);
  EXPECT_TRUE(result.status.ok()) << Message(result.status);
  for (const SkippedLine& line : result.skipped) {
    ADD_FAILURE() << line.line << ": " << line.reason << ": " << line.text;
  }
  return result.snapshot ? result.snapshot : std::make_shared<FabricSnapshot>();
}

// Readable text whose one remark is about `line` and holds `reason`.
std::shared_ptr<const FabricSnapshot> OneRemark(std::string_view text, size_t line,
                                                const std::string& reason) {
  ReadResult result = ReadTopology(text);
  EXPECT_TRUE(result.status.ok()) << Message(result.status);
  EXPECT_EQ(result.skipped.size(), 1u);
  for (const SkippedLine& skipped : result.skipped) {
    EXPECT_EQ(skipped.line, line) << skipped.reason;
    EXPECT_THAT(skipped.reason, HasSubstr(reason));
  }
  return result.snapshot ? result.snapshot : std::make_shared<FabricSnapshot>();
}

size_t LinkCount(const FabricSnapshot& snapshot) {
  size_t ends = 0;
  snapshot.ForEachNode([&](const Node& node) {
    for (const Port& port : node.ports) ends += !port.peer.IsNone();
  });
  return ends / 2;
}

constexpr std::string_view kPair = R"(#
# Topology file: generated on Tue Feb 23 14:02:12 2021
#
# Initiated from node 0000000000100000 port 0000000000100001

vendid=0x2c9
devid=0xd2f0
sysimgguid=0xb0
switchguid=0xb1(b2)
Switch	36 "S-00000000000000b1"		# "MF0;leaf1:MQM8700/U1" enhanced port 0 lid 13 lmc 3
[36]	"H-0000000000100000"[2](100012) 		# "node1 mlx5_0" lid 9 2xHDR

vendid=0x2c9
devid=0x101b
sysimgguid=0x100000
caguid=0x100000
Ca	2 "H-0000000000100000"		# "node1 mlx5_0"
[2](100012) 	"S-00000000000000b1"[36]		# lid 9 lmc 1 "MF0;leaf1:MQM8700/U1" lid 13 2xHDR
)";

TEST(ReadTopologyTest, ReadsEveryField) {
  const auto snapshot = Clean(kPair);
  const Node* leaf = snapshot->FindNode(Guid(0xb1));
  const Node* node = snapshot->FindNode(Guid(0x100000));
  ASSERT_TRUE(leaf && node);
  EXPECT_TRUE(leaf->IsSwitch());
  EXPECT_EQ(leaf->info.num_ports, 36);
  EXPECT_EQ(leaf->info.vendor_id, 0x2c9u);
  EXPECT_EQ(leaf->info.device_id, 0xd2f0);
  EXPECT_EQ(leaf->info.system_image_guid, Guid(0xb0));
  EXPECT_EQ(leaf->description, "MF0;leaf1:MQM8700/U1");
  ASSERT_TRUE(leaf->switch_info);
  EXPECT_TRUE(leaf->switch_info->enhanced_port0);
  EXPECT_EQ(leaf->ports[0].guid, Guid(0xb2));
  EXPECT_EQ(leaf->ports[0].info.lid, Lid(13));
  EXPECT_EQ(leaf->ports[0].info.lmc, 3);
  EXPECT_EQ(leaf->ports[36].peer, (PortRef{node->index, PortNum(2)}));
  EXPECT_EQ(leaf->ports[36].info.port_state, wire::PortState::kInit);
  EXPECT_EQ(leaf->ports[36].info.port_physical_state, wire::PortPhysicalState::kLinkUp);
  EXPECT_EQ(wire::ActiveWidth(leaf->ports[36].info), 2);
  EXPECT_EQ(leaf->ports[36].Speed(), LinkSpeed::kHdr);
  EXPECT_EQ(leaf->ports[1].info.port_state, wire::PortState::kDown);
  EXPECT_EQ(leaf->ports[1].info.port_physical_state, wire::PortPhysicalState::kPolling);
  EXPECT_TRUE(leaf->ports[1].known);
  EXPECT_EQ(node->info.node_type, wire::NodeType::kChannelAdapter);
  EXPECT_EQ(node->ports[1].guid, Guid(0x100001));  // As ibsim would have it.
  EXPECT_EQ(node->ports[2].guid, Guid(0x100012));
  EXPECT_EQ(node->ports[2].info.lid, Lid(9));
  EXPECT_EQ(node->ports[2].info.lmc, 1);
  EXPECT_EQ(snapshot->FindPort(Guid(0x100012)), (PortRef{node->index, PortNum(2)}));
}

// As ibdiagnet writes it: cage/port/split on the front of the switch.
TEST(ReadTopologyTest, PortsMayHaveTheLabelsOfTheFront) {
  const auto snapshot = Clean(
      "Switch 129 \"S-000000000000000a\" # \"Quantum Mellanox Technologies\" base port 0 lid 1 lmc "
      "0\n"
      "[1](1/1/1)\t\"H-00000000000000b0\"[1](b1) \t\t# \"node1 mlx5_0\" lid 2 4xNDR\n"
      "[2](1/1/2) \"S-000000000000000c\"[65](33/1/1)\t\t# \"spine\" lid 3 4xNDR\n\n"
      "Switch 129 \"S-000000000000000c\" # \"spine\" base port 0 lid 3 lmc 0\n"
      "[65](33/1/1) \"S-000000000000000a\"[2](1/1/2)\t\t# \"Quantum Mellanox Technologies\" lid 1 "
      "4xNDR\n\n"
      "Ca 1 \"H-00000000000000b0\" # \"node1 mlx5_0\"\n"
      "[1](b1) \"S-000000000000000a\"[1](1/1/1)\t\t# lid 2 lmc 0 \"Quantum Mellanox Technologies\" "
      "lid 1 4xNDR\n");
  const Node* leaf = snapshot->FindNode(Guid(0xa));
  ASSERT_NE(leaf, nullptr);
  EXPECT_EQ(leaf->port(PortNum(1)).peer.node, snapshot->FindNode(Guid(0xb0))->index);
  EXPECT_EQ(leaf->port(PortNum(2)).peer,
            (PortRef{snapshot->FindNode(Guid(0xc))->index, PortNum(65)}));
  EXPECT_EQ(leaf->port(PortNum(2)).Speed(), LinkSpeed::kNdr);
  EXPECT_EQ(snapshot->FindNode(Guid(0xb0))->port(PortNum(1)).guid, Guid(0xb1));
  for (const char* bad : {"(1//1)", "(/1)", "(1/)", "(1/1"}) {
    const ReadResult result = ReadTopology(fmt::format(
        "Switch 4 \"S-000000000000000a\"\n[1]{} \"S-000000000000000a\"[2]\nSwitch 4 \"S-0b\"\n",
        bad));
    EXPECT_FALSE(result.skipped.empty()) << bad;
  }
}

TEST(ReadTopologyTest, CarriageReturnsByteOrderMarkAndBlanksChangeNothing) {
  std::string dos = "\xEF\xBB\xBF";
  for (const char c : kPair) dos += c == '\n' ? std::string(" \t\r\n") : std::string(1, c);
  EXPECT_EQ(WriteIbnetdiscover(*Clean(dos), {}), WriteIbnetdiscover(*Clean(kPair), {}));
}

TEST(ReadTopologyTest, EverySpeedAndWidth) {
  for (const int lanes : {1, 2, 4, 8, 12}) {
    for (int i = static_cast<int>(LinkSpeed::kSdr); i <= static_cast<int>(LinkSpeed::kXdr); ++i) {
      const auto speed = static_cast<LinkSpeed>(i);
      const std::string text = fmt::format(
          "Switch 2 \"S-000000000000000a\" # \"a\" base port 0 lid 1 lmc 0\n"
          "[1] \"S-000000000000000a\"[2] # \"a\" lid 1 {0}x{1}\n"
          "[2] \"S-000000000000000a\"[1] # \"a\" lid 1 {0}x{1}\n",
          lanes, wire::SpeedName(speed));
      const auto snapshot = Clean(text);
      const Port& port = snapshot->node(NodeIndex(0))->ports[1];
      EXPECT_EQ(port.Speed(), speed) << text;
      EXPECT_EQ(wire::ActiveWidth(port.info), lanes) << text;
      EXPECT_EQ(wire::BestSupportedWidth(port.info), lanes) << text;
      EXPECT_THAT(
          WriteIbnetdiscover(*snapshot, {}),
          HasSubstr(fmt::format("[2]\t\t# \"a\" lid 1 {}x{}\n", lanes, wire::SpeedName(speed))));
    }
  }
}

TEST(ReadTopologyTest, DescriptionsHoldQuotationMarksAndHashes) {
  const auto snapshot = Clean(R"(switchguid=0xa
Switch 2 "S-000000000000000a" # "Voltaire "4036" # x" lid 7" base port 0 lid 1 lmc 0
[1] "H-000000000000000b"[1](c) # "n "1" # 'x'" lid 2 4xQDR

caguid=0xb
Ca 1 "H-000000000000000b" # "n "1" # 'x'"
[1](c) "S-000000000000000a"[1] # lid 2 lmc 0 "Voltaire "4036" # x" lid 7" lid 1 4xQDR
)");
  EXPECT_EQ(snapshot->FindNode(Guid(0xa))->description, "Voltaire \"4036\" # x\" lid 7");
  EXPECT_EQ(snapshot->FindNode(Guid(0xb))->description, "n \"1\" # 'x'");
  EXPECT_EQ(snapshot->FindNode(Guid(0xa))->ports[0].info.lid, Lid(1));
}

TEST(ReadTopologyTest, DescriptionsKeepTheirBlanksAndMayBeEmpty) {
  const auto snapshot = Clean(
      "Switch 2 \"A\" # \"  padded \" base port 0 lid 1 lmc 0\n\n"
      "Switch 2 \"B\" # \"\" base port 0 lid 2 lmc 0\n");
  EXPECT_EQ(snapshot->node(NodeIndex(0))->description, "  padded ");
  EXPECT_EQ(snapshot->node(NodeIndex(1))->description, "");
}

TEST(ReadTopologyTest, LmcAboveSevenIsNotTaken) {
  const auto snapshot =
      OneRemark("Switch 2 \"A\" # \"a\" base port 0 lid 1 lmc 8\n", 1, "used without the end");
  EXPECT_EQ(snapshot->node(NodeIndex(0))->ports[0].info.lmc, 0);
}

TEST(ReadTopologyTest, RoutersChassisAndFullOutput) {
  const auto snapshot = Clean(R"(Chassis 1 (guid 0x66a)
chassisguid=0x66a
vendid=0x2c9
switchguid=0xa(a)	# Spine 1
Switch 3 "S-000000000000000a"		# "spine" base port 0 lid 1 lmc 0 
[1][ext 5]	"R-0000000000000030"[2][ext 7](32) 		# "rt" lid 5 4xSDR s=1 w=2 v=4
[2]	"H-0000000000000040"[1](41)		# "node" lid 6 4xHDR s=4 w=2 v=4 espeed

Non-Chassis Nodes

rtguid=0x30
Rt 2 "R-0000000000000030"		# "rt"
[2](32)	"S-000000000000000a"[1]		# lid 5 lmc 0 "spine" lid 1 4xSDR s=1 w=2 v=4

caguid=0x40
Ca 1 "H-0000000000000040"		# "node"
[1](41)	"S-000000000000000a"[2]		# lid 6 lmc 0 "spine" lid 1 4xHDR s=4 w=2 v=4
)");
  EXPECT_EQ(LinkCount(*snapshot), 2u);
  EXPECT_EQ(snapshot->FindNode(Guid(0x30))->info.node_type, wire::NodeType::kRouter);
  EXPECT_EQ(snapshot->FindNode(Guid(0xa))->ports[2].Speed(), LinkSpeed::kHdr);
}

// Checked against ibsim 0.10: it counts on from 0x100000 and 0x200000, a switch by 1, an adapter by
// its ports + 1, and from a GUID that the file gives.
TEST(ReadTopologyTest, IbsimFilesGetIbsimsGuids) {
  const auto snapshot = Clean(R"(Switch	8 "Switch1"
[1]	"Hca1"[1]
[3]	"Switch2" [3] w=1 s=2

Switch 8 "Switch2"
[3]	"Switch1"[3] w=1 s=2

Hca	2 "Hca1" # plain words
[1]	"Switch1"[1]

Hca	2 "Hca2"

caguid=0x8800
Ca	3 "Hca4"

Hca	2 "Hca5"
)");
  for (const uint64_t guid : {0x200000, 0x200001, 0x100000, 0x100003, 0x8800, 0x8804}) {
    EXPECT_TRUE(snapshot->FindNode(Guid(guid))) << guid;
  }
  EXPECT_EQ(snapshot->node_count(), 6u);
  const Node& first = *snapshot->FindNode(Guid(0x200000));
  EXPECT_EQ(first.description, "Switch1");
  EXPECT_EQ(snapshot->FindNode(Guid(0x100000))->description, "plain words");
  EXPECT_EQ(snapshot->FindNode(Guid(0x100000))->ports[1].guid, Guid(0x100001));
  EXPECT_EQ(first.ports[1].Speed(), LinkSpeed::kSdr);
  EXPECT_EQ(wire::ActiveWidth(first.ports[1].info), 4);
  EXPECT_EQ(first.ports[3].Speed(), LinkSpeed::kDdr);
  EXPECT_EQ(wire::ActiveWidth(first.ports[3].info), 1);
}

TEST(ReadTopologyTest, IdsSpellGuidsWhereNoLineGivesThem) {
  const auto snapshot = Clean("Switch 1 \"S-00000000000000a0\"\n");
  EXPECT_TRUE(snapshot->FindNode(Guid(0xa0)));
}

TEST(ReadTopologyTest, MissingPeerIsMadeFromTheLine) {
  const auto snapshot = OneRemark(R"(switchguid=0xa
Switch 2 "S-000000000000000a" # "s" base port 0 lid 1 lmc 0
[2] "H-000000000000000b"[2](c) # "node1 mlx5_0" lid 9 4xNDR
)",
                                  3, "no record: made from");
  const Node* made = snapshot->FindNode(Guid(0xb));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->description, "node1 mlx5_0");
  EXPECT_EQ(made->info.num_ports, 2);
  EXPECT_EQ(made->ports[2].guid, Guid(0xc));
  EXPECT_EQ(made->ports[2].info.lid, Lid(9));
  EXPECT_EQ(made->ports[2].Speed(), LinkSpeed::kNdr);
  EXPECT_EQ(LinkCount(*snapshot), 1u);
}

TEST(ReadTopologyTest, NamelessMissingPeerLeavesThePortUnlinked) {
  EXPECT_EQ(LinkCount(*OneRemark("Switch 2 \"A\"\n[1] \"B\"[1]\n", 2, "no record")), 0u);
}

TEST(ReadTopologyTest, OneSidedLinkIsUsedAndReported) {
  const auto snapshot =
      OneRemark("Switch 2 \"A\"\n[1] \"B\"[2]\n\nSwitch 2 \"B\"\n", 2, "no line for this link");
  EXPECT_EQ(LinkCount(*snapshot), 1u);
  EXPECT_TRUE(snapshot->node(NodeIndex(1))->ports[2].IsUp());
}

TEST(ReadTopologyTest, ContradictionsAreReportedAndSurvived) {
  // Two ports that claim one peer: the peer decides.
  EXPECT_EQ(LinkCount(*OneRemark("Switch 2 \"A\"\n[1] \"B\"[1]\n[2] \"B\"[1]\n\n"
                                 "Switch 2 \"B\"\n[1] \"A\"[2]\n",
                                 2, "linked elsewhere")),
            1u);
  EXPECT_EQ(LinkCount(*OneRemark("Switch 2 \"A\"\n[1] \"A\"[1]\n", 2, "itself")), 0u);
  EXPECT_EQ(LinkCount(*OneRemark("Switch 2 \"A\"\n[1] \"A\"[3]\n", 2, "no port of this number")),
            0u);
  EXPECT_EQ(LinkCount(*OneRemark("Switch 2 \"A\"\n[3] \"A\"[1]\n", 2, "no port of this number")),
            0u);
  EXPECT_EQ(LinkCount(*OneRemark("Switch 2 \"A\"\n[0] \"A\"[1]\n", 2, "no port of this number")),
            0u);
  EXPECT_EQ(OneRemark("Switch 2 \"A\"\n\nSwitch 3 \"A\"\n", 3, "id was read before")->node_count(),
            1u);
  EXPECT_EQ(OneRemark("switchguid=0x5\nSwitch 2 \"A\"\n\nswitchguid=0x5\nSwitch 3 \"B\"\n", 5,
                      "GUID 0x0000000000000005 was read before")
                ->node_count(),
            1u);
  OneRemark("oops: umad timeout\nSwitch 2 \"A\"\n", 1, "not a line of a topology");
  OneRemark("[1] \"A\"[1]\nSwitch 2 \"A\"\n", 1, "belongs to no node");
  OneRemark("Switch 255 \"B\"\nSwitch 2 \"A\"\n", 1, "number of ports");
  OneRemark("Switch 2 A\nSwitch 2 \"A\"\n", 1, "node id");
}

// The ports of a record with an unreadable heading belong to no node, and not to the node before.
TEST(ReadTopologyTest, PortsOfUnreadableHeadingsAreLeftOut) {
  for (const char* heading : {"Switch 255 \"C\"\n", "\nSwtch 4 \"C\"\n", "vendid=0x2\nSwi\n"}) {
    const ReadResult result =
        ReadTopology(fmt::format("Switch 4 \"A\"\n[1] \"B\"[1]\n{}[2] \"B\"[2]\n[3] \"B\"[3]\n\n"
                                 "Switch 4 \"B\"\n# a comment ends no record\n[1] \"A\"[1]\n",
                                 heading));
    ASSERT_TRUE(result.status.ok()) << heading;
    EXPECT_EQ(result.skipped.size(), 3u) << heading;
    EXPECT_EQ(LinkCount(*result.snapshot), 1u) << heading;
  }
}

TEST(ReadTopologyTest, UnknownSpeedIsKeptAsUnknown) {
  const auto snapshot = OneRemark(
      "Switch 2 \"A\"\n[1] \"A\"[2] # \"a\" lid 1 4xYDR\n[2] \"A\"[1] # \"a\" lid 1 4x???\n", 2,
      "used without the end");
  EXPECT_EQ(snapshot->node(NodeIndex(0))->ports[1].Speed(), LinkSpeed::kUnknown);
  EXPECT_EQ(LinkCount(*snapshot), 1u);
}

TEST(ReadTopologyTest, PortList) {
  const auto snapshot = Clean(
      "DR path slid 0; dlid 0; 0,1 -> new Switch {b} portnum 0 lid 0-0 \"\"\n"
      "CA   134  2 0x00000000000000c2 4x EDR - SW  1719 10 0x00000000000000b0 ( 'o1 HCA-1' - "
      "'it's' )\n"
      "SW  1719 10 0x00000000000000b0 4x EDR - CA   134  2 0x00000000000000c2 ( 'it's' - 'o1 "
      "HCA-1' )\n"
      "SW  1719  1 0x00000000000000b0 4x FDR10 - SW  1516 36 0x00000000000000b1 ( 'it's' - 's2' )\n"
      "SW  1719 37 0x00000000000000b0 4x ???                                    'it's'\n");
  EXPECT_EQ(snapshot->node_count(), 3u);
  EXPECT_EQ(LinkCount(*snapshot), 2u);
  const Node& leaf = *snapshot->FindNode(Guid(0xb0));
  EXPECT_EQ(leaf.description, "it's");
  EXPECT_EQ(leaf.info.num_ports, 37);
  EXPECT_EQ(leaf.ports[0].info.lid, Lid(1719));
  EXPECT_EQ(leaf.ports[1].Speed(), LinkSpeed::kFdr10);
  EXPECT_EQ(snapshot->FindNode(Guid(0xb1))->ports[0].info.lid, Lid(1516));
  const Node& adapter = *snapshot->FindNode(Guid(0xc2));
  EXPECT_EQ(adapter.ports[2].guid, Guid(0xc2));
  EXPECT_EQ(adapter.ports[2].info.lid, Lid(134));
}

TEST(ReadTopologyTest, TextWithoutNodesIsRefused) {
  for (const std::string_view text : {"", "\n\n", "# nothing\n", "total garbage\n"}) {
    const ReadResult result = ReadTopology(text);
    EXPECT_EQ(result.status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(result.snapshot, nullptr);
  }
}

// A text that is cut inside a line must not be accepted, unless the rest of that line is valid.
TEST(ReadTopologyTest, CutTextNamesItsLine) {
  size_t line = 1, refused = 0;
  for (size_t size = 1; size < kPair.size(); ++size) {
    const std::string_view cut = kPair.substr(0, size);
    const ReadResult result = ReadTopology(cut);
    if (cut.back() == '\n') ++line;
    const size_t last = cut.back() == '\n' ? line - 1 : line;
    if (result.status.ok()) {
      const std::string_view rest = kPair.substr(size, kPair.find('\n', size) - size);
      // Nothing but blanks was lost, or a digit at the end of an LMC, or the record had ended.
      EXPECT_TRUE(cut.back() == '\n' || rest.empty()) << last << ": lost " << rest;
      continue;
    }
    ++refused;
    EXPECT_THAT(Message(result.status), testing::StartsWith("line "));
    if (cut.back() != '\n' && cut.find("Switch") != cut.npos) {
      EXPECT_THAT(Message(result.status), HasSubstr(fmt::format("line {}:", last))) << cut;
    }
  }
  EXPECT_GT(refused, kPair.size() * 3 / 4);
}

TEST(WriteIbnetdiscoverTest, WritesTheTextThatItRead) {
  TopologyTextOptions options;
  options.generated_on = "Tue Feb 23 14:02:12 2021";
  options.from_node = Guid(0x100000);
  options.from_port = Guid(0x100001);
  EXPECT_EQ(WriteIbnetdiscover(*Clean(kPair), options), kPair);
}

TEST(WriteIbnetdiscoverTest, NamesReplaceDescriptions) {
  const NodeNameMap names = NodeNameMap::Parse("0xb1 \"leaf-one\"\n");
  TopologyTextOptions options;
  options.names = &names;
  const std::string text = WriteIbnetdiscover(*Clean(kPair), options);
  EXPECT_THAT(text, HasSubstr("# \"leaf-one\" enhanced port 0"));
  EXPECT_THAT(text, HasSubstr("lid 9 lmc 1 \"leaf-one\" lid 13"));
  EXPECT_THAT(text, HasSubstr("\"node1 mlx5_0\""));
}

TEST(WriteIbsimTest, NotesItsChanges) {
  const auto snapshot = OneRemark(R"(switchguid=0xa
Switch 2 "S-000000000000000a" # "a "quoted" name" base port 0 lid 1 lmc 0
[1] "H-000000000000000b"[1](b) # "n" lid 2 4xNDR

caguid=0xb
Ca 2 "H-000000000000000b" # "n"
[1](b) "S-000000000000000a"[1] # lid 2 lmc 0 "s" lid 1 4xNDR
[2](d) "S-000000000000000a"[2] # lid 2 lmc 0 "s" lid 1 4xHDR
)",
                                  8, "no line for this link");
  const IbsimText ibsim = WriteIbsim(*snapshot);
  EXPECT_THAT(
      ibsim.changes,
      testing::ElementsAre("port speeds above HDR, written as HDR: 2",
                           "descriptions with quotation marks or more than 63 bytes, changed: 1",
                           "port GUIDs that will be node GUID + port number: 1"));
  EXPECT_THAT(ibsim.text, HasSubstr("\"a 'quoted' name\""));
  EXPECT_THAT(ibsim.text,
              HasSubstr("[1](c) \t\"S-000000000000000a\"[1]\t\t# lid 2 lmc 0 \"a 'quoted' "
                        "name\" lid 1 4xHDR\n"));
  EXPECT_THAT(Clean(ibsim.text), testing::NotNull());
  EXPECT_THAT(WriteIbsim(*Clean(ibsim.text)).changes, IsEmpty());
}

TEST(ReadTopologyTest, FifteenThousandNodes) {
  SnapshotBuilder builder;
  std::vector<NodeIndex> leaves;
  for (uint64_t guid = 1; guid <= 15000; ++guid) {
    wire::NodeInfo info;
    info.node_guid = Guid(guid);
    info.node_type = guid <= 500 ? wire::NodeType::kSwitch : wire::NodeType::kChannelAdapter;
    info.num_ports = guid <= 500 ? 64 : 1;
    const NodeIndex node = builder.PutNode(info);
    builder.SetDescription(node, fmt::format("node{} mlx5_0", guid));
    if (guid <= 500) {
      leaves.push_back(node);
    } else {
      const uint64_t slot = guid - 501;
      builder.Link({node, PortNum(1)},
                   {leaves[slot % 500], PortNum(static_cast<uint8_t>(slot / 500 + 1))});
    }
  }
  const std::string text = WriteIbnetdiscover(*builder.Build(), {});
  const ReadResult result = ReadTopology(text);
  ASSERT_TRUE(result.status.ok());
  EXPECT_EQ(result.snapshot->node_count(), 15000u);
  EXPECT_EQ(LinkCount(*result.snapshot), 14500u);
}

}  // namespace
}  // namespace fabricd::fabric
