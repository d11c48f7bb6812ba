// SPDX-License-Identifier: Apache-2.0
#include "sim/shared/ledger_store.h"

#include <algorithm>
#include <utility>

#include "store/hold_text.h"

namespace fabricd::sim {

using store::FlatChanges;

// What changes nothing, as far as this process knows, is sent nowhere: it is no write.
absl::Status LedgerStore::Write(FlatChanges changes, const std::function<absl::Status()>& write) {
  const store::FlatRows known = store::Flatten(*store::ReadContents(store_));
  std::erase_if(changes, [&known](const auto& change) {
    const auto row = known.find(change.first);
    return row == known.end() ? !change.second : change.second == row->second;
  });
  if (changes.empty()) return write();
  VirtualThreads::Thread& thread = world_.time.current();
  const Instant begun = world_.time.now();
  const uint64_t number = world_.ledger.Begin(process_, std::move(changes));
  const absl::Status status = write();
  if (thread.is_killed())  // The answer was lost.
    world_.ledger.Fail(number);
  else if (status.ok())
    world_.ledger.Acknowledge(number, store::Flatten(*store::ReadContents(store_)));
  else if (world_.time.now() == begun)
    world_.ledger.Withdraw(number);
  else
    world_.ledger.Fail(number);
  return status;
}

absl::Status LedgerStore::PutLids(const std::vector<store::LidRecord>& records) {
  FlatChanges changes;
  for (const store::LidRecord& record : records)
    changes[store::LidKey(record.port_guid)] = store::LidText(record);
  return Write(std::move(changes), [&] { return store_.PutLids(records); });
}

absl::Status LedgerStore::RemoveLids(const std::vector<Guid>& port_guids) {
  FlatChanges changes;
  for (const Guid guid : port_guids) changes[store::LidKey(guid)] = std::nullopt;
  return Write(std::move(changes), [&] { return store_.RemoveLids(port_guids); });
}

absl::Status LedgerStore::ChangeHolds(const std::vector<policy::Hold>& put,
                                      const std::vector<uint64_t>& remove) {
  FlatChanges changes;
  const uint64_t before = store_.LoadHolds()->highest_id;
  uint64_t highest = before;
  for (const policy::Hold& hold : put) {
    changes[store::HoldKey(hold.id)] = store::HoldText(hold);
    highest = std::max(highest, hold.id);
  }
  for (const uint64_t id : remove) changes[store::HoldKey(id)] = std::nullopt;
  if (highest > before) changes[store::kHoldHighestKey] = std::to_string(highest);
  return Write(std::move(changes), [&] { return store_.ChangeHolds(put, remove); });
}

absl::Status LedgerStore::ChangeRows(const RowChanges& changes) {
  FlatChanges flat;
  for (const auto& [key, value] : changes) flat[store::RowKeyText(key)] = value;
  return Write(std::move(flat), [&] { return store_.ChangeRows(changes); });
}

}  // namespace fabricd::sim
