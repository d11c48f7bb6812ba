// SPDX-License-Identifier: Apache-2.0
#include "daemon/state_opener.h"

#include <filesystem>
#include <fstream>
#include <future>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/record/learned_window.h"
#include "store/sqlite_store.h"
#include "tests/unit/store/temp_dir.h"

namespace fabricd::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StateOpenerTest : public ::testing::Test {
 protected:
  StateOpenerTest() { config_.state_dir = folder_.path() + "/state"; }
  std::string WriteFile(const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  std::unique_ptr<StateOpener> Open() {
    auto state = StateOpener::Open(config_);
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() ? *std::move(state) : nullptr;
  }

  store::TempDir folder_;
  config::Config config_;
};

TEST_F(StateOpenerTest, ANewStateDirectoryIsMadeAndEmpty) {
  const auto state = Open();
  ASSERT_NE(state, nullptr);
  EXPECT_TRUE(std::filesystem::is_directory(config_.state_dir));
  const auto stored = state->Load(config_);
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_THAT(stored->core.lids, IsEmpty());
  EXPECT_NE(stored->clients, nullptr);
}

TEST_F(StateOpenerTest, ADumpOfOpensmIsReadWhileTheStoreHasNothingOfClients) {
  config_.mode = "manage";
  const std::string alias =
      "GUIDInfo Record: base_guid=0x0000000000100001 lid=0x0002 block_num=0x0"
      " guid0=0x0000000000100001 guid1=0x00000000000000a1 guid2=0x0000000000000000"
      " guid3=0x0000000000000000 guid4=0x0000000000000000 guid5=0x0000000000000000"
      " guid6=0x0000000000000000 guid7=0x0000000000000000\n";
  config_.sm.sa_db_file = WriteFile("opensm-sa.dump", alias + "MC Group 0xc000 :\n");
  {
    const auto state = Open();
    ASSERT_NE(state, nullptr);
    EXPECT_THAT(state->Load(config_).status().message(),
                HasSubstr("sm.sa_db_file: " + config_.sm.sa_db_file + ": line 2: no ` mgid=0x`"));
  }
  WriteFile("opensm-sa.dump", alias);
  for (int start = 0; start < 2; ++start) {
    const auto state = Open();
    ASSERT_NE(state, nullptr);
    const auto stored = state->Load(config_);
    ASSERT_TRUE(stored.ok()) << stored.status();
    ASSERT_NE(stored->core.aliases, nullptr);
    EXPECT_EQ(stored->core.aliases->PortOf(Guid(0xA1)), Guid(0x100001)) << start;
    WriteFile("opensm-sa.dump", "now it is faulty, and nobody reads it\n");
  }
}

TEST_F(StateOpenerTest, OneThatOnlyReadsReadsTheFilesOfOpensmAtEachStart) {
  config_.mode = "observe";
  config_.partitions.file = WriteFile("partitions", "Tenant=0x0001 : ALL=full;\n");
  for (const uint64_t alias : {0xA1, 0xA2}) {
    config_.sm.sa_db_file = WriteFile(
        "opensm-sa.dump",
        fmt::format("GUIDInfo Record: base_guid=0x0000000000100001 lid=0x0002 block_num=0x0"
                    " guid0=0x0000000000100001 guid1=0x{:016x} guid2=0x0000000000000000"
                    " guid3=0x0000000000000000 guid4=0x0000000000000000 guid5=0x0000000000000000"
                    " guid6=0x0000000000000000 guid7=0x0000000000000000\n",
                    alias));
    const auto state = Open();
    ASSERT_NE(state, nullptr);
    const auto stored = state->Load(config_);
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_EQ(stored->core.aliases->PortOf(Guid(alias)), Guid(0x100001));
    EXPECT_NE(stored->core.partitions.revision, 0u);
    EXPECT_THAT(*state->store().LoadRows(), IsEmpty());
  }
}

TEST_F(StateOpenerTest, TablesOfALaterReleaseAreLeftAlone) {
  const auto state = Open();
  ASSERT_NE(state, nullptr);
  const RowChanges later = {{{"baseline", "0x100001 1"}, "of a later release"}};
  ASSERT_TRUE(state->store().ChangeRows(later).ok());
  const auto stored = state->Load(config_);
  EXPECT_TRUE(stored.ok()) << stored.status();
  EXPECT_THAT(*state->store().LoadRows(), SizeIs(1));
}

TEST_F(StateOpenerTest, AWriteIsThereAtTheNextStart) {
  {
    const auto state = Open();
    ASSERT_NE(state, nullptr);
    ASSERT_TRUE(state->Post([](store::Store& store) {
      fabric::LidRecord record;
      record.port_guid = Guid(0x10);
      record.base_lid = Lid(7);
      EXPECT_TRUE(store.PutLids({record}).ok());
    }));
    state->StopWriting();
    state->StopListing();
  }
  const auto state = Open();
  ASSERT_NE(state, nullptr);
  const auto stored = state->Load(config_);
  ASSERT_TRUE(stored.ok()) << stored.status();
  ASSERT_EQ(stored->core.lids.size(), 1u);
  EXPECT_EQ(stored->core.lids[0].base_lid, Lid(7));
}

TEST_F(StateOpenerTest, AnEmptyStateObservesAndOneOfAMasterGoesOnManaging) {
  config_.lid.guid2lid_file = WriteFile("guid2lid", "0x0000000000000010 0x0005 0x0005\n");
  for (int start = 0; start < 2; ++start) {  // The file makes it no master.
    const auto state = Open();
    EXPECT_EQ(state->mode(), SmMode::kObserve);
    const auto stored = state->Load(config_);
    EXPECT_EQ(stored->core.options.sm.mode, SmMode::kObserve);
    EXPECT_EQ(stored->core.lids.at(0).base_lid, Lid(5));
    EXPECT_TRUE(state->store().LoadLids()->empty());
  }
  {
    const auto state = Open();
    ASSERT_TRUE(state->store().PutLids({{Guid(0x11), Lid(7), 0, 0}}).ok());
  }
  EXPECT_EQ(Open()->mode(), SmMode::kManage);
  config_.mode = "observe";
  EXPECT_EQ(Open()->mode(), SmMode::kObserve);
}

TEST_F(StateOpenerTest, TheWindowOfSmpsIsTheLearnedOne) {
  config_.lid.guid2lid_file = WriteFile("guid2lid", "0x0000000000000010 0x0005 0x0005\n");
  {
    const auto state = Open();
    ASSERT_NE(state, nullptr);
    const mad::EngineOptions first = state->Load(config_)->core.options.smp;
    EXPECT_TRUE(first.first_contact) << "LIDs were imported";
    EXPECT_EQ(first.window_max, 32u);
    LearnedWindow window([&](auto job) { return state->Post(std::move(job)); });
    window.Note(44, Instant());
    state->StopWriting();
    state->StopListing();
  }
  const auto state = Open();
  ASSERT_NE(state, nullptr);
  const mad::EngineOptions smp = state->Load(config_)->core.options.smp;
  EXPECT_FALSE(smp.first_contact);
  EXPECT_EQ(smp.window_initial, 44u);
  EXPECT_EQ(smp.window_max, 128u);
  config_.smp.window = 32;
  EXPECT_EQ(state->Load(config_)->core.options.smp.window_initial, 32u);
}

TEST_F(StateOpenerTest, Guid2LidSeedsAnEmptyStoreOnly) {
  config_.mode = "manage";
  config_.lid.guid2lid_file = WriteFile("guid2lid", "0x0000000000000010 0x0005 0x0005\n");
  {
    const auto state = Open();
    ASSERT_NE(state, nullptr);
    EXPECT_EQ(state->Load(config_)->core.lids.at(0).base_lid, Lid(5));
  }
  WriteFile("guid2lid", "0x0000000000000010 0x0006 0x0006\n");
  const auto state = Open();
  ASSERT_NE(state, nullptr);
  EXPECT_EQ(state->Load(config_)->core.lids.at(0).base_lid, Lid(5));
}

TEST_F(StateOpenerTest, AMissingFileIsNamedWithItsKey) {
  config_.topology.node_name_map = folder_.path() + "/none";
  const auto state = StateOpener::Open(config_);
  ASSERT_FALSE(state.ok());
  EXPECT_THAT(state.status().message(), HasSubstr("topology.node_name_map"));
}

TEST_F(StateOpenerTest, ACopyOfEtcdsStateIsNotUsedByItself) {
  Open().reset();
  {
    auto store = store::OpenSqliteStore(config_.state_dir);
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE((*store)->PutMeta("etcd_copy", "/fabricd/ abc 7").ok());
  }
  const auto refused = StateOpener::Open(config_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("copy of what is in etcd below /fabricd/"));
}

TEST_F(StateOpenerTest, AReadingModeUsesNoSharedState) {
  config_.store = "etcd";
  config_.etcd.endpoints = {"127.0.0.1:1"};
  for (const char* mode : {"observe", "standby", ""}) {
    config_.mode = mode;
    const auto refused = StateOpener::Open(config_).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << mode;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("needs `mode: manage`")) << mode;
  }
}

TEST_F(StateOpenerTest, AnImportThatEndedHalfwayIsNotUsed) {
  Open().reset();
  {
    auto store = store::OpenSqliteStore(config_.state_dir);
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE((*store)->PutMeta("import_unfinished", "yes").ok());
  }
  EXPECT_THAT(std::string(StateOpener::Open(config_).status().message()), HasSubstr("repeat it"));
}

TEST_F(StateOpenerTest, AFaultyPatternIsRefused) {
  config_.topology.host_pattern = "(";
  EXPECT_EQ(StateOpener::Open(config_).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(StateOpenerTest, AFaultyPartitionsFileIsAnErrorAtTheFirstStart) {
  config_.partitions.file = WriteFile("partitions", "no such syntax {{{\n");
  const auto state = Open();
  ASSERT_NE(state, nullptr);
  EXPECT_FALSE(state->Load(config_).ok());
}

TEST_F(StateOpenerTest, APartitionsFileThatBecameFaultyLeavesThePartitionsAsTheyAre) {
  config_.mode = "manage";
  config_.partitions.file = WriteFile("partitions",
                                      "Default=0x7fff, ipoib : ALL=full;\n"
                                      "Tenant=0x0001 : ALL=full;\n");
  size_t partitions = 0;
  {
    const auto state = Open();
    ASSERT_NE(state, nullptr);
    const auto stored = state->Load(config_);
    ASSERT_TRUE(stored.ok()) << stored.status();
    partitions = stored->core.partitions.partitions.list.size();
    EXPECT_EQ(partitions, 2u);
  }
  WriteFile("partitions", "no such syntax {{{\n");
  const auto state = Open();
  ASSERT_NE(state, nullptr);
  const auto stored = state->Load(config_);
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->core.partitions.partitions.list.size(), partitions);
}

}  // namespace
}  // namespace fabricd::daemon
