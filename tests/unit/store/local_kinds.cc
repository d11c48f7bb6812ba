// SPDX-License-Identifier: Apache-2.0
// The stores of one node: in memory and on disk.
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "tests/unit/store/store_kinds.h"
#include "tests/unit/store/temp_dir.h"

namespace fabricd::store {
namespace {

class MemoryHome final : public StoreHome {
 public:
  Store* Open() override { return &store_; }

 private:
  MemoryStore store_;
};

class SqliteHome final : public StoreHome {
 public:
  Store* Open() override {
    store_.reset();
    auto opened = OpenSqliteStore(directory_.path());
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (opened.ok()) store_ = *std::move(opened);
    return store_.get();
  }

 private:
  TempDir directory_;
  std::unique_ptr<Store> store_;
};

}  // namespace

std::vector<StoreKind> StoreKinds() {
  return {{"Memory", [] { return std::make_unique<MemoryHome>(); }},
          {"Sqlite", [] { return std::make_unique<SqliteHome>(); }}};
}

}  // namespace fabricd::store
