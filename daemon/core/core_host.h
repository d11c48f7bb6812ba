// SPDX-License-Identifier: Apache-2.0
// daemon/core: the core's thread: its inbox, its loop, and what becomes of what it wants.
//
// CoreHost: the core and the shell around it, on the thread that calls Run(). Nothing else touches
// the core.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "daemon/base/store_thread.h"
#include "daemon/base/wall_clock.h"
#include "daemon/core/core_executor.h"
#include "daemon/core/inbox.h"
#include "daemon/record/flight_recorder.h"
#include "mad/transport.h"
#include "shell/effect_runner.h"
#include "shell/store_records.h"
#include "store/store.h"
#include "sweep/core.h"

namespace fabricd::daemon {

// Sends what the core sends.
class TransportNetwork final : public shell::Network {
 public:
  explicit TransportNetwork(mad::Transport& transport) : transport_(transport) {}
  absl::Status Send(mad::OutgoingMad&& mad) override { return transport_.Send(mad); }
  absl::Status SetIsSm(bool is_sm) override { return transport_.SetIsSm(is_sm); }

 private:
  mad::Transport& transport_;
};

class CoreHost {
 public:
  // While more SMPs than this are under way the core is busy.
  static constexpr size_t kManyInFlight = 32;

  // All outlive this. `listener` hands answers to `inbox`. The store's thread stops before this is
  // destroyed.
  struct Links {
    mad::Transport& transport;
    store::Store& store;
    StoreThread& store_thread;
    Inbox& inbox;
    shell::Listener& listener;
  };
  // `recorder`: null: nothing is recorded.
  CoreHost(const shell::CoreInputs& inputs, Links links, std::unique_ptr<FlightRecorder> recorder);
  ~CoreHost() { StopComputing(); }

  // The core's loop, until `turn`, which is called after each turn, returns false.
  void Run(const std::function<bool(const sweep::Core&)>& turn);
  // Any thread.
  void CancelComputing() { executor_.Cancel(); }
  void StopComputing() { executor_.Stop(); }
  // After Run(), on its thread: what was recorded is written.
  void StopRecording() {
    if (recorder_) recorder_->Stop();
  }

 private:
  void Turn();

  Inbox& inbox_;
  TransportNetwork network_;
  shell::StoreRecords records_;
  CoreExecutor executor_;
  const std::unique_ptr<FlightRecorder> recorder_;
  const std::unique_ptr<sweep::Core> core_;
  shell::EffectRunner runner_;
  WallClockWatch wall_clock_;
  std::vector<sweep::Event> events_;  // Of one turn.
};

}  // namespace fabricd::daemon
