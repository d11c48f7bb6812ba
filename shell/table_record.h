// SPDX-License-Identifier: Apache-2.0
// TableRecord: the master's side of recorded_tables.h. It decides when something is written there:
//
//   a second after the subnet is up and idle   digests of all tables
//   a run of the master ends, or lasts 20 ms   its change
//   another epoch, too many changes,
//   or this SM is master no more               all is withdrawn, until the next digests
//
// Whoever takes the epoch withdraws, also one that is not master: the owner before may have lost
// it, and go on as master without etcd.
//
// All is written beside the work of the core, which never waits for it: a short run is over before
// etcd takes part of the processor. So a master leaves a record that is too old for the switches of
// a change where it dies, hangs or is stopped between its first Set and the answer of etcd, usually
// within 30 ms; or within the lease of its epoch, where it can reach the fabric and not etcd. The
// audit of tables finds those (docs/HA.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "common/time.h"
#include "shell/recorded_tables.h"
#include "store/store.h"
#include "sweep/interface/view.h"

namespace fabricd::shell {

class TableRecord {
 public:
  // Runs a durable write on the store's thread. False: it is not run.
  using Post = std::function<bool(std::function<void(store::Store&)>)>;
  static constexpr Duration kCalm = std::chrono::seconds(1);
  // A change is written so long after its list was seen, or when its run ends; later where the core
  // has no turn meanwhile.
  static constexpr Duration kMostDelay = std::chrono::milliseconds(20);
  static constexpr size_t kMostWaiting = 16;  // Changes within that time.
  // The text of the changes that are kept, all together.
  static constexpr size_t kMostBytes = size_t{2} << 20;
  // The text of one change. A longer one withdraws the record: a row of etcd has a bound.
  static constexpr size_t kMostOfChange = size_t{200} << 10;
  // Changes share a row until its text is as long as this.
  static constexpr size_t kMostOfRow = kMostBytes / RecordedTables::kSlots;

  explicit TableRecord(Post post);
  ~TableRecord();

  // The core's thread. `owns`: this process has the epoch.
  // Call for each view that is published, in order.
  void OnView(const std::shared_ptr<const sweep::FabricView>& view, bool owns);
  // Call after each of the core's turns. `window`: in SMPs.
  void OnTurn(const std::shared_ptr<const sweep::FabricView>& view, bool owns, uint32_t window,
              Instant now);
  // The core has had its last turn: what waits is written.
  void OnEnd(bool owns);

 private:
  enum class State : uint8_t {
    kUnknown,    // What the store has is of another epoch, or a write has failed.
    kWithdrawn,  // There are no digests.
    kStands,     // Unless the ledger has withdrawn it.
  };
  using Plan = std::shared_ptr<const routing::RoutingPlan>;
  struct Change {
    std::shared_ptr<const fabric::FabricSnapshot> snapshot;
    Plan plan;
    std::shared_ptr<const sweep::TableWrites> writes;
  };
  class Ledger;  // Makes the rows, on the store's thread.

  // Returns whether the record is this process's, and what the store has of it is known.
  bool Begin(const sweep::FabricView& view, bool owns);
  void NoteWrites(const sweep::FabricView& view);
  void WriteChanges();
  // Posts ledger->make(). What cannot be posted makes the state unknown.
  bool Write(std::function<RowChanges(Ledger&)> make);

  const Post post_;
  State state_ = State::kUnknown;
  std::shared_ptr<const sweep::TableWrites> noted_;  // The last that were seen.
  std::vector<Change> waiting_;                      // To be written.
  Instant waiting_since_;                            // A turn. kNever: none was since.
  Plan recorded_;                                    // Of the digests; null: writes came since.
  Plan calm_plan_;      // Of the last view in which nothing was being written.
  Instant calm_since_;  // Since then.
  std::shared_ptr<Ledger> ledger_;
  // The store has refused a write: what stands there is not known. Set on the store's thread.
  std::shared_ptr<std::atomic<bool>> has_failed_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace fabricd::shell
