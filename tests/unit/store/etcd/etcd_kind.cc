// SPDX-License-Identifier: Apache-2.0
// The store of several nodes: one real etcd for all tests, a prefix and a state directory for each.
#include "store/etcd/etcd_store.h"
#include "store/sqlite_store.h"
#include "tests/support/etcd.h"
#include "tests/unit/store/store_kinds.h"
#include "tests/unit/store/temp_dir.h"

namespace fabricd::store {
namespace {

class EtcdHome final : public StoreHome {
 public:
  EtcdHome() : prefix_("/test/" + std::to_string(++homes_) + "/") {}

  Store* Open() override {
    store_.reset();
    auto local = OpenSqliteStore(directory_.path());
    EXPECT_TRUE(local.ok()) << local.status();
    if (!local.ok()) return nullptr;
    etcd::EtcdStoreOptions options;
    options.prefix = prefix_;
    auto opened = etcd::OpenEtcdStore(cluster_.MakeClient(), *std::move(local), std::move(options));
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (opened.ok()) store_ = *std::move(opened);
    return store_.get();
  }

 private:
  static inline int homes_ = 0;
  fabricd::support::EtcdCluster& cluster_ = fabricd::support::EtcdCluster::Shared();
  const std::string prefix_;
  TempDir directory_;
  std::unique_ptr<Store> store_;
};

}  // namespace

std::vector<StoreKind> StoreKinds() {
  if (!fabricd::support::HaveEtcd()) return {};
  return {{"Etcd", [] { return std::make_unique<EtcdHome>(); }}};
}

}  // namespace fabricd::store
