// SPDX-License-Identifier: Apache-2.0
// ViewPublisher: receives what the core reports and passes it on: log lines, events, views, and
// answers to commands. Only the core's thread calls it, except for view() and OnAnswer().
//
//   core ── Published<FabricView> ──► any thread
//   core ── EventLog ──► store ──► watchers            bounds: record/event_log.h
//   core ── DumpWriter ──► files                       bounds: core/dump_writer.h
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
#include "shell/ports.h"

namespace fabricd::daemon {

// Whether the API has data to show: a sweep has ended, or another SM is master.
bool IsServing(const sweep::FabricView& view);

class ViewPublisher final : public shell::Listener {
 public:
  using OnView = std::function<void(const std::shared_ptr<const sweep::FabricView>& view)>;

  // Both must outlive this. `on_view` is called after each view is published. `dump_dir` empty: no
  // dumps are written.
  ViewPublisher(CommandPort& commands, EventLog& events, OnView on_view, std::string dump_dir);

  // Any thread. Never null.
  std::shared_ptr<const sweep::FabricView> view() const { return view_.Get(); }

  // Call in each turn of the core's loop: now and then it signals watchers of events that fabricd
  // runs.
  void Beat();
  // Writes the pending dumps.
  void Stop() { dumps_.Stop(); }
  ServiceManager& service_manager() { return service_manager_; }

  void OnLog(sweep::LogRecord record) override;
  void OnPublished(std::shared_ptr<const sweep::FabricView> view,
                   std::vector<fabric::FabricEvent> events, Instant now) override;
  void OnFinished(sweep::FinishedCommand finished) override;
  void OnAnswer(sweep::Answer answer) override;  // Any thread.

 private:
  void ReportState(const sweep::FabricView& view);

  CommandPort& commands_;
  EventLog& events_;
  const OnView on_view_;
  Published<sweep::FabricView> view_;
  uint32_t sweeps_seen_ = 0;
  std::chrono::steady_clock::time_point next_beat_{};
  ServiceManager service_manager_;
  DumpWriter dumps_;  // Last: its thread reads view_.
};

}  // namespace fabricd::daemon
