// SPDX-License-Identifier: Apache-2.0
// The store of a node beside the one that has the epoch: it changes nothing in etcd, and keeps the
// local copy up to date, so that this node can go on with it. Writes of shared state are refused
// with FAILED_PRECONDITION. A thread looks at the epoch every EtcdStoreOptions::retry; once it is
// free, or etcd has not answered for `lease`, why_reopen() says so: OpenEtcdStore() is next.
#pragma once

#include <functional>
#include <memory>

#include <absl/status/statusor.h>

#include "store/etcd/client.h"
#include "store/etcd/etcd_store.h"

namespace fabricd::store::etcd {

// Errors as OpenEtcdStore(), but a held epoch is none.
absl::StatusOr<std::unique_ptr<SharedStore>> OpenWaitingStore(std::unique_ptr<Client> client,
                                                              std::unique_ptr<Store> local,
                                                              EtcdStoreOptions options);

// What a store is opened with. Each attempt has its own.
struct StoreParts {
  std::function<absl::StatusOr<std::unique_ptr<Client>>()> client;
  std::function<absl::StatusOr<std::unique_ptr<Store>>()> local;
  std::function<void(const absl::Status& held)> on_wait = {};  // Called with why it waits.
};
// OpenEtcdStore(); where another fabricd has the epoch and this one does not contend with it, or
// another is to take it first (`yields`), and this one may wait, OpenWaitingStore().
absl::StatusOr<std::unique_ptr<SharedStore>> OpenOrWait(const StoreParts& parts,
                                                        const EtcdStoreOptions& options,
                                                        bool may_wait = true);

}  // namespace fabricd::store::etcd
