// SPDX-License-Identifier: Apache-2.0
// App: all wiring of the daemon. It owns the threads and queues, runs the core's loop on the
// calling thread, and carries out its Effects. No decision about the fabric is made here.
//
//   rx threads (transport) ── Inbox ──► core (Run's thread)
//   core ── Worker<Job> ──► urgent  ── Inbox ──► core
//       capacity 16: least changes and the order of table writes, one of each at a time
//   core ── Worker<Job> ──► compute ── Inbox ──► core
//       capacity 16: what takes long; a plan that a newer question has made void is not begun
//   core, SaKeeper, logs ── StoreThread ──► store ── Inbox ──► core     bounds: store_thread.h
//   gRPC threads ── Worker<Job> ──► listings, completion on the listings' thread
//       capacity 64: a listing that finds it full is refused
//   core ── Worker<Job> ──► files      capacity 1: dumps; one that waits shows the newest view
//   core ── EventLog ──► store ──► watchers (gRPC streams)      bounds: event_log.h
//   gRPC threads ── AuditLog ──► store                           bounds: audit_log.h
//   gRPC threads ── Inbox (commands) ──► core ── completion on the core's thread ──► gRPC
//   core ── Published<FabricView> ──► gRPC threads
//   rx threads, core ──► SaService, with threads and queues of its own: sa_service.h
//   rx threads, core, gRPC threads ──► TelemetryThread, the same: telemetry_thread.h
//   views ──► VerdictThread ── holds ──► core, rows ──► store, events ──► EventLog:
//   verdict_thread.h
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <absl/status/statusor.h>

#include "common/published.h"
#include "config/config.h"
#include "daemon/base/backend.h"
#include "daemon/base/config_keeper.h"
#include "daemon/base/store_thread.h"
#include "daemon/base/wall_clock.h"
#include "daemon/base/worker.h"
#include "daemon/inbox.h"
#include "daemon/once.h"
#include "daemon/pending_commands.h"
#include "daemon/record/audit_log.h"
#include "daemon/record/event_log.h"
#include "daemon/record/flight_recorder.h"
#include "daemon/record/logging.h"
#include "daemon/sa/sa_service.h"
#include "daemon/service_manager.h"
#include "daemon/telemetry/reset_events.h"
#include "daemon/telemetry/telemetry_thread.h"
#include "daemon/verdicts/verdict_thread.h"
#include "mad/transport.h"
#include "store/store.h"
#include "sweep/core.h"

namespace fabricd::rpc {
class Server;
}
namespace fabricd::http {
class HttpServer;
}

namespace fabricd::daemon {

struct RunOptions {
  bool once = false;     // End when the subnet is up, or cannot be brought up.
  std::string dump_dir;  // Written after each heavy sweep; empty: none.
  // The configuration's file, for those who ask, and reading it again as at the start.
  std::string config_file = {};
  ConfigKeeper::Load load_config = {};
};

class App final : public Backend {
 public:
  // Opens the state, the fabric and the listeners. Errors say what to do.
  static absl::StatusOr<std::unique_ptr<App>> Create(const config::Config& config, RunOptions run);
  ~App() override;

  // Runs until Stop() or, with `once`, until the answer is known. 0: subnet up, or stopped by
  // Stop(). 1: not up, or standby (once only).
  int Run();
  // Any thread, and signal handlers' own thread.
  void Stop();
  // Backend.
  std::shared_ptr<const sweep::FabricView> view() const override;
  std::shared_ptr<const fabric::HostTable> hosts(const sweep::FabricView& view) const override;
  const fabric::NodeNameMap& node_name_map() const override { return node_name_map_; }
  const fabric::HostPatterns& host_patterns() const override { return host_patterns_; }
  void PostSweep(bool heavy, std::function<void(absl::Status)> done) override;
  void PostHold(HoldCommand command, HoldDone done) override;
  void PostPartitions(sweep::ChangePartitions command, PartitionsDone done) override;
  void PostMastership(MastershipCommand command, MastershipDone done) override;
  SaReads sa() const override { return {sa_->view(), sa_keeper_->clients()}; }
  std::shared_ptr<const telemetry::TelemetryView> telemetry() override {
    return telemetry_->view();
  }
  void ReadHistory(PortRef port, Duration span, HistoryDone done) override {
    telemetry_->ReadHistory(port, span, std::move(done));
  }
  void PollCounters(PolledDone done) override { telemetry_->PollNow(std::move(done)); }
  std::shared_ptr<const query::VerdictView> verdicts() const override { return verdicts_->view(); }
  void PostVerdict(VerdictCommand command, VerdictDone done) override {
    verdicts_->Do(std::move(command), std::move(done));
  }
  void EvaluateLink(PortRef port, VerdictDone done) override {
    verdicts_->Evaluate(port, std::move(done));
  }
  EventLog& events() override { return *events_; }
  AuditLog& audit() override { return *audit_; }
  ConfigKeeper& configuration() override { return *keeper_; }
  absl::StatusOr<std::map<std::string, std::string>> MakeDumps() const override;
  std::string recordings() const override;
  sim::Control* sim_control() override { return sim_control_; }

 private:
  App(const config::Config& config, RunOptions run);
  absl::Status OpenState();
  absl::Status OpenEvents();
  absl::Status OpenFabric();
  absl::StatusOr<policy::PartitionState> OpenPartitions(const StoredRows& rows);
  absl::Status ApplyConfig(const config::Config& wanted, ConfigKeeper::Apply how);
  void ApplyPartitionsFile(policy::PartitionRequest request);
  void OpenSa(std::unique_ptr<sa::SaState> clients);
  void OpenTelemetry();
  absl::Status OpenVerdicts(const StoredRows& rows);
  absl::Status OpenListeners();
  absl::Status OpenRpc();

  void OnTransport(std::span<mad::Incoming> burst);
  absl::Status OpenRecorder(const shell::CoreInputs& inputs);
  void StepCore(sweep::Event event, Instant now);
  void CarryEffects(Instant now);
  void Carry(sweep::Effects effects, Instant now);
  // On the store's thread.
  absl::Status Persist(const sweep::PersistLids& task);
  absl::Status Persist(const sweep::PersistHolds& task);
  absl::Status Persist(const sweep::PersistPartitions& task);
  // Runs a durable write on the store's thread. False: it is not run.
  [[nodiscard]] bool OnStore(std::function<void()> job);
  void PostCommand(sweep::Event event, uint64_t command);
  // `answer`: what `done` is told of the finished command beside its status.
  template <typename... Commands, typename Answer, typename Done>
  void PostOneOf(std::variant<Commands...> wanted, Answer sweep::FinishedCommand::*answer,
                 Done done);
  using Job = std::function<void()>;
  template <typename Record>
  void CarryOut(sweep::QuestionId id, Record record, Instant now);
  void CarryOut(sweep::QuestionId id, sweep::ComputePlan task, Instant now);
  void CarryOut(sweep::QuestionId id, sweep::CheckCables task, Instant now);
  void CarryOut(sweep::QuestionId id, sweep::OrderTables task, Instant now);
  void CarryOut(sweep::QuestionId id, sweep::ComputeTrees task, Instant now);
  void CarryOut(sweep::QuestionId id, sweep::EvaluateIntent task, Instant now);
  template <typename Task>
  [[nodiscard]] bool PostQuestion(Worker<Job>& worker, sweep::QuestionId id, Task task);
  void OnPublished(const sweep::FabricView& view);
  void TellTelemetry(const sweep::FabricView& view);
  void TellLoad();
  void Loop();
  void ShowProgress(std::chrono::steady_clock::time_point now);
  void JudgeOnce(const sweep::Progress& progress, Instant now);
  void WriteDumps() const;
  void ShutDown();
  // Null until calls are served.
  rpc::Server* serving() const { return serving_.load(std::memory_order_acquire); }

  const config::Config config_;  // As started.
  const RunOptions run_;
  fabric::NodeNameMap node_name_map_;
  fabric::HostPatterns host_patterns_;

  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::History> history_;  // Of listings_. Gone before the store.
  std::unique_ptr<mad::Transport> transport_;
  sim::Control* sim_control_ = nullptr;         // Of transport_.
  std::unique_ptr<SaKeeper> sa_keeper_;         // Uses transport_, and the store's thread.
  std::unique_ptr<SaService> sa_;               // Uses transport_ and sa_keeper_.
  std::unique_ptr<TelemetryThread> telemetry_;  // Uses transport_.
  std::unique_ptr<VerdictThread> verdicts_;     // Uses telemetry_, the core's inbox and the store.
  telemetry::CoreLoad load_;                    // As telemetry was given it.
  ResetEvents reset_events_;                    // Of telemetry's thread.
  std::unique_ptr<FlightRecorder> recorder_;    // Null: off.
  std::unique_ptr<sweep::Core> core_;
  Inbox inbox_;
  std::unique_ptr<Worker<Job>> urgent_, compute_;
  std::atomic<uint64_t> newest_plan_ = 0;
  bool newest_is_urgent_ = false;
  // The newest check of cables that no job has started yet. One job serves all that wait.
  struct Unchecked {
    sweep::QuestionId id;
    sweep::CheckCables task;
  };
  std::atomic<std::shared_ptr<const Unchecked>> unchecked_;
  std::unique_ptr<EventLog> events_;
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<ConfigKeeper> keeper_;
  // Stopped before what they use; the store first, for its jobs post listings.
  std::unique_ptr<Worker<Job>> listings_;
  std::unique_ptr<StoreThread> store_thread_;
  std::unique_ptr<Worker<Job>> files_;
  ServiceManager service_manager_;
  std::chrono::steady_clock::time_point next_progress_{}, next_beat_{};
  WallClockWatch wall_clock_;
  Published<sweep::FabricView> view_;
  uint32_t sweeps_seen_ = 0;

  mutable std::mutex hosts_mutex_;
  mutable std::shared_ptr<const fabric::FabricSnapshot> hosts_of_;
  mutable std::shared_ptr<const fabric::HostTable> hosts_;

  PendingCommands commands_;

  std::atomic<bool> stopping_ = false;
  OnceWatch once_;
  std::optional<int> exit_code_;

  // Last, so that nothing that calls use goes before them. Calls are accepted before Start() is
  // back: they, and the core, see the server by serving().
  std::unique_ptr<rpc::Server> server_;
  std::atomic<rpc::Server*> serving_ = nullptr;
  std::unique_ptr<http::HttpServer> http_;  // Shows server_'s counters too.
};

}  // namespace fabricd::daemon
