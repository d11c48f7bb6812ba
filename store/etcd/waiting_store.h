// SPDX-License-Identifier: Apache-2.0
// The store of a node beside the one that has the epoch: it changes nothing in etcd, and keeps the
// local copy up to date, so that this node can go on with it. Writes of shared state are refused
// with FAILED_PRECONDITION. A thread looks at the epoch every EtcdStoreOptions::retry; once it is
// free, or etcd has not answered for `lease`, why_reopen() says so: OpenEtcdStore() is next.
#pragma once

#include <memory>

#include <absl/status/statusor.h>

#include "store/etcd/client.h"
#include "store/etcd/etcd_store.h"

namespace fabricd::store::etcd {

// Errors as OpenEtcdStore(), but a held epoch is none.
absl::StatusOr<std::unique_ptr<SharedStore>> OpenWaitingStore(std::unique_ptr<Client> client,
                                                              std::unique_ptr<Store> local,
                                                              EtcdStoreOptions options);

}  // namespace fabricd::store::etcd
