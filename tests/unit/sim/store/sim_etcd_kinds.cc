// SPDX-License-Identifier: Apache-2.0
// The contracts of a client of etcd and of a Store, on the simulated etcd.
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "sim/store/sim_etcd.h"
#include "sim/store/virtual_threads.h"
#include "store/etcd/etcd_store.h"
#include "store/sqlite_store.h"
#include "tests/unit/store/etcd/client_kinds.h"
#include "tests/unit/store/store_kinds.h"
#include "tests/unit/store/temp_dir.h"

namespace fabricd::store {
namespace {

using etcd::Client;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Runs each call on a thread of the simulated world, until it returns.
class BlockingClient final : public Client {
 public:
  explicit BlockingClient(sim::VirtualThreads& world, sim::SimEtcd& etcd)
      : world_(world), client_(etcd.MakeClient(path_, 1)) {}

  void Limit(std::optional<milliseconds> time) override { client_->Limit(time); }
  absl::StatusOr<etcd::RangeResult> Range(const etcd::RangeRequest& request) override {
    return Call([&] { return client_->Range(request); });
  }
  absl::StatusOr<int64_t> Put(const std::string& key, const std::string& value,
                              int64_t lease) override {
    return Call([&] { return client_->Put(key, value, lease); });
  }
  absl::StatusOr<int64_t> DeleteRange(const std::string& key,
                                      const std::string& range_end) override {
    return Call([&] { return client_->DeleteRange(key, range_end); });
  }
  absl::StatusOr<etcd::TransactionResult> Commit(const etcd::Transaction& transaction) override {
    return Call([&] { return client_->Commit(transaction); });
  }
  absl::StatusOr<etcd::Lease> GrantLease(seconds ttl) override {
    return Call([&] { return client_->GrantLease(ttl); });
  }
  absl::StatusOr<seconds> KeepAlive(int64_t lease) override {
    return Call([&] { return client_->KeepAlive(lease); });
  }
  absl::Status RevokeLease(int64_t lease) override {
    return Call([&] { return client_->RevokeLease(lease); });
  }
  absl::StatusOr<etcd::MemberStatus> Status() override {
    return Call([&] { return client_->Status(); });
  }
  std::unique_ptr<etcd::Watch> StartWatch(etcd::WatchRequest request,
                                          etcd::WatchHandler& handler) override {
    auto watch = client_->StartWatch(std::move(request), handler);
    world_.RunUntil(world_.now() + milliseconds(1));
    return watch;
  }

 private:
  template <typename Do>
  std::invoke_result_t<Do> Call(Do call) {
    std::optional<std::invoke_result_t<Do>> result;
    const auto& thread = world_.Start([&] { result = call(); });
    while (!thread.has_ended()) world_.RunUntil(world_.now() + milliseconds(1));
    return *result;
  }

  sim::VirtualThreads& world_;
  sim::EtcdPath path_;
  const std::unique_ptr<Client> client_;
};

class SimClientHome final : public etcd::ClientHome {
 public:
  Client& client() override { return client_; }
  void Compact(int64_t revision) override { EXPECT_TRUE(etcd_.model().Compact(revision).ok()); }
  void Pass(milliseconds time) override { world_.RunUntil(world_.now() + time); }
  void Fill() override { etcd_.model().SetFull(true); }

 private:
  sim::VirtualThreads world_;
  sim::SimEtcd etcd_{world_, 1};
  BlockingClient client_{world_, etcd_};
};

class SimStoreHome final : public StoreHome {
 public:
  Store* Open() override {
    store_.reset();
    auto local = OpenSqliteStore(directory_.path());
    EXPECT_TRUE(local.ok()) << local.status();
    if (!local.ok()) return nullptr;
    etcd::EtcdStoreOptions options;
    options.clock = [this] { return world_.now().time_since_epoch(); };
    options.has_thread = false;
    auto opened = etcd::OpenEtcdStore(std::make_unique<BlockingClient>(world_, etcd_),
                                      *std::move(local), std::move(options));
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (opened.ok()) store_ = *std::move(opened);
    return store_.get();
  }

 private:
  TempDir directory_;
  sim::VirtualThreads world_;
  sim::SimEtcd etcd_{world_, 1};
  std::unique_ptr<Store> store_;
};

}  // namespace

std::vector<StoreKind> StoreKinds() {
  return {{"SimEtcd", [] { return std::make_unique<SimStoreHome>(); }}};
}

namespace etcd {
std::vector<ClientKind> ClientKinds() {
  const auto make = [] { return std::make_unique<SimClientHome>(); };
  return {{"Simulated", make, make}};
}
}  // namespace etcd

}  // namespace fabricd::store
