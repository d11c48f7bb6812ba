// SPDX-License-Identifier: Apache-2.0
// StateOpener: opens the state directory (store, history of events, audit log), reads the files
// that the configuration names, and owns the two threads that use the store.
//
//   core, SaKeeper, logs ── StoreThread ──► store      bounds: base/store_thread.h
//   gRPC threads ── Worker<Job> ──► listings           64 may wait; more are refused
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include <absl/status/statusor.h>

#include "common/sm_mode.h"
#include "config/config.h"
#include "daemon/base/store_thread.h"
#include "daemon/base/worker.h"
#include "daemon/record/audit_log.h"
#include "daemon/record/event_log.h"
#include "daemon/settings/m_key_records.h"
#include "daemon/store/store_opening.h"
#include "daemon/store/store_watch.h"
#include "fabric/hosts.h"
#include "fabric/names.h"
#include "policy/verdict/verdict_rows.h"
#include "sa/state/sa_state.h"
#include "shell/action_writer.h"
#include "shell/core_inputs.h"
#include "shell/recorded_tables.h"
#include "store/etcd/etcd_store.h"
#include "store/store.h"

namespace fabricd::daemon {

// What the store contained for each part when the daemon started.
struct StoredState {
  shell::CoreInputs core;  // Without the local port.
  policy::StoredVerdicts verdicts;
  std::unique_ptr<sa::SaState> clients;
  shell::RecordedTables tables;
};

class StateOpener {
 public:
  // Errors tell operators what to do. In a mode that only reads, nothing is stored but events.
  static absl::StatusOr<std::unique_ptr<StateOpener>> Open(const config::Config& config,
                                                           StoreOpening how = {});

  // What this fabricd does: by the configuration, and by what the store knows of earlier
  // mastership.
  SmMode mode() const { return mode_; }
  // The most that it will do in this process. One that waits may become master.
  SmMode port_mode() const { return shared_ != nullptr ? SmMode::kManage : mode_; }
  // Before the first job of the store's thread.
  absl::StatusOr<StoredState> Load(const config::Config& config);

  store::Store& store() { return *store_; }
  // Null unless several nodes share the store.
  store::etcd::SharedStore* shared() const { return shared_; }
  // Any thread. Why durable writes are refused for now; OK: they are not.
  absl::Status writable() const { return store_->writable(); }
  // Any thread. A store that several nodes share is written by the master.
  void SetMaster(bool is_master) { is_master_ = is_master; }
  // Call after each turn of the core: stores what the master's rules did, logs when the store
  // begins or ceases to refuse writes, and shows events of the node that is master. Returns whether
  // it has just ceased to refuse them.
  [[nodiscard]] bool Beat(const sweep::FabricView& view, Instant now);
  StoreThread& thread() { return *thread_; }
  // Runs a durable write on the store's thread. False: it is not run.
  [[nodiscard]] bool Post(std::function<void(store::Store&)> job) {
    return thread_->PostWrite([this, job = std::move(job)] { job(*store_); });
  }
  MKeyRecords& m_keys() { return m_keys_; }
  // Fills in what no file says: the mode, and M_Keys of before.
  void Complete(sweep::CoreOptions& options) const;
  EventLog& events() { return *events_; }
  AuditLog& audit() { return *audit_; }
  const fabric::NodeNameMap& node_name_map() const { return node_name_map_; }
  const fabric::HostPatterns& host_patterns() const { return host_patterns_; }

  // Each finishes its queued jobs, then stops. Stop writing first: its jobs post listings.
  void StopWriting() { thread_->Stop(); }
  void StopListing() { listings_->Stop(); }

 private:
  using Job = std::function<void()>;
  StateOpener() = default;
  absl::Status OpenStore(const config::Config& config, StoreOpening how);
  absl::Status ReadFiles(const config::Config& config);
  absl::Status OpenRecords(const config::Config& config);
  absl::StatusOr<StoredRows> ImportClients(const config::Config& config);
  absl::StatusOr<policy::PartitionState> OpenPartitions(const std::string& path,
                                                        const StoredRows& rows);

  absl::Status ReadGuid2Lid(const std::string& path);

  SmMode mode_ = SmMode::kManage;
  std::vector<fabric::LidRecord> seed_lids_;  // Of a file, for an empty store.
  MKeyRecords m_keys_;
  fabric::NodeNameMap node_name_map_;
  fabric::HostPatterns host_patterns_;
  std::atomic<bool> is_master_ = false;
  std::unique_ptr<store::Store> store_;
  store::etcd::SharedStore* shared_ = nullptr;  // store_, or null.
  StoreWatch store_watch_;
  shell::ActionWriter actions_{[this](auto job) { return Post(std::move(job)); }};
  uint64_t histories_taken_ = 0;             // SharedStore::histories_taken(), as shown.
  std::unique_ptr<store::History> history_;  // Of listings_.
  std::unique_ptr<EventLog> events_;
  std::unique_ptr<AuditLog> audit_;
  // Last: their jobs use all above.
  std::unique_ptr<Worker<Job>> listings_;
  std::unique_ptr<StoreThread> thread_;
};

}  // namespace fabricd::daemon
