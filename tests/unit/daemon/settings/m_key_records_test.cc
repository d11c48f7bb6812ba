// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/m_key_records.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "fabric/snapshot_builder.h"
#include "store/memory_store.h"
#include "tests/unit/store/temp_dir.h"

namespace fabricd::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class MKeyRecordsTest : public testing::Test {
 protected:
  void WriteSecret(const std::string& text) {
    sm_.m_key_secret_file = folder_.path() + "/secret";
    std::ofstream(sm_.m_key_secret_file) << text;
  }
  sweep::SmOptions Start() {
    const auto records = MKeyRecords::Open(store_, sm_);
    EXPECT_TRUE(records.ok()) << records.status();
    sweep::SmOptions options;
    if (records.ok()) records->AddTo(options);
    return options;
  }

  const store::TempDir folder_;
  store::MemoryStore store_;
  config::Sm sm_;
};

TEST_F(MKeyRecordsTest, FormerValuesAreKeptNewestFirst) {
  WriteSecret("  the first secret, long enough\n");
  EXPECT_EQ(Start().m_key_secret, "the first secret, long enough");
  WriteSecret("the second secret, long enough\n");
  sm_.m_key = MKey(0xA);
  EXPECT_THAT(Start().former_m_key_secrets, ElementsAre("the first secret, long enough"));
  sm_.m_key = MKey(0xB);
  sm_.m_key_secret_file.clear();
  for (int start = 0; start < 2; ++start) {
    const sweep::SmOptions options = Start();
    EXPECT_EQ(options.m_key_secret, "");
    EXPECT_THAT(options.former_m_key_secrets,
                ElementsAre("the second secret, long enough", "the first secret, long enough"));
    EXPECT_THAT(options.former_m_keys, ElementsAre(MKey(0xA)));
  }
  WriteSecret("the first secret, long enough");
  EXPECT_THAT(Start().former_m_key_secrets, ElementsAre("the second secret, long enough"));
}

TEST_F(MKeyRecordsTest, KeepsABoundedNumber) {
  for (uint64_t key = 1; key <= 20; ++key) {
    sm_.m_key = MKey(key);
    Start();
  }
  EXPECT_THAT(Start().former_m_keys, ElementsAre(MKey(19), MKey(18), MKey(17)));
}

TEST_F(MKeyRecordsTest, RefusesAShortSecretWithoutRepeatingIt) {
  WriteSecret("hunter2\n");
  const auto records = MKeyRecords::Open(store_, sm_);
  ASSERT_EQ(records.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(records.status()), Not(HasSubstr("hunter2")));
}

TEST_F(MKeyRecordsTest, StoresTheNeighborsOfTheMasterAndOverridesThoseOfTheFile) {
  WriteSecret("a secret that is long enough");
  sm_.neighbors_file = folder_.path() + "/neighbors";
  std::ofstream(sm_.neighbors_file) << "0x1:1 0x2:1\n0x3:1 0x4:1\n";
  ASSERT_TRUE(store_.PutMeta("neighbors", "0x0000000000000001:1 0x0000000000000009:1\n").ok());
  const fabric::Neighbors expected = {{{Guid(1), PortNum(1)}, Guid(9)},
                                      {{Guid(3), PortNum(1)}, Guid(4)}};
  EXPECT_EQ(Start().neighbors, expected);

  auto records = MKeyRecords::Open(store_, sm_);
  ASSERT_TRUE(records.ok());
  int writes = 0;
  const auto post = [&](const std::function<void(store::Store&)>& job) {
    job(store_);
    ++writes;
    return true;
  };
  fabric::SnapshotBuilder builder;
  wire::NodeInfo info;
  info.node_type = wire::NodeType::kSwitch;
  info.num_ports = 1;
  info.node_guid = Guid(5);
  builder.PutNode(info);
  auto view = std::make_shared<sweep::FabricView>(*sweep::EmptyView());
  view->snapshot = builder.Build();
  view->sm.state = wire::SmState::kStandby;
  Instant now{std::chrono::hours(1)};
  records->Look(view, now, post);
  EXPECT_EQ(writes, 0);
  view->sm.state = wire::SmState::kMaster;
  records->Look(view, now, post);
  EXPECT_EQ(writes, 1);
  EXPECT_FALSE(records->IsDue(now + MKeyRecords::kInterval / 2));
  now += MKeyRecords::kInterval;
  ASSERT_TRUE(records->IsDue(now));
  records->Look(view, now, post);
  EXPECT_EQ(writes, 1) << "nothing has changed";
}

TEST_F(MKeyRecordsTest, NothingIsKeptWithoutKeys) {
  auto records = MKeyRecords::Open(store_, sm_);
  ASSERT_TRUE(records.ok());
  EXPECT_FALSE(records->IsDue(Instant(std::chrono::hours(1))));
  EXPECT_THAT(Start().former_m_keys, IsEmpty());
}

}  // namespace
}  // namespace fabricd::daemon
