// SPDX-License-Identifier: Apache-2.0
// StoreNode: a management node as its store sees it: a process that opens the shared store or waits
// beside its owner, writes what a manager writes, starts again when the store says so, and is
// killed, stopped and started.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/rng.h"
#include "sim/store/history_book.h"
#include "sim/store/ledger.h"
#include "sim/store/local_disk.h"
#include "sim/store/sim_etcd.h"
#include "sim/store/virtual_threads.h"
#include "store/etcd/etcd_store.h"

namespace fabricd::sim {

// What the nodes of a run share.
struct StoreWorld {
  // `failures` outlives this.
  StoreWorld(uint64_t seed, std::vector<std::string>& failures,
             std::function<void(const std::string& line)> telling)
      : etcd(time, seed),
        ledger(etcd.model(), store::etcd::EtcdStoreOptions().prefix, failures),
        history(failures),
        tell(std::move(telling)) {}

  VirtualThreads time;
  SimEtcd etcd;
  Ledger ledger;
  HistoryBook history;
  std::function<void(const std::string& line)> tell;
  std::chrono::seconds lease{5};
  uint64_t processes = 0;  // Numbers given so far.
  uint64_t values = 0;     // The same of written values: no two are equal.
  bool writes_large = false;
  bool is_quiet = false;  // Nodes write nothing.
};

class StoreNode {
 public:
  // `world` outlives this.
  StoreNode(StoreWorld& world, size_t number, uint64_t seed);

  void Start();
  void Kill();
  // Until then. A frozen one does not notice by its clock: a virtual machine.
  void Pause(Instant until, bool is_frozen);
  bool runs() const { return thread_ != nullptr && !thread_->has_ended(); }
  bool is_paused() const { return runs() && thread_->is_paused(); }
  // Has a store that it does not only wait with.
  bool is_manager() const { return store_ != nullptr && !store_->other_owner(); }
  bool is_master() const { return is_master_; }
  bool may_write() const { return is_manager() && store_->writable().ok() && epoch() != 0; }
  // By its own clock; 0: it knows that it has none.
  int64_t epoch() const { return store_ == nullptr || is_waiting_ ? 0 : store_->epoch(); }
  // Its clock has stood still for longer than the others know.
  bool was_frozen() const { return behind_ > Duration(); }
  uint64_t process() const { return process_; }
  size_t number() const { return number_; }

  EtcdPath path;
  store::MemoryStore disk;
  // On the fabric: it has won the election, and is master once its store lets it; or no master
  // responds to it.
  bool is_elected = false;
  bool has_no_master = false;

 private:
  using SharedStore = store::etcd::SharedStore;
  void Live();
  std::unique_ptr<SharedStore> Open();
  // False: the store has to be opened again.
  bool FollowFabric(SharedStore& store);
  // Until the store has to be opened again.
  void Use(SharedStore& store);
  void WriteSomething(SharedStore& store);
  // As the event log and the audit log of the daemon do.
  void RecordSomething(SharedStore& store);
  void RecordEvents(SharedStore& store);
  void Write(SharedStore& store, store::FlatChanges changes,
             const std::function<absl::Status()>& write);
  void PutLids(SharedStore& store);
  void RemoveLids(SharedStore& store);
  void ChangeHolds(SharedStore& store);
  void ChangeRows(SharedStore& store);
  Duration Draw(Duration limit);
  void Tell(const std::string& what) const;

  StoreWorld& world_;
  const size_t number_;
  Rng rng_;
  VirtualThreads::Thread* thread_ = nullptr;  // Of the present life.
  SharedStore* store_ = nullptr;              // Null: none is open.
  bool is_waiting_ = false;                   // store_ is one that waits.
  bool is_master_ = false;
  // Of the next store. See store::etcd::EtcdStoreOptions.
  bool contends_ = false;
  uint64_t process_ = 0;
  uint64_t next_event_ = 0;  // Number.
  Duration behind_{};        // Of CLOCK_BOOTTIME.
};

}  // namespace fabricd::sim
