// SPDX-License-Identifier: Apache-2.0
// FileTap: a Recorder that writes its segments itself, on the calling thread. For the simulator;
// the daemon writes on another thread.
#pragma once

#include <memory>
#include <utility>

#include "recorder/recorder.h"
#include "recorder/segments.h"

namespace fabricd::recorder {

class FileTap final : public shell::Tap {
 public:
  explicit FileTap(SegmentWriter writer)
      : writer_(std::move(writer)),
        recorder_([this](const PackedBatch& batch) { return writer_.Write(batch).ok(); }) {}
  ~FileTap() override { recorder_.Flush(); }

  void OnStart(const shell::CoreInputs& inputs) override { recorder_.OnStart(inputs); }
  void OnStep(const sweep::Event& event, Instant now) override { recorder_.OnStep(event, now); }
  void OnEffects(const sweep::Effects& effects, Instant now) override {
    recorder_.OnEffects(effects, now);
  }

 private:
  SegmentWriter writer_;
  Recorder recorder_;
};

}  // namespace fabricd::recorder
