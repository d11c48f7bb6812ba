// SPDX-License-Identifier: Apache-2.0
// OpenSM's dumps, against what Debian's OpenSM 3.3.23 printed for the same fabric on ibsim.
#include "fabric/opensm_dumps.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"

namespace fabricd::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kTopology = R"(vendid=0x2c9
devid=0xd2f0
sysimgguid=0xb8599f0300fc6de4
switchguid=0xb8599f0300fc6de4(b8599f0300fc6de4)
Switch	8 "S-b8599f0300fc6de4"		# "MF0;leaf1:MQM8700/U1" enhanced port 0 lid 4 lmc 0
[1]	"H-0000000000100000"[1](100001) 		# "node1 mlx5_0" lid 5 4xEDR
[3]	"S-b8599f0300fc6d00"[8]		# "leaf {2}" lid 2 2xHDR
[7]	"S-b8599f0300fc6de4"[8]		# "MF0;leaf1:MQM8700/U1" lid 4 1xFDR
[8]	"S-b8599f0300fc6de4"[7]		# "MF0;leaf1:MQM8700/U1" lid 4 1xFDR

vendid=0x2c9
devid=0xb924
sysimgguid=0xb8599f0300fc6d08
switchguid=0xb8599f0300fc6d00(b8599f0300fc6d00)
Switch	24 "S-b8599f0300fc6d00"		# "leaf {2}" base port 0 lid 2 lmc 0
[5]	"R-0000000000300000"[1](300001) 		# "router" lid 6 4xNDR
[8]	"S-b8599f0300fc6de4"[3]		# "MF0;leaf1:MQM8700/U1" lid 4 2xHDR

vendid=0x2c9
devid=0x1021
sysimgguid=0x100000
caguid=0x100000
Ca	2 "H-0000000000100000"		# "node1 mlx5_0"
[1](100001) 	"S-b8599f0300fc6de4"[1]		# lid 5 lmc 0 "MF0;leaf1:MQM8700/U1" lid 4 4xEDR

vendid=0x2c9
devid=0x1021
sysimgguid=0x300000
rtguid=0x300000
Rt	2 "R-0000000000300000"		# "router"
[1](300001) 	"S-b8599f0300fc6d00"[5]		# lid 6 lmc 0 "leaf {2}" lid 2 4xNDR
)";

class OpensmDumpsTest : public testing::Test {
 protected:
  void SetUp() override {
    ReadResult read = ReadTopology(kTopology);
    ASSERT_TRUE(read.status.ok()) << Message(read.status);
    ASSERT_THAT(read.skipped, IsEmpty());
    snapshot_ = read.snapshot;
    snapshot_->ForEachNode([&](const Node& node) {
      for (size_t i = node.first_end_port().value(); i <= node.last_end_port().value(); ++i) {
        const Lid lid = node.ports[i].info.lid;
        if (lid) lids_.Assign({node.index, PortNum(static_cast<uint8_t>(i))}, {lid, 0});
      }
    });
    leaf1_ = snapshot_->FindIndex(Guid(0xb8599f0300fc6de4));
    leaf2_ = snapshot_->FindIndex(Guid(0xb8599f0300fc6d00));
  }
  // LID 3 and 1 are nobody's; leaf2 sends LID 5 to the router by mistake.
  EgressPortOf Tables() const {
    return [this](NodeIndex node, Lid lid) -> uint8_t {
      static constexpr uint8_t kLeaf1[] = {255, 255, 3, 255, 0, 1, 3};
      static constexpr uint8_t kLeaf2[] = {255, 255, 0, 255, 8, 5, 5};
      if (lid.value() >= 7) return 255;
      return (node == leaf1_ ? kLeaf1 : kLeaf2)[lid.value()];
    };
  }
  std::shared_ptr<const FabricSnapshot> snapshot_;
  LidTable lids_;
  NodeIndex leaf1_, leaf2_;
};

TEST_F(OpensmDumpsTest, SubnetLst) {
  std::string text;
  WriteSubnetLst(*snapshot_, lids_, leaf1_, AppendTo(text));
  EXPECT_THAT(
      text,
      HasSubstr("{ CA Ports:02 SystemGUID:0000000000100000 NodeGUID:0000000000100000 "
                "PortGUID:0000000000100001 VenID:0002C9 DevID:1021 Rev:00000000 {node1 mlx5_0} "
                "LID:0005 PN:01 } { SW-SM Ports:08 SystemGUID:b8599f0300fc6de4 "
                "NodeGUID:b8599f0300fc6de4 PortGUID:b8599f0300fc6de4 VenID:000002C9 DevID:D2F00000 "
                "Rev:00000000 {MF0;leaf1:MQM8700/U1} LID:0004 PN:01 } PHY=4x LOG=INI SPD=25\n"));
  EXPECT_THAT(text, HasSubstr("Ports:18 "));
  EXPECT_THAT(text, HasSubstr("{leaf (2)} LID:0002 PN:05 } { Rt "));
  EXPECT_THAT(text, HasSubstr(" PHY=1x LOG=INI SPD=14\n"));
  EXPECT_THAT(text, HasSubstr(" PHY=4x LOG=INI SPD=100\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8);  // Four links, from both ends.
}

TEST_F(OpensmDumpsTest, SubnetLstIsReadBack) {
  std::string text;
  WriteSubnetLst(*snapshot_, lids_, NodeIndex::None(), AppendTo(text));
  const ReadResult read = ReadTopology(text);
  ASSERT_TRUE(read.status.ok()) << Message(read.status);
  EXPECT_THAT(read.skipped, IsEmpty());
  std::string expected(kTopology);
  while (true) {
    const size_t brace = expected.find_first_of("{}");
    if (brace == std::string::npos) break;
    expected[brace] = expected[brace] == '{' ? '(' : ')';
  }
  // The list does not say which port 0 is enhanced.
  const size_t enhanced = expected.find("enhanced");
  expected.replace(enhanced, 8, "base");
  EXPECT_EQ(WriteIbnetdiscover(*read.snapshot, {}),
            WriteIbnetdiscover(*ReadTopology(expected).snapshot, {}));
}

TEST_F(OpensmDumpsTest, DownLinksAreNotListed) {
  std::string text;
  const ReadResult read = ReadTopology("Switch 2 \"A\"\n\nSwitch 2 \"B\"\n");
  WriteSubnetLst(*read.snapshot, LidTable(), NodeIndex::None(), AppendTo(text));
  EXPECT_EQ(text, "");
}

TEST_F(OpensmDumpsTest, Fdbs) {
  std::string text;
  WriteFdbs(*snapshot_, lids_, Tables(), AppendTo(text));
  EXPECT_EQ(text, R"(dump_ucast_routes: Switch 0xb8599f0300fc6d00
LID    : Port : Hops : Optimal
0x0001 : UNREACHABLE
0x0002 : 000  : 00   : yes
0x0003 : UNREACHABLE
0x0004 : 008  : 01   : yes
0x0005 : 005  : 00   : no
0x0006 : 005  : 01   : yes
dump_ucast_routes: Switch 0xb8599f0300fc6de4
LID    : Port : Hops : Optimal
0x0001 : UNREACHABLE
0x0002 : 003  : 01   : yes
0x0003 : UNREACHABLE
0x0004 : 000  : 00   : yes
0x0005 : 001  : 01   : yes
0x0006 : 003  : 02   : yes
)");
}

TEST_F(OpensmDumpsTest, LftsDump) {
  std::string text;
  WriteLftsDump(*snapshot_, lids_, Tables(), AppendTo(text));
  EXPECT_THAT(
      text,
      testing::EndsWith(
          R"(Unicast lids [0-6] of switch Lid 4 guid 0xb8599f0300fc6de4 ('MF0;leaf1:MQM8700/U1'):
0x0002 003 # Switch portguid 0xb8599f0300fc6d00: 'leaf {2}'
0x0004 000 # Switch portguid 0xb8599f0300fc6de4: 'MF0;leaf1:MQM8700/U1'
0x0005 001 # Channel Adapter portguid 0x0000000000100001: 'node1 mlx5_0'
0x0006 003 # Router portguid 0x0000000000300001: 'router'
6 lids dumped
)"));
}

TEST_F(OpensmDumpsTest, TablesAreReadBackFromEitherDump) {
  std::string fdbs, lfts;
  WriteFdbs(*snapshot_, lids_, Tables(), AppendTo(fdbs));
  WriteLftsDump(*snapshot_, lids_, Tables(), AppendTo(lfts));
  for (const std::string& text : {fdbs, lfts}) {
    const UnicastTables read = ReadUnicastTables(text);
    EXPECT_THAT(read.skipped, IsEmpty());
    ASSERT_EQ(read.tables.size(), 2u);
    EXPECT_EQ(read.tables[0].switch_guid, Guid(0xb8599f0300fc6d00));
    EXPECT_THAT(read.tables[0].egress, ElementsAre(255, 255, 0, 255, 8, 5, 5));
    EXPECT_THAT(read.tables[1].egress, ElementsAre(255, 255, 3, 255, 0, 1, 3));
  }
}

TEST(ReadUnicastTablesTest, ReadsIbrouteAndReportsTheRest) {
  const UnicastTables read = ReadUnicastTables(
      "0x0001 001 : early\n"
      "Unicast lids [0x0-0x132] of switch Lid 1 guid 0x00066a02e8001310 (QLogic GUID=0x5 L101):\n"
      "  Lid  Out   Destination\n"
      "       Port     Info \n"
      "0x0001 000 : (Switch portguid 0x00066a02e8001310: 'QLogic')\n"
      "0xC000 001 : (multicast)\n"
      "0x0003 999 : (no port)\n"
      "ibroute: iberror: failed\n"
      "2 valid lids dumped \n");
  ASSERT_EQ(read.tables.size(), 1u);
  EXPECT_EQ(read.tables[0].switch_guid, Guid(0x66a02e8001310));
  EXPECT_THAT(read.tables[0].egress, ElementsAre(255, 0));
  std::vector<size_t> lines;
  for (const SkippedLine& skipped : read.skipped) lines.push_back(skipped.line);
  EXPECT_THAT(lines, ElementsAre(1, 6, 7, 8));
}

TEST(ReadUnicastTablesTest, ADescriptionLikeAHeadingIsNoHeading) {
  const UnicastTables read = ReadUnicastTables(
      "Unicast lids [0-1] of switch Lid 1 guid 0x5 ('Switch 0x6 guid 0x7'):\n0x0001 002 # x\n");
  ASSERT_EQ(read.tables.size(), 1u);
  EXPECT_EQ(read.tables[0].switch_guid, Guid(5));
}

TEST_F(OpensmDumpsTest, PathSl) {
  std::string text;
  const auto level = [&](NodeIndex at, Lid lid) {
    return static_cast<uint8_t>((at == leaf1_ ? 10 : 0) + lid.value() % 2);
  };
  WritePathSlDump(*snapshot_, lids_, level, AppendTo(text));
  EXPECT_EQ(text,
            "0x0000000000100000 2 10\n0x0000000000100000 4 10\n0x0000000000100000 5 11\n"
            "0x0000000000100000 6 10\n0x0000000000300000 2 0\n0x0000000000300000 4 0\n"
            "0x0000000000300000 5 1\n0x0000000000300000 6 0\n0xb8599f0300fc6d00 2 0\n"
            "0xb8599f0300fc6d00 4 0\n0xb8599f0300fc6d00 5 1\n0xb8599f0300fc6d00 6 0\n"
            "0xb8599f0300fc6de4 2 10\n0xb8599f0300fc6de4 4 10\n0xb8599f0300fc6de4 5 11\n"
            "0xb8599f0300fc6de4 6 10\n");
}

TEST_F(OpensmDumpsTest, Sl2vl) {
  std::string text;
  WriteSl2vlDump(*snapshot_, 3, AppendTo(text));
  EXPECT_THAT(text, HasSubstr("0xb8599f0300fc6de4 0 8 0x01 0x20 0x12 0x01 0x20 0x12 0x01 0x20\n"));
  // Each in-port with each out-port.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 9 * 8 + 25 * 24);
}

TEST_F(OpensmDumpsTest, Mcfdbs) {
  const auto entries = [&](NodeIndex node) -> std::vector<MulticastEntry> {
    if (node == leaf1_)
      return {{Lid(0xC000), {PortNum(1), PortNum(3)}}, {Lid(0xC001), {PortNum(24)}}};
    return {};
  };
  std::string text;
  WriteMcfdbs(*snapshot_, entries, AppendTo(text));
  EXPECT_EQ(text,
            "\nSwitch 0xb8599f0300fc6de4\nLID    : Out Port(s)\n0xC000 : 0x001  0x003 \n"
            "0xC001 : 0x018 \n");
  const MulticastTables read = ReadMcfdbs(text);
  EXPECT_THAT(read.skipped, IsEmpty());
  ASSERT_EQ(read.tables.size(), 1u);
  EXPECT_EQ(read.tables[0].entries, entries(leaf1_));
  EXPECT_EQ(ReadMcfdbs("0xC000 : 0x001\nSwitch 0x5\n0xC000 : 0xFFF\nwhat\n").skipped.size(), 3u);
}

}  // namespace
}  // namespace fabricd::fabric
