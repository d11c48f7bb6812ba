// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/state_follower.h"

#include <memory>
#include <utility>

#include <spdlog/spdlog.h>

#include "common/status.h"
#include "policy/partition_state.h"

namespace fabricd::daemon {
namespace {

absl::StatusOr<sweep::StoredStateChanged> Load(store::Store& store) {
  auto holds = store.LoadHolds();
  if (!holds.ok()) return holds.status();
  const auto rows = store.LoadRows();
  if (!rows.ok()) return rows.status();
  auto partitions = policy::LoadPartitions(*rows);
  if (!partitions.ok()) return partitions.status();
  return sweep::StoredStateChanged{
      *std::move(holds), std::make_shared<const policy::PartitionState>(*std::move(partitions))};
}

}  // namespace

void StateFollower::Look(const store::etcd::SharedStore* shared) {
  const uint64_t refreshes = shared == nullptr ? 0 : shared->refreshes();
  if (refreshes == seen_) return;
  // Where it is not posted, the next turn tries again.
  if (post_([this](store::Store& store) { Read(store); })) seen_ = refreshes;
}

void StateFollower::Read(store::Store& store) {
  auto now = Load(store);
  if (!now.ok()) return spdlog::error("what the master has stored: {}", Message(now.status()));
  // The master writes much else.
  if (given_ && given_->holds == now->holds && *given_->partitions == *now->partitions) return;
  given_ = *now;
  tell_(*std::move(now));
}

}  // namespace fabricd::daemon
