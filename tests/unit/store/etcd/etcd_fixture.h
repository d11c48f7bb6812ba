// SPDX-License-Identifier: Apache-2.0
// A node's store on a real etcd, which all tests of the program share.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "store/contents.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/grpc_client.h"
#include "store/etcd/shared_rows.h"
#include "store/sqlite_store.h"
#include "tests/support/etcd.h"
#include "tests/support/tcp_proxy.h"
#include "tests/unit/store/temp_dir.h"

namespace fabricd::store::etcd {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr char kPrefix[] = "/fabricd/";

inline LidRecord Record(uint64_t guid, uint16_t lid) {
  return LidRecord{Guid(guid), Lid(lid), 0, 0};
}

inline std::vector<LidRecord> ManyRecords(uint16_t count) {
  std::vector<LidRecord> records;
  for (uint16_t lid = 1; lid <= count; ++lid) records.push_back(Record(0x1000u + lid, lid));
  return records;
}

inline bool WaitFor(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return true;
}

class EtcdTest : public ::testing::Test {
 protected:
  explicit EtcdTest(size_t members = 1) : members_(members) {}
  void SetUp() override {
    if (!fabricd::support::HaveEtcd()) GTEST_SKIP() << "no etcd and etcdctl: tools/deps";
    cluster_ = &support::EtcdCluster::Shared(members_);
    client_ = cluster_->MakeClient();
  }
  // Of the node with this state directory.
  absl::StatusOr<std::unique_ptr<SharedStore>> Open(const TempDir& directory,
                                                    std::vector<std::string> endpoints = {}) {
    auto local = OpenSqliteStore(directory.path());
    if (!local.ok()) return local.status();
    ClientOptions reach = cluster_->client_options();
    if (!endpoints.empty()) reach.endpoints = std::move(endpoints);
    reach.timeout = timeout_;
    reach.attempt_timeout = timeout_ / 2;
    auto client = MakeGrpcClient(reach);
    if (!client.ok()) return client.status();
    return OpenEtcdStore(*std::move(client), *std::move(local), options_);
  }
  std::unique_ptr<SharedStore> MustOpen(const TempDir& directory,
                                        std::vector<std::string> endpoints = {}) {
    auto store = Open(directory, std::move(endpoints));
    // Nothing of a test holds without its store.
    if (!store.ok()) throw std::runtime_error(store.status().ToString());
    return *std::move(store);
  }
  static size_t LidsOf(Store& store) {
    const auto lids = store.LoadLids();
    EXPECT_TRUE(lids.ok()) << lids.status();
    return lids.ok() ? lids->size() : 0;
  }
  // What another node would find.
  Contents Shared() {
    const auto rows = SharedRows::Read(*client_, kPrefix);
    EXPECT_TRUE(rows.ok()) << rows.status();
    const auto contents = Unflatten(rows.value_or(FlatRows()), "etcd");
    EXPECT_TRUE(contents.ok()) << contents.status();
    return contents.value_or(Contents());
  }

  const size_t members_;
  milliseconds timeout_{600};
  EtcdStoreOptions options_{.name = "node",
                            .lease = seconds(2),
                            .retry = milliseconds(50),
                            .copy_after = milliseconds(10)};
  TempDir head1_, head2_;
  support::EtcdCluster* cluster_ = nullptr;
  std::unique_ptr<Client> client_;
};

}  // namespace fabricd::store::etcd
