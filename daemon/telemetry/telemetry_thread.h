// SPDX-License-Identifier: Apache-2.0
// daemon/telemetry: the collector on a thread of its own.
//
// TelemetryThread: the shell of telemetry::Collector. Events come from any thread by a bounded
// queue; requests go out by the transport from this thread; views are published once a second while
// somebody reads them, and every five seconds where nobody does.
//
// Bounds: responses are at most those of the window (1,024). Questions of readers are at most
// kMaxQuestions; one more is refused. Of traps at most kMaxTraps wait, and the rest is dropped: the
// next pass reads what they report. Of fabrics and loads only the newest waits.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <absl/status/status.h>

#include "common/mutex.h"
#include "common/published.h"
#include "daemon/base/backend.h"
#include "mad/transport.h"
#include "telemetry/collector.h"

namespace fabricd::daemon {

class TelemetryThread {
 public:
  static constexpr size_t kMaxQuestions = 256;
  static constexpr size_t kMaxTraps = 16;
  // Called on the thread where counters of ports begin again, and without any now and then.
  using OnEpochs = std::function<void(const std::vector<telemetry::EpochStarted>&)>;

  // `transport` outlives it, or is stopped before.
  TelemetryThread(const telemetry::Options& options, mad::Transport& transport, OnEpochs on_epochs);
  ~TelemetryThread();
  TelemetryThread(const TelemetryThread&) = delete;
  TelemetryThread& operator=(const TelemetryThread&) = delete;

  void Start();
  void Stop();

  // Any thread.
  void OnMads(std::span<mad::IncomingMad> mads);
  // Of all traps; those about the errors of a link count.
  void OnTrap(const mad::IncomingMad& mad);
  void OnFabric(telemetry::FabricChanged fabric);
  void OnLoad(const telemetry::CoreLoad& load);
  void SetOptions(const telemetry::Options& options);
  // The newest; never null. Asking has the next one made soon.
  std::shared_ptr<const telemetry::TelemetryView> view();
  // `done` is called on the thread, or at once where it is full or stopping.
  void ReadHistory(PortRef port, Duration span, HistoryDone done);
  void PollNow(PolledDone done);

 private:
  using Steady = std::chrono::steady_clock;
  void Loop();
  bool Take(std::vector<telemetry::Event>& events, Steady::time_point until);
  void Carry(telemetry::Effects& effects, Instant now);
  std::chrono::seconds PublishInterval() const;
  void PublishIfDue(Instant now);
  void Publish(Instant now);
  template <typename Done, typename Event>
  bool Ask(std::map<uint64_t, Done>& waiting, Done& done, Event event) FABRICD_REQUIRES(mutex_);

  mad::Transport& transport_;
  const OnEpochs on_epochs_;
  telemetry::Collector collector_;
  Published<telemetry::TelemetryView> view_;
  std::atomic<bool> is_read_ = false;  // Since the last publication.
  Steady::time_point published_{};

  Mutex mutex_;
  Condition changed_;
  bool stopping_ FABRICD_GUARDED_BY(mutex_) = false;
  uint64_t next_id_ FABRICD_GUARDED_BY(mutex_) = 0;
  std::vector<mad::IncomingMad> mads_ FABRICD_GUARDED_BY(mutex_);
  std::vector<telemetry::Event> questions_ FABRICD_GUARDED_BY(mutex_);
  std::vector<telemetry::LinkTrap> traps_ FABRICD_GUARDED_BY(mutex_);
  std::optional<telemetry::FabricChanged> fabric_ FABRICD_GUARDED_BY(mutex_);
  std::optional<telemetry::CoreLoad> load_ FABRICD_GUARDED_BY(mutex_);
  std::optional<telemetry::Options> options_ FABRICD_GUARDED_BY(mutex_);
  std::map<uint64_t, HistoryDone> histories_ FABRICD_GUARDED_BY(mutex_);
  std::map<uint64_t, PolledDone> polls_ FABRICD_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace fabricd::daemon
