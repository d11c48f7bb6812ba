// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/state_follower.h"

#include <memory>
#include <utility>

#include <spdlog/spdlog.h>

#include "common/process_clock.h"
#include "common/status.h"
#include "policy/partition_state.h"
#include "sa/state/sa_state.h"

namespace fabricd::daemon {

absl::StatusOr<StateFollower::Parts> StateFollower::Load(store::Store& store, StoredRows rows) {
  auto holds = store.LoadHolds();
  if (!holds.ok()) return holds.status();
  auto partitions = policy::LoadPartitions(rows);
  if (!partitions.ok()) return partitions.status();
  auto verdicts = policy::LoadVerdicts(rows);
  if (!verdicts.ok()) return verdicts.status();
  std::erase_if(rows, [](const auto& row) { return !sa::SaState::IsClientRow(row.first); });
  return Parts{
      {*std::move(holds), std::make_shared<const policy::PartitionState>(*std::move(partitions))},
      std::move(rows),
      *std::move(verdicts)};
}

void StateFollower::Look(const store::etcd::SharedStore* shared, const sweep::FabricView& view) {
  const uint64_t refreshes = shared == nullptr ? 0 : shared->refreshes();
  if (refreshes == seen_ && view.reader_tables.read == seen_reading_) return;
  // Where it is not posted, the next turn tries again.
  const bool is_posted = post_([this, known = view.reader_tables, master = view.sm.last_master](
                                   store::Store& store) { Read(store, known, master); });
  if (!is_posted) return;
  seen_ = refreshes;
  seen_reading_ = view.reader_tables.read;
}

void StateFollower::Read(store::Store& store, const sweep::ReaderTables& known, Guid master) {
  auto rows = store.LoadRows();
  if (!rows.ok()) return spdlog::error("what the master has stored: {}", Message(rows.status()));
  // A damaged record vouches for nothing: a takeover reads all tables.
  const auto tables = shell::LoadTables(*rows);
  auto now = Load(store, *std::move(rows));
  if (!now.ok()) return spdlog::error("what the master has stored: {}", Message(now.status()));
  // The master writes much else.
  const bool is_core_new = !given_ || given_->core.holds != now->core.holds ||
                           *given_->core.partitions != *now->core.partitions;
  const bool are_clients_new = !given_ || given_->clients != now->clients;
  const bool are_verdicts_new = !given_ || given_->verdicts != now->verdicts;
  given_ = *std::move(now);
  if (is_core_new) tell_.core(given_->core);
  if (are_clients_new) tell_.clients(given_->clients);
  if (are_verdicts_new) tell_.verdicts(given_->verdicts);
  if (tables.ok() && stale_reading_.Look(known, *tables, master, ProcessClock::Now()))
    tell_.reading_is_stale();
}

}  // namespace fabricd::daemon
