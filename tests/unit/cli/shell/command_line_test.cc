// SPDX-License-Identifier: Apache-2.0
// Whole commands against a server in this process: what they print and their exit codes (DESIGN
// §4).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <google/protobuf/util/json_util.h>

#include "tests/unit/cli/command_fixture.h"
#include "tests/unit/daemon/rpc/running_server.h"
#include "tests/unit/daemon/rpc/sample_sa.h"

namespace fabricd::cli {
namespace {

using rpc::testing::FakeBackend;
using rpc::testing::RunningServer;
using rpc::testing::SmallFabric;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class CommandLineTest : public testing::CommandFixture {
 protected:
  // Runs "fabricctl --server … WORDS"; words with blanks are given in one piece.
  int Run(std::vector<std::string> words) { return RunAt(running_.socket(), std::move(words)); }

  std::string Complete(std::vector<std::string> words) {
    words.insert(words.begin(),
                 {"fabricctl", "__complete", "--server", "unix:" + running_.socket()});
    EXPECT_EQ(RunBare(words), 0);
    EXPECT_EQ(error_, "");
    return out_;
  }

  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View()};
  RunningServer running_{backend_};
};

TEST_F(CommandLineTest, GetInEveryForm) {
  for (const char* resource : {"nodes", "no", "hosts", "ho", "switches", "sw", "ports", "po",
                               "links", "li", "sm", "node", "port"}) {
    for (const char* format : {"table", "wide", "json", "yaml", "name"}) {
      EXPECT_EQ(Run({"get", resource, "-o", format}), 0) << resource << " " << format << error_;
      EXPECT_THAT(out_, Not(IsEmpty())) << resource << " " << format;
    }
  }
  EXPECT_EQ(Run({"get", "switches"}), 0);
  EXPECT_EQ(out_,
            "NAME                   STATUS     LID   PORTS   GUID\n"
            "MF0;spine:MQM8700/U1   Degraded   3     2/4     0x0000000000200200\n"
            "leaf1                  Active     1     2/4     0x0000000000200000\n"
            "leaf2                  Degraded   2     3/4     0x0000000000200100\n");
  EXPECT_EQ(Run({"get", "switches", "leaf1", "--no-headers", "-o", "name"}), 0);
  EXPECT_EQ(out_, "switch/leaf1\n");
  EXPECT_EQ(Run({"get", "port/leaf1/3", "--no-headers"}), 0);
  EXPECT_THAT(out_, StartsWith("leaf1/3   ACTIVE"));
}

// Acceptance of the first version of the API: scripts read this output.
TEST_F(CommandLineTest, GetSmAsJson) {
  ASSERT_EQ(Run({"get", "sm", "-o", "json"}), 0);
  for (const char* field :
       {"\"state\": \"MASTER\"", "\"guid\": \"0x", "\"lid\": 4", "\"priority\": 5",
        "\"subnet_up\": true", "\"generation\": 7", "\"engine\": \"up_down\"", "\"nodes\": 6",
        "\"switches\": 3", "\"hosts\": 2", "\"links\": 5", "\"ports_active\": 10",
        "\"kind\": \"HEAVY\"", "\"duration_ms\": 12.5", "\"smps_sent\": 120",
        "\"smps_by_attribute\": {"}) {
    EXPECT_THAT(out_, HasSubstr(field));
  }
}

TEST_F(CommandLineTest, OneNameGivesTheObjectItself) {
  ASSERT_EQ(Run({"get", "node", "leaf1", "-o", "json"}), 0);
  rpc::testing::pb::Node node;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(out_, &node).ok()) << out_;
  EXPECT_EQ(node.name(), "leaf1");
  ASSERT_EQ(Run({"get", "node", "leaf1", "leaf2", "-o", "json"}), 0);
  rpc::testing::pb::ListNodesResponse nodes;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(out_, &nodes).ok()) << out_;
  EXPECT_EQ(nodes.nodes_size(), 2);
}

TEST_F(CommandLineTest, DegradedAndState) {
  ASSERT_EQ(Run({"get", "links", "--degraded", "--no-headers"}), 0);
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 1);
  EXPECT_THAT(out_, HasSubstr("ACTIVE,Degraded"));
  ASSERT_EQ(Run({"get", "ports", "leaf1", "--state", "DOWN,INIT", "--no-headers"}), 0);
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 2);
  EXPECT_EQ(Run({"get", "ports", "--state", "UP"}), 2);
}

TEST_F(CommandLineTest, SubnetAdministration) {
  backend_.sa_reads = rpc::testing::SampleSa(*backend_.view());
  for (const std::vector<std::string>& words : {std::vector<std::string>{"records", "node"},
                                                {"services"},
                                                {"subscriptions"},
                                                {"multicast"}}) {
    for (const char* format : {"table", "wide", "json", "yaml", "name"}) {
      std::vector<std::string> command = {"get", "-o", format};
      command.insert(command.end(), words.begin(), words.end());
      EXPECT_EQ(Run(command), 0) << words[0] << " " << format << error_;
      EXPECT_THAT(out_, Not(IsEmpty())) << words[0] << " " << format;
    }
  }
  EXPECT_EQ(Run({"get", "record", "node", "nodetype=2", "NodeDescription=leaf2", "--no-headers"}),
            0);
  EXPECT_THAT(out_, HasSubstr("leaf2"));
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 1);
  EXPECT_EQ(Run({"get", "rec", "path", "node1 mlx5_0", "node2", "HopLimit=0", "-o", "name"}), 0);
  EXPECT_EQ(out_, "record/path/0\n");
  EXPECT_EQ(Run({"get", "multicast", "0xc000", "-o", "name"}), 0);
  EXPECT_EQ(out_, "multicast/0xc000\n");
  EXPECT_EQ(Run({"get", "services", "osm", "-o", "name"}), 0);
  EXPECT_EQ(out_, "service/0x0000000000000077/fe80::10:201\n");

  EXPECT_EQ(Run({"get", "records"}), 2);
  EXPECT_EQ(Run({"get", "records", "flowers"}), 2);
  EXPECT_EQ(Run({"get", "records", "node", "Colour=red"}), 2);
  EXPECT_EQ(Run({"get", "records", "path"}), 2);
  EXPECT_EQ(Run({"get", "records", "path", "nobody"}), 3);
  EXPECT_EQ(Run({"get", "multicast", "0xc001"}), 3);
  EXPECT_EQ(Run({"get", "services", "mail"}), 3);
  EXPECT_EQ(Run({"get", "services", "--watch"}), 2);
  backend_.sa_reads = {};
  EXPECT_EQ(Run({"--timeout", "1s", "get", "services"}), 4);
}

TEST_F(CommandLineTest, PicksSortsAndChoosesColumns) {
  ASSERT_EQ(Run({"get", "ports", "-l", "role=host,rail=1", "-o", "name"}), 0) << error_;
  EXPECT_EQ(out_, "port/node1 mlx5_1/1\n");
  ASSERT_EQ(Run({"get", "ports", "--field-selector", "peer.node_name=leaf1", "-o", "name"}), 0);
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 2);
  ASSERT_EQ(
      Run({"get", "sw", "--sort-by", ".guid", "-o", "custom-columns=N:.name,LID:.end_ports.lid"}),
      0);
  EXPECT_EQ(out_,
            "N                      LID\n"
            "leaf1                  1\n"
            "leaf2                  2\n"
            "MF0;spine:MQM8700/U1   3\n");
  ASSERT_EQ(Run({"get", "nodes", "-l", "role=leaf", "-L", "role,rail", "--no-headers"}), 0);
  EXPECT_EQ(out_,
            "leaf1   SWITCH   Active     1   2/4   0x0000000000200000   leaf   0\n"
            "leaf2   SWITCH   Degraded   2   3/4   0x0000000000200100   leaf   <none>\n");
  ASSERT_EQ(Run({"get", "hosts", "node[2-2]", "--show-labels", "--no-headers"}), 0);
  EXPECT_THAT(out_, HasSubstr("rail=0,device=mlx5_0,state=ACTIVE,leaf=leaf2"));
  ASSERT_EQ(Run({"get", "nodes", "-o", "name"}), 0);
  const std::string whole = out_;
  ASSERT_EQ(Run({"get", "nodes", "-o", "name", "--chunk-size", "1"}), 0);
  EXPECT_EQ(out_, whole);
  EXPECT_EQ(Run({"get", "hosts", "node[1-2],node9", "--ignore-not-found"}), 0);
  EXPECT_EQ(out_ + error_, "");
  EXPECT_EQ(Run({"get", "hosts", "-l", "flower=red"}), 2);
  EXPECT_EQ(Run({"get", "hosts", "--sort-by", "flower"}), 2);
  EXPECT_EQ(Run({"get", "hosts", "-L", "flower"}), 2);
  EXPECT_EQ(Run({"get", "hosts", "-o", "custom-columns=A"}), 2);
  EXPECT_EQ(Run({"get", "hosts", "-o", "custom-columns"}), 2);
}

TEST_F(CommandLineTest, CompletesLiveNames) {
  EXPECT_EQ(Complete({"get", "nodes", "le"}), "leaf1\nleaf2\n");
  EXPECT_EQ(Complete({"describe", "port", "leaf1/"}),
            "leaf1/0\nleaf1/1\nleaf1/2\nleaf1/3\nleaf1/4\n");
  EXPECT_EQ(Complete({"trace", "node1/mlx5_1", "node2"}), "node2/mlx5_0\n");
  EXPECT_EQ(Complete({"cordon", "h"}), "hca\nhost\n");
  EXPECT_EQ(Complete({"cordon", "host", "node"}), "node1\nnode2\n");
  EXPECT_EQ(Complete({"drain", "switch", "leaf2", "leaf"}), "leaf1\nleaf2\n");
  // Nobody there: no names, and no error either.
  EXPECT_EQ(
      RunBare({"fabricctl", "__complete", "--server", "unix:/nonexistent/s", "get", "nodes", ""}),
      0);
  EXPECT_EQ(out_ + error_, "");
}

TEST_F(CommandLineTest, Contexts) {
  rpc::testing::TempDir directory;
  setenv("FABRICCTL_CONFIG", (directory / "deep/config.yaml").c_str(), 1);
  EXPECT_EQ(RunBare({"fabricctl", "config", "current-context"}), 3);
  EXPECT_EQ(RunBare({"fabricctl", "config", "set-context", "here"}), 2);
  ASSERT_EQ(Run({"config", "set-context", "here"}), 0) << error_;
  ASSERT_EQ(RunBare({"fabricctl", "config", "set-context", "there", "--server", "unix:/nowhere",
                     "--timeout", "1s"}),
            0);
  EXPECT_EQ(RunBare({"fabricctl", "config", "use-context", "nobody"}), 3);
  ASSERT_EQ(RunBare({"fabricctl", "config", "use-context", "here"}), 0);
  EXPECT_EQ(RunBare({"fabricctl", "get", "hosts", "-o", "name"}), 0) << error_;
  EXPECT_EQ(RunBare({"fabricctl", "--context", "there", "get", "hosts"}), 4);
  EXPECT_EQ(RunBare({"fabricctl", "--context", "nobody", "get", "hosts"}), 2);
  ASSERT_EQ(RunBare({"fabricctl", "config", "get-contexts"}), 0);
  EXPECT_THAT(out_, HasSubstr("*         here"));
  EXPECT_EQ(RunBare({"fabricctl", "__complete", "config", "use-context", ""}), 0);
  EXPECT_EQ(out_, "here\nthere\n");
  ASSERT_EQ(RunBare({"fabricctl", "config", "delete-context", "here"}), 0);
  EXPECT_EQ(RunBare({"fabricctl", "config", "current-context"}), 3);
  std::ofstream(directory / "deep/config.yaml") << "[";
  EXPECT_EQ(RunBare({"fabricctl", "get", "hosts"}), 2);
  EXPECT_EQ(RunBare({"fabricctl", "api-resources"}), 0);  // Needs no daemon.
  EXPECT_EQ(RunBare({"fabricctl", "explain", "port.peer"}), 0);
  EXPECT_EQ(RunBare({"fabricctl", "explain", "flower"}), 3);
}

TEST_F(CommandLineTest, TcpNeedsCertificates) {
  EXPECT_EQ(RunBare({"fabricctl", "--server", "localhost:4430", "get", "hosts"}), 2);
  EXPECT_THAT(error_, HasSubstr("--tls-ca"));
  EXPECT_EQ(RunBare({"fabricctl", "--server", "localhost:4430", "--tls-ca", "/nonexistent", "get",
                     "hosts"}),
            2);
}

TEST_F(CommandLineTest, ChecksOneHost) {
  EXPECT_EQ(Run({"check", "node", "node1", "--allow-degraded"}), 0);
  EXPECT_THAT(out_, StartsWith("node1 "));
  EXPECT_EQ(Run({"check", "node", "nobody"}), 3);
  EXPECT_EQ(Run({"check", "node", "nobody", "--exit-code=npd"}), 2);
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 1);
  EXPECT_EQ(error_, "");
  EXPECT_EQ(RunBare({"fabricctl", "--server", "unix:/nonexistent/s", "check", "node", "node1",
                     "--exit-code=npd"}),
            2);
}

TEST_F(CommandLineTest, TechSupportIsATarOfAll) {
  backend_.sa_reads = rpc::testing::SampleSa(*backend_.view());
  backend_.dumps = std::map<std::string, std::string>{{"opensm.fdbs", "text"}};
  rpc::testing::TempDir directory;
  const std::string path = directory / "case7.tar";
  ASSERT_EQ(Run({"tech-support", "-f", path}), 0) << error_;
  const std::string list = directory / "list";
  ASSERT_EQ(std::system(fmt::format("tar tf {} > {}", path, list).c_str()), 0);
  std::ifstream in(list);
  const std::string names = (std::stringstream() << in.rdbuf()).str();
  for (const char* name :
       {"version.txt", "nodes.json", "ports.json", "sms.json", "holds.json", "events.json",
        "partitions.conf", "ibnetdiscover.txt", "dump/opensm.fdbs"}) {
    EXPECT_THAT(names, HasSubstr(std::string("case7/") + name + "\n"));
  }
  EXPECT_EQ(Run({"tech-support", "-f", "/nonexistent/x.tar"}), 1);
}

TEST_F(CommandLineTest, DescribeTraceRoutes) {
  EXPECT_EQ(Run({"describe", "node", "leaf2"}), 0);
  EXPECT_THAT(out_, HasSubstr("leaf2/3"));
  EXPECT_EQ(Run({"describe", "host", "node1"}), 0);
  EXPECT_EQ(Run({"describe", "port", "leaf2/3"}), 0);
  EXPECT_EQ(Run({"describe", "sm"}), 0);
  EXPECT_THAT(out_, HasSubstr("Unresponsive"));
  EXPECT_EQ(Run({"trace", "node1 mlx5_0", "node2", "-o", "ibtracert"}), 0);
  EXPECT_THAT(out_,
              StartsWith("From ca {0x0000000000100000} portnum 1 lid 4-4 \"node1 mlx5_0\"\n"));
  EXPECT_EQ(Run({"routes", "leaf1", "-o", "ibroute"}), 0);
  EXPECT_THAT(
      out_,
      HasSubstr("0x0006 003 : (Channel Adapter portguid 0x0000000000100201: 'node2 mlx5_0')\n"));
  EXPECT_EQ(Run({"routes", "leaf1", "--to", "node2", "--no-headers"}), 0);
  EXPECT_EQ(out_, "6   3   node2 mlx5_0\n");
  EXPECT_EQ(Run({"routes", "leaf1", "--balance", "--no-headers"}), 0);
  EXPECT_EQ(out_, "0   1\n1   1\n3   5\n");
}

TEST_F(CommandLineTest, ATraceThatDoesNotArriveIsAFinding) {
  fabric_.rows[fabric_.leaf1].Set(6, routing::kNoRoute);
  backend_.Publish(fabric_.View(8));
  EXPECT_EQ(Run({"trace", "node1 mlx5_0", "node2"}), 1);
  EXPECT_THAT(error_, HasSubstr("leaf1 has no route to LID 6"));
}

TEST_F(CommandLineTest, Topology) {
  EXPECT_EQ(Run({"topology", "-o", "ibnetdiscover"}), 0);
  EXPECT_THAT(out_, HasSubstr("\"S-0000000000200100\""));
  EXPECT_EQ(Run({"topology", "-o", "json"}), 0);
  EXPECT_THAT(out_, StartsWith("{\"generation\":7,"));
  EXPECT_EQ(Run({"topology"}), 0);
  EXPECT_THAT(out_, StartsWith("3 switches, 2 hosts, 5 cables, 1 of them not as they should be\n"));
  for (const char* form : {"svg", "dot", "slurm-conf", "slurm-yaml", "topograph", "k8s-labels"}) {
    EXPECT_EQ(Run({"topology", "-o", form}), 0) << form;
    EXPECT_THAT(out_, HasSubstr("node1")) << form;
  }
  EXPECT_EQ(Run({"topology", "-o", "table"}), 2);
}

TEST_F(CommandLineTest, SweepDumpWait) {
  backend_.on_sweep = [](bool, const auto& done) { done(absl::OkStatus()); };
  EXPECT_EQ(Run({"sweep", "--heavy", "--wait"}), 0);
  EXPECT_EQ(out_, "heavy sweep done, subnet up (generation 7)\n");
  backend_.on_sweep = [](bool, const auto& done) {
    done(absl::FailedPreconditionError("standby"));
  };
  EXPECT_EQ(Run({"sweep", "--heavy"}), 6);

  backend_.dumps = std::map<std::string, std::string>{{"opensm.fdbs", "text"}};
  rpc::testing::TempDir directory;
  EXPECT_EQ(Run({"dump", "--dir", directory / "new/deep"}), 0);
  std::ifstream in(directory / "new/deep/opensm.fdbs");
  EXPECT_EQ((std::stringstream() << in.rdbuf()).str(), "text");
  backend_.dumps = std::map<std::string, std::string>{{"../evil", "text"}};
  EXPECT_EQ(Run({"dump", "--dir", directory / "new/deep"}), 1);
  EXPECT_FALSE(std::filesystem::exists(directory / "new/evil"));

  EXPECT_EQ(Run({"wait", "sm", "--for=subnet_up"}), 0);
  EXPECT_EQ(Run({"wait", "sm", "--for=nodes=7", "--timeout", "150ms"}), 4);
  EXPECT_EQ(Run({"wait", "sm", "--for=nonsense"}), 2);
}

TEST_F(CommandLineTest, WaitSeesTheChange) {
  std::thread change([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    backend_.Publish(fabric_.View(99));
  });
  EXPECT_EQ(Run({"wait", "sm", "--for=generation>=99", "--timeout", "20s"}), 0);
  change.join();
}

TEST_F(CommandLineTest, ExitCodes) {
  EXPECT_EQ(Run({"get", "node", "leaf9"}), 3);
  EXPECT_THAT(error_, HasSubstr("leaf9"));
  EXPECT_EQ(Run({"get", "switches", "node2"}), 3);
  EXPECT_EQ(Run({"get", "things"}), 2);
  EXPECT_EQ(Run({"get"}), 2);
  EXPECT_EQ(Run({"get", "nodes", "-o", "xml"}), 2);
  EXPECT_EQ(Run({"get", "nodes", "-o", "ibroute"}), 2);
  EXPECT_EQ(Run({"get", "nodes", "--timeout", "soon"}), 2);
  EXPECT_EQ(Run({"trace", "leaf1"}), 2);
  EXPECT_EQ(RunBare({"fabricctl", "frobnicate"}), 2);
  EXPECT_THAT(error_, HasSubstr("frobnicate"));
  EXPECT_EQ(RunBare({"fabricctl", "--help"}), 0);
  EXPECT_EQ(RunBare({"fabricctl", "--server", "unix:/nonexistent/s", "get", "nodes"}), 4);
  EXPECT_THAT(error_, HasSubstr("/nonexistent/s"));
  EXPECT_EQ(Run({"sim", "unlink", "leaf1[3]"}), 1);  // No simulator: the call is not there.
  EXPECT_THAT(error_, HasSubstr("--fabric sim"));
}

TEST_F(CommandLineTest, ColorOnlyWhenAsked) {
  ASSERT_EQ(Run({"get", "nodes"}), 0);  // Not a terminal.
  EXPECT_THAT(out_, Not(HasSubstr("\x1b")));
  ASSERT_EQ(Run({"get", "nodes", "--color", "always"}), 0);
  EXPECT_THAT(out_, HasSubstr("\x1b[32mActive\x1b[0m"));
}

}  // namespace
}  // namespace fabricd::cli
