// SPDX-License-Identifier: Apache-2.0
// App: makes the parts of the daemon, connects them, starts their threads, and stops them in order.
// It decides nothing about the fabric.
//
// The threads and what passes between them, each with the header that has the bounds of the queue:
//
//   receive threads ── replies, traps ──► core              core/inbox.h
//   receive threads ── requests ──► SA threads              sa/sa_service.h
//   receive threads ── counters ──► telemetry               telemetry/telemetry_thread.h
//   gRPC, verdicts ── commands ──► core                     core/command_port.h
//   core ── jobs ──► urgent, compute, store ── answers ──► core      core/core_executor.h
//   core ── views, events ──► all readers                   core/view_publisher.h
//   core ── events, effects ──► flight recorder             record/flight_recorder.h
//   SA threads, verdicts, logs ── rows ──► store            base/store_thread.h
//   gRPC ── queries ──► listings                            state_opener.h
//   core ── views ──► verdicts                              verdicts/verdict_thread.h
//
// The core's thread is the one that calls Run(). docs/CONCURRENCY.md has a paragraph for each.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <absl/status/statusor.h>

#include "config/config.h"
#include "daemon/api_servers.h"
#include "daemon/base/backend.h"
#include "daemon/base/config_keeper.h"
#include "daemon/core/command_port.h"
#include "daemon/core/core_host.h"
#include "daemon/core/host_cache.h"
#include "daemon/core/progress_reporter.h"
#include "daemon/core/view_publisher.h"
#include "daemon/fabric_port.h"
#include "daemon/record/learned_window.h"
#include "daemon/sa/sa_service.h"
#include "daemon/state_opener.h"
#include "daemon/store/shared_node.h"
#include "daemon/telemetry/telemetry_thread.h"
#include "daemon/verdicts/verdict_thread.h"
#include "mad/transport.h"

namespace fabricd::daemon {

struct RunOptions {
  bool once = false;                 // End when the subnet is up, or cannot come up.
  std::string dump_dir;              // Folder for dumps after heavy sweeps; empty: none.
  std::string accept_takeover = {};  // The id of an accepted takeover report; empty: none.
  // The configuration's file, for display, and a function that reads it again as at the start.
  std::string config_file = {};
  ConfigKeeper::Load load_config = {};
  // Of the App before, in the same process.
  shell::Succession succession = {};
  std::shared_ptr<FabricPort> port = nullptr;  // Null: it is opened.
};

class App final : public Backend {
 public:
  // Opens the state, the fabric and the listeners. Errors tell operators what to do.
  static absl::StatusOr<std::unique_ptr<App>> Create(ConfigKeeper::Kept config,
                                                     const RunOptions& run);
  ~App() override;

  // Runs until Stop() or, with `once`, until the result is known. 0: subnet up, or stopped by
  // Stop(). 1: not up, or standby (once only); the port is lost or cannot show IsSM.
  int Run();
  // After Run(): what this App knows is old, and another one is to take its place in this process.
  bool starts_again() const { return node_.starts_again() && !stopping_; }
  const shell::Succession& successor() const { return node_.successor(); }
  const std::shared_ptr<FabricPort>& port() const { return port_; }
  // Any thread, including the signal thread.
  void Stop();
  // Backend.
  std::shared_ptr<const sweep::FabricView> view() const override { return publisher_->view(); }
  std::shared_ptr<const fabric::HostTable> hosts(const sweep::FabricView& view) const override {
    return hosts_->Get(view.snapshot);
  }
  const fabric::NodeNameMap& node_name_map() const override { return state_->node_name_map(); }
  const fabric::HostPatterns& host_patterns() const override { return state_->host_patterns(); }
  void PostSweep(bool heavy, std::function<void(absl::Status)> done) override {
    commands_.PostSweep(heavy, std::move(done));
  }
  void PostHold(HoldCommand command, HoldDone done) override {
    commands_.PostHold(std::move(command), std::move(done));
  }
  void PostPartitions(sweep::ChangePartitions command, PartitionsDone done) override {
    commands_.PostPartitions(std::move(command), std::move(done));
  }
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
  EventLog& events() override { return state_->events(); }
  AuditLog& audit() override { return state_->audit(); }
  ConfigKeeper& configuration() override { return *keeper_; }
  absl::StatusOr<std::map<std::string, std::string>> MakeDumps() const override;
  std::string recordings() const override;
  absl::Status store_writable() const override { return state_->writable(); }
  std::optional<OtherMaster> other_master() const override {
    return node_.other_master(view()->sm);
  }
  bool is_cut_off() const override { return !view()->sm.has_link && node_.has_others(); }
  std::vector<SharingNode> sharing_nodes() const override { return node_.nodes(); }
  int64_t epoch() const override { return node_.epoch(); }
  std::optional<SharedStateAge> shared_state_age() const override { return node_.age(); }
  sim::Control* sim_control() override { return port_->sim_control(); }

 private:
  App(ConfigKeeper::Kept config, const RunOptions& run);
  absl::Status Open(const RunOptions& run);
  absl::Status OpenPort();
  absl::Status OpenSa(std::unique_ptr<sa::SaState> clients);
  void OpenTelemetry(bool once);
  absl::Status OpenVerdicts(policy::StoredVerdicts stored);
  absl::Status OpenCore(shell::CoreInputs inputs, const RunOptions& run);
  absl::StatusOr<std::unique_ptr<FlightRecorder>> OpenRecorder() const;
  absl::Status ApplyConfig(const config::Config& wanted, ConfigKeeper::Apply how);
  void ApplyPartitionsFile(policy::PartitionRequest request);
  void OnTransport(std::span<mad::Incoming> burst);
  bool OnTurn(const sweep::Core& core);
  void OnView(const std::shared_ptr<const sweep::FabricView>& view);
  void ShutDown();

  const config::Config config_;  // As started.
  const std::string accept_takeover_;
  std::unique_ptr<StateOpener> state_;
  std::shared_ptr<FabricPort> port_;
  mad::Transport* transport_ = nullptr;  // Of port_.
  CommandPort commands_;
  std::unique_ptr<HostCache> hosts_;
  std::unique_ptr<SaKeeper> sa_keeper_;         // Uses transport_, and the store's thread.
  std::unique_ptr<SaService> sa_;               // Uses transport_ and sa_keeper_.
  std::unique_ptr<TelemetryThread> telemetry_;  // Uses transport_.
  std::unique_ptr<VerdictThread> verdicts_;     // Uses telemetry_, commands_ and the store.
  std::unique_ptr<ViewPublisher> publisher_;    // Uses all above and api_.
  std::unique_ptr<ProgressReporter> progress_;
  SharedNode node_;  // Uses state_.
  LearnedWindow window_{[this](auto job) { return state_->Post(std::move(job)); }};
  std::unique_ptr<CoreHost> core_;
  std::unique_ptr<ConfigKeeper> keeper_;
  std::atomic<bool> stopping_ = false;
  std::optional<int> exit_code_;
  ApiServers api_;  // Last: calls use all above.
};

}  // namespace fabricd::daemon
