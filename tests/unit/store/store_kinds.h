// SPDX-License-Identifier: Apache-2.0
// The stores that the contract tests (audit, events, holds, store) run against. Each target that
// links these tests defines which ones.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/store.h"

namespace fabricd::store {

// The durable state of one store, and the Store that is open on it.
class StoreHome {
 public:
  virtual ~StoreHome() = default;
  // As a restart would, where that means anything: closes the Store and opens another. Null: a test
  // failure.
  virtual Store* Open() = 0;
};

struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<StoreHome>()> make;
};
inline void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }
std::vector<StoreKind> StoreKinds();

// A test with a store of each kind.
class StoreContract : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    home_ = GetParam().make();
    Open();
  }
  // Again, as after a restart.
  void Open() {
    store_ = home_->Open();
    ASSERT_NE(store_, nullptr);
  }

  std::unique_ptr<StoreHome> home_;
  Store* store_ = nullptr;
};

inline std::string NameOfKind(const testing::TestParamInfo<StoreKind>& kind) {
  return kind.param.name;
}

}  // namespace fabricd::store
