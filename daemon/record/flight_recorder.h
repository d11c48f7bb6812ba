// SPDX-License-Identifier: Apache-2.0
// FlightRecorder: the daemon's recording of its core (recorder/). Records are made on the core's
// thread and written by a separate thread.
//
// Bound: 64 batches of about 128 KiB wait for the disk. Further ones are dropped, and the recording
// has the number of missing records. A disk error ends the recording with one log line, and fabricd
// continues.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include <absl/status/statusor.h>

#include "daemon/base/worker.h"
#include "recorder/recorder.h"
#include "recorder/segments.h"

namespace fabricd::daemon {

class FlightRecorder final : public shell::Tap {
 public:
  // `version`: of this program. `wall_ms`: the present time since 1970, which names this life.
  static absl::StatusOr<std::unique_ptr<FlightRecorder>> Open(std::filesystem::path directory,
                                                              uint64_t max_bytes,
                                                              const std::string& version,
                                                              uint64_t wall_ms);

  void OnStart(const shell::CoreInputs& inputs) override { recorder_.OnStart(inputs); }
  void OnStep(const sweep::Event& event, Instant now) override { recorder_.OnStep(event, now); }
  void OnEffects(const sweep::Effects& effects, Instant now) override;
  // Writes all pending records before it returns. Call on the core's thread; nothing is recorded
  // afterwards.
  void Stop();

 private:
  explicit FlightRecorder(recorder::SegmentWriter writer);
  void Write(const recorder::PackedBatch& batch);

  recorder::SegmentWriter writer_;  // Used by the thread of writing_.
  std::atomic<bool> failed_ = false;
  Instant next_flush_{};
  Worker<recorder::PackedBatch> writing_;
  recorder::Recorder recorder_;
};

}  // namespace fabricd::daemon
