// SPDX-License-Identifier: Apache-2.0
// ViewPublisher: hands what the core says and shows to those who want it: log, events, views, and
// answers to commands. Of the core's thread, but for view() and OnAnswer().
//
//   core ── Published<FabricView> ──► gRPC threads, SA, verdicts
//   core ── EventLog ──► store ──► watchers      bounds: event_log.h
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/published.h"
#include "daemon/core/command_port.h"
#include "daemon/core/dump_writer.h"
#include "daemon/core/service_manager.h"
#include "daemon/record/event_log.h"
#include "daemon/sa/sa_service.h"
#include "daemon/telemetry/telemetry_thread.h"
#include "shell/ports.h"

namespace fabricd::daemon {

class ViewPublisher final : public shell::Listener {
 public:
  // All outlive this.
  struct Readers {
    CommandPort& commands;
    EventLog& events;
    SaService& sa;
    TelemetryThread& telemetry;
    // A view has been published: calls are to be served from now on, or their streams go on.
    std::function<void(bool serves)> on_api;
  };
  // `dump_dir`: empty: no dumps are written.
  ViewPublisher(Readers readers, std::string dump_dir);

  // Any thread. Never null.
  std::shared_ptr<const sweep::FabricView> view() const { return view_.Get(); }

  // Every turn of the core's loop: watchers of events see now and then that all is alive.
  void Beat();
  // Dumps that wait are written.
  void Stop() { dumps_.Stop(); }
  ServiceManager& service_manager() { return service_manager_; }

  void OnLog(sweep::LogRecord record) override;
  void OnPublished(std::shared_ptr<const sweep::FabricView> view,
                   std::vector<fabric::FabricEvent> events, Instant now) override;
  void OnFinished(sweep::FinishedCommand finished) override;
  void OnAnswer(sweep::Answer answer) override;  // Any thread.

 private:
  void Publish(std::shared_ptr<const sweep::FabricView> view);
  void ReportState(const sweep::FabricView& view);

  const Readers readers_;
  Published<sweep::FabricView> view_;
  uint32_t sweeps_seen_ = 0;
  std::chrono::steady_clock::time_point next_beat_{};
  ServiceManager service_manager_;
  DumpWriter dumps_;
};

}  // namespace fabricd::daemon
