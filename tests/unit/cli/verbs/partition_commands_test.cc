// SPDX-License-Identifier: Apache-2.0
// The verbs about partitions against a server in this process: what they change, what they print,
// and their exit codes (DESIGN §4).
#include <fstream>

#include "policy/partitions_text.h"
#include "tests/unit/cli/command_fixture.h"
#include "tests/unit/daemon/rpc/partitions_backend.h"
#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class PartitionCommandsTest : public testing::CommandFixture {
 protected:
  int Run(std::vector<std::string> words) { return RunAt(running_.socket(), std::move(words)); }
  std::string File(const std::string& text) {
    const std::string path = directory_ / "partitions.conf";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string Text() { return policy::FormatPartitions(core_.fabric.partitions->partitions); }

  rpc::testing::TempDir directory_;
  rpc::testing::PartitionsBackend core_;
  rpc::testing::RunningServer running_{core_.backend};
};

TEST_F(PartitionCommandsTest, CreatesAndChangesOnePartition) {
  ASSERT_EQ(Run({"partition", "create", "tenant", "--p-key", "0x8005", "--member", "node[1-2]",
                 "--membership", "full", "--ipoib", "--wait"}),
            0)
      << error_;
  EXPECT_THAT(out_,
              AllOf(HasSubstr("+ tenant=0x0005,ipoib"), HasSubstr("partition/0x8005 changed")));
  EXPECT_EQ(core_.fabric.partitions->partitions.Find(5)->members.size(), 3u);
  ASSERT_EQ(Run({"partition", "add-member", "tenant", "SELF", "0xabcdef0123", "--dry-run=server"}),
            0);
  EXPECT_THAT(out_, AllOf(HasSubstr("+ 0x0005 tenant: SELF=limited"), HasSubstr("(dry run)")));
  ASSERT_EQ(Run({"partition", "add-member", "tenant", "--guid", "0xabcdef0123"}), 0);
  ASSERT_EQ(Run({"partition", "remove-member", "5", "node1"}), 0);
  EXPECT_EQ(core_.fabric.partitions->partitions.Find(5)->members.size(), 2u);
  ASSERT_EQ(Run({"partition", "remove-member", "5", "node1"}), 0);
  EXPECT_EQ(out_, "partition/0x8005 unchanged\n");
  ASSERT_EQ(Run({"get", "partitions", "-o", "name"}), 0);
  EXPECT_EQ(out_, "partition/0x8005\npartition/0xffff\n");
  ASSERT_EQ(Run({"describe", "partition/0x8005"}), 0);
  EXPECT_THAT(out_, HasSubstr("0x000000abcdef0123"));
  ASSERT_EQ(Run({"partition", "delete", "tenant", "--request-id", "x"}), 0);
  EXPECT_EQ(Run({"partition", "delete", "tenant"}), 3);
  EXPECT_EQ(Run({"partition", "delete", "tenant", "--ignore-not-found"}), 0);
  EXPECT_EQ(Run({"get", "partitions", "tenant"}), 3);
  EXPECT_EQ(Run({"partition", "create", "b", "--p-key", "flower"}), 2);
  EXPECT_EQ(Run({"partition", "create", "b", "--membership", "some"}), 2);
}

TEST_F(PartitionCommandsTest, AppliesAWholeFile) {
  const std::string file = File("tenant=1: ALL=full;\n");
  EXPECT_EQ(Run({"diff", "partitions", "-f", file}), 1);
  EXPECT_THAT(out_, HasSubstr("+ 0x0001 tenant: ALL=full\n"));
  EXPECT_EQ(Run({"apply", "partitions", "-f", file, "--dry-run=server"}), 0);
  EXPECT_EQ(core_.fabric.partitions->revision, 0u);
  EXPECT_EQ(Run({"apply", "partitions", "-f", file, "--wait"}), 0) << error_;
  EXPECT_EQ(core_.fabric.partitions->revision, 1u);
  EXPECT_EQ(Run({"diff", "partitions", "-f", file}), 0);
  EXPECT_EQ(out_, "");
  ASSERT_EQ(Run({"get", "partitions", "-o", "conf"}), 0);
  EXPECT_EQ(out_, Text());
  EXPECT_EQ(Run({"get", "nodes", "-o", "conf"}), 2);
}

TEST_F(PartitionCommandsTest, AFaultyFileListsAllItsFaults) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "a=1: nobody;\n";
  const std::string file = File(text);
  for (const char* verb : {"diff", "apply"}) {
    EXPECT_EQ(Run({verb, "partitions", "-f", file}), 2);
    EXPECT_THAT(error_, AllOf(HasSubstr("line 1: \"nobody\""), HasSubstr("line 30: \"nobody\""),
                              HasSubstr("error: 30 faults, nothing is changed")));
  }
  EXPECT_EQ(core_.asked.size(), 0u);
  EXPECT_EQ(Run({"apply", "partitions", "-f", directory_ / "none"}), 1);
}

TEST_F(PartitionCommandsTest, AStandbyRefuses) {
  core_.refusal = absl::FailedPreconditionError("this SM is STANDBY");
  EXPECT_EQ(Run({"apply", "partitions", "-f", File("a=1: ALL;")}), 6);
  EXPECT_EQ(Run({"partition", "create", "tenant"}), 6);
}

TEST_F(PartitionCommandsTest, WaitingEndsWithTheTimeout) {
  core_.in_effect = false;
  core_.Publish();
  EXPECT_EQ(Run({"--timeout", "300ms", "partition", "create", "tenant", "--wait"}), 4);
  EXPECT_THAT(error_, HasSubstr("timed out waiting for P_Key tables"));
}

}  // namespace
}  // namespace fabricd::cli
