// SPDX-License-Identifier: Apache-2.0
// Internal: what a store that opens finds in etcd, and whether the epoch is its own by then; what
// the owner of the epoch says at a claim.
#pragma once

#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "store/contents.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/node_part.h"
#include "store/etcd/presence.h"
#include "store/etcd/shared_rows.h"

namespace fabricd::store::etcd {

struct Found {
  FlatRows rows;
  std::string sequence;          // The write that they stand for.
  absl::Status held;             // ABORTED: another fabricd has the epoch. OK: it was taken.
  std::vector<Node> nodes = {};  // Where it is held.
};
// Takes the epoch, unless another fabricd has it and this one contends with it, and reads. Errors
// as OpenEtcdStore(); none is forgotten: where it is UNAVAILABLE the epoch may have been taken.
absl::StatusOr<Found> FindState(Client& client, SharedRows& shared, const LocalCopy& copy,
                                const EtcdStoreOptions& options);

// Why a contender must not take the epoch, by what its owner says of itself now. OK: it may, as far
// as that is known.
//   UNAVAILABLE  the owner is master of another part of the fabric
//   ABORTED      its port had no link, and has one again
absl::Status OwnersObjection(Client& client, const std::string& where, const std::string& instance,
                             const EtcdStoreOptions& options);

}  // namespace fabricd::store::etcd
