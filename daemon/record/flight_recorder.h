// SPDX-License-Identifier: Apache-2.0
// FlightRecorder: the daemon's recording of its core (recorder/). Records are made on the core's
// thread and written by a thread of its own.
//
// Bound: 64 batches of about 128 KiB wait for the disk. Beyond that they are dropped, and the
// recording says how many records are missing. An error of the disk ends the recording with one
// line in the log; fabricd goes on.
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
  // `version`: of this program. `wall_ms`: now, since 1970: the name of this life.
  static absl::StatusOr<std::unique_ptr<FlightRecorder>> Open(std::filesystem::path directory,
                                                              uint64_t max_bytes,
                                                              const std::string& version,
                                                              uint64_t wall_ms);

  void OnStart(const shell::CoreInputs& inputs) override { recorder_.OnStart(inputs); }
  void OnStep(const sweep::Event& event, Instant now) override { recorder_.OnStep(event, now); }
  void OnEffects(const sweep::Effects& effects, Instant now) override;
  // What was recorded is written before this is back. The core's thread; nothing is recorded after.
  void Stop();

 private:
  explicit FlightRecorder(recorder::SegmentWriter writer);
  void Write(const recorder::pb::Batch& batch);

  recorder::SegmentWriter writer_;  // Of writing_.
  std::atomic<bool> failed_ = false;
  Instant next_flush_{};
  Worker<recorder::pb::Batch> writing_;
  recorder::Recorder recorder_;
};

}  // namespace fabricd::daemon
