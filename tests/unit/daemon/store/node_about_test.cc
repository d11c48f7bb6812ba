// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/node_about.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/store/temp_dir.h"

namespace fabricd::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NodeAbout, IsReadAsItWasWritten) {
  const NodeAbout about{
      "head1 pid 17",           "head1:7471", "1.2", "MASTER", Guid(0x0002c90300a1b2c3),
      {{"lid.lmc", "00c0ffee"}}};
  EXPECT_EQ(ReadAbout(AboutText(about)), about);
  EXPECT_EQ(ReadAbout("").name, "");
  EXPECT_EQ(ReadAbout("name x\nhat of a later version\nkey odd\n").name, "x");
}

TEST(ConfigDigests, DifferWhereKeysDoThatMustBeEqual) {
  config::Config a, b;
  b.lid.lmc = 1;
  b.sm.priority = 9;            // A node's own, as are
  b.http_listen = "[::]:9471";  // addresses.
  EXPECT_THAT(DifferentKeys(ConfigDigests(a), ConfigDigests(b)), ElementsAre("lid.lmc"));
  EXPECT_THAT(DifferentKeys(ConfigDigests(a), ConfigDigests(a)), IsEmpty());
  EXPECT_THAT(DifferentKeys({{"new.key", "1"}}, {}), ElementsAre("new.key"));
}

TEST(ConfigDigests, OfSecretsGiveNothingAway) {
  config::Config a, b;
  a.sm.m_key = MKey(0x1234567890abcdef);
  b.sm.m_key = MKey(0x1234567890abcde0);
  EXPECT_EQ(ConfigDigests(a).at("sm.m_key").size(), 4u);
  EXPECT_THAT(DifferentKeys(ConfigDigests(a), ConfigDigests(b)), ElementsAre("sm.m_key"));
}

TEST(ConfigDigests, AreOfTheContentOfFilesAndNotOfTheirPlace) {
  store::TempDir one, two;
  config::Config a, b;
  a.partitions.file = one.path() + "/partitions.conf";
  b.partitions.file = two.path() + "/p.conf";
  std::ofstream(a.partitions.file) << "Default=0x7fff : ALL=full;\n";
  std::ofstream(b.partitions.file) << "Default=0x7fff : ALL=full;\n";
  EXPECT_THAT(DifferentKeys(ConfigDigests(a), ConfigDigests(b)), IsEmpty());
  std::ofstream(b.partitions.file) << "Default=0x7fff : ALL=limited;\n";
  EXPECT_THAT(DifferentKeys(ConfigDigests(a), ConfigDigests(b)), ElementsAre("partitions.file"));
}

TEST(FindMaster, NamesAnSmThatSharesNoStateWhereTheOwnerIsStandbyBesideIt) {
  const store::etcd::EpochOwner owner{"head1 pid 7", "head1:7471"};
  std::vector<SharingNode> nodes = {
      {.name = "head1 pid 7", .state = "STANDBY", .sm_port = Guid(1)},
      {.name = "head2 pid 8", .state = "WAITING", .sm_port = Guid(2), .is_this = true}};
  sweep::SmStatus sm;
  sm.remote = {{.guid = Guid(1), .priority = 5, .state = wire::SmState::kStandby},
               {.guid = Guid(9), .priority = 10, .state = wire::SmState::kMaster}};
  const auto foreign = [&] { return FindMaster(owner, nodes, sm).foreign; };
  ASSERT_TRUE(foreign().has_value());
  EXPECT_EQ(std::pair(foreign()->guid, foreign()->priority), std::pair(Guid(9), uint8_t{10}));
  EXPECT_EQ(FindMaster(owner, nodes, sm).endpoint, "head1:7471");
  // It has ended, and what this node has seen is old.
  nodes[0].state = "MASTER";
  EXPECT_FALSE(foreign());
  nodes[0].state = "STANDBY";
  sm.remote[1].state = wire::SmState::kStandby;
  EXPECT_FALSE(foreign());
  // The mastership moves among the nodes.
  sm.remote[0].state = wire::SmState::kMaster;
  EXPECT_FALSE(foreign());
  nodes.clear();  // They say nothing yet.
  sm.remote[1].state = wire::SmState::kMaster;
  EXPECT_FALSE(foreign());
}

}  // namespace
}  // namespace fabricd::daemon
