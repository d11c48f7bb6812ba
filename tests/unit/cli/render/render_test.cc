// SPDX-License-Identifier: Apache-2.0
// What operators see, word for word (tests/golden/cli).
#include "cli/render/describe.h"
#include "cli/render/infiniband_text.h"
#include "cli/render/tables.h"
#include "tests/unit/cli/golden.h"
#include "tests/unit/cli/sample.h"

namespace fabricd::cli::testing {
namespace {

std::string NarrowAndWide(const Table& narrow, const Table& wide) {
  return narrow.Render({}) + "\n" + wide.Render({});
}

TEST(RenderTest, Nodes) {
  ExpectGolden("nodes",
               NarrowAndWide(NodeTable(SampleNodes(), false), NodeTable(SampleNodes(), true)));
}
TEST(RenderTest, Switches) {
  pb::ListNodesResponse switches = SampleNodes();
  switches.mutable_nodes()->DeleteSubrange(2, 2);
  ExpectGolden("switches",
               NarrowAndWide(SwitchTable(switches, false), SwitchTable(switches, true)));
}
TEST(RenderTest, Hosts) {
  ExpectGolden("hosts",
               NarrowAndWide(HostTable(SampleHosts(), false), HostTable(SampleHosts(), true)));
}
TEST(RenderTest, Ports) {
  ExpectGolden("ports",
               NarrowAndWide(PortTable(SamplePorts(), false), PortTable(SamplePorts(), true)));
}
TEST(RenderTest, Links) {
  ExpectGolden("links",
               NarrowAndWide(LinkTable(SampleLinks(), false), LinkTable(SampleLinks(), true)));
}
TEST(RenderTest, Sm) {
  ExpectGolden("sm", NarrowAndWide(SmTable(SampleSm(), false), SmTable(SampleSm(), true)));
}
TEST(RenderTest, Routes) {
  ExpectGolden("routes",
               NarrowAndWide(RouteTable(SampleRoutes(), false), RouteTable(SampleRoutes(), true)));
}
TEST(RenderTest, Trace) {
  ExpectGolden("trace",
               NarrowAndWide(PathTable(SampleTrace(), false), PathTable(SampleTrace(), true)));
}
TEST(RenderTest, DescribeSwitch) {
  ExpectGolden("describe_switch", DescribeNode(SampleNodes().nodes(0), SamplePorts(), {}));
}
TEST(RenderTest, DescribeCa) {
  ExpectGolden("describe_ca", DescribeNode(SampleNodes().nodes(2), {}, {}));
}
TEST(RenderTest, DescribeHost) {
  pb::HostReadiness readiness;
  readiness.set_host("node1");
  readiness.set_readiness(pb::READINESS_DEGRADED);
  readiness.add_reasons("mlx5_2 is not on the fabric: 7 of 8 hosts of its unit have it");
  ExpectGolden("describe_host", DescribeHost(SampleHosts().hosts(0), readiness, {}));
}
TEST(RenderTest, DescribeAbsentHost) {
  pb::HostReadiness readiness;
  readiness.set_host("node1");
  readiness.set_readiness(pb::READINESS_HELD);
  readiness.add_reasons("disable of port leaf1/3 (hold 7, alice): bit errors");
  readiness.add_reasons("it has left the fabric with all of its 2 NICs");
  ExpectGolden("describe_absent_host", DescribeAbsentHost(readiness, {}));
}
// Devices and users choose node descriptions and reasons.
TEST(RenderTest, NoTextReachesATerminalAsAControlSequence) {
  const std::string hostile =
      "a\x1b[2J\nb\t\x7f\xc2\x9b"
      "c\xe2\x80\xae";
  EXPECT_EQ(OneLine(hostile), "a\\x1b[2J\\nb\\t\\x7f\\x9bc\\u202e");
  EXPECT_EQ(ForTerminal(hostile), "a\\x1b[2J\nb\t\\x7f\\x9bc\\u202e");
  EXPECT_EQ(ForTerminal("\x1b[32mok\x1b[0m é 設備\n"), "\x1b[32mok\x1b[0m é 設備\n");
  Table table({"NAME", "STATUS"});
  table.AddRow({hostile, Cell(hostile, Tone::kBad)});
  EXPECT_EQ(table.Render({false, true}),
            OneLine(hostile) + "   \x1b[31m" + OneLine(hostile) + "\x1b[0m\n");
}
TEST(RenderTest, DescribePort) {
  ExpectGolden("describe_port", DescribePort(SamplePorts().ports(3), {}));
}
TEST(RenderTest, DescribeUnreadPort) {
  ExpectGolden("describe_port_unread", DescribePort(SamplePorts().ports(4), {}));
}
TEST(RenderTest, DescribeSm) { ExpectGolden("describe_sm", DescribeSm(SampleSm(), {})); }

// The golden files of these two are what ibroute and ibtracert of infiniband-diags 44 print for
// this fabric on ibsim under opensm (LID 1076, which the sample leaves without a route, apart).
TEST(RenderTest, Ibroute) { ExpectGolden("ibroute", ToIbroute(SampleRoutes())); }
TEST(RenderTest, Ibtracert) { ExpectGolden("ibtracert", ToIbtracert(SampleTrace())); }

TEST(RenderTest, IbtracertOfAPathThatStops) {
  pb::TracePathResponse trace = SampleTrace();
  trace.mutable_paths(0)->set_reachable(false);
  trace.mutable_paths(0)->mutable_hops()->RemoveLast();
  const std::string text = ToIbtracert(trace);
  EXPECT_EQ(text.find("\nTo "), std::string::npos) << text;
  EXPECT_NE(text.find("\"leaf2\"\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace fabricd::cli::testing
