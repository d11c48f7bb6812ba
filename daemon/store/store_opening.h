// SPDX-License-Identifier: Apache-2.0
// daemon/store: which store the configuration names, when it refuses writes, and the verbs
// `fabricd store …` that copy and move what is in it.
//
// Opening it. Errors tell operators what to do.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <absl/status/statusor.h>

#include "config/config.h"
#include "shell/succession.h"
#include "store/etcd/client.h"
#include "store/etcd/etcd_store.h"
#include "store/store.h"

namespace fabricd::daemon {

// A named value of the local store; not empty: an import has ended halfway.
inline constexpr char kUnfinishedKey[] = "import_unfinished";

// The store of `state_dir`, which is made where there is none. Warnings are logged.
absl::StatusOr<std::unique_ptr<store::Store>> OpenLocalStore(const config::Config& config);

// INVALID_ARGUMENT: a file cannot be read; the message begins with the key.
absl::StatusOr<std::unique_ptr<store::etcd::Client>> MakeEtcdClient(const config::Config& config);
// "head1 pid 4711"
std::string OwnName();
store::etcd::EtcdStoreOptions EtcdStoreOptionsOf(const config::Config& config);

struct OpenedStore {
  std::unique_ptr<store::Store> store;
  store::etcd::SharedStore* shared = nullptr;  // The same; null: it is of this node alone.
};
struct StoreOpening {
  // Whether this fabricd may take etcd's epoch again after it has lost it; any thread.
  std::function<bool()> may_take;
  // Where another fabricd has the epoch: a store that waits beside it (waiting_store.h), or one
  // that takes it when this fabricd becomes master. False: ABORTED.
  bool may_wait = false;
  shell::Succession succession = {};
};
// As `store` says. FAILED_PRECONDITION: it says sqlite, and the state directory has a copy of what
// is in etcd, which may be old. INVALID_ARGUMENT: it says etcd, and the mode is not manage.
absl::StatusOr<OpenedStore> OpenStore(const config::Config& config, StoreOpening how);

}  // namespace fabricd::daemon
