// SPDX-License-Identifier: Apache-2.0
// daemon/core: the core's thread, and its interfaces to the other threads.
//
// CoreHost: owns the core and runs its loop on the thread that calls Run(): it takes events from
// the inbox, steps the core with them, and carries out the effects with shell::EffectRunner. No
// other thread uses the core.
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
#include "shell/write_fence.h"
#include "store/store.h"
#include "sweep/core.h"

namespace fabricd::daemon {

// Sends MADs over the transport.
class TransportNetwork final : public shell::Network {
 public:
  // `fence` null: it is always open.
  TransportNetwork(mad::Transport& transport, shell::WriteFence* fence)
      : transport_(transport), fence_(fence) {}
  // UNAVAILABLE: it is a Set of an SMP, and the fence is closed.
  absl::Status Send(mad::OutgoingMad&& mad) override;
  absl::Status SetIsSm(bool is_sm) override {
    absl::Status status = transport_.SetIsSm(is_sm);
    if (is_sm && !status.ok() && is_sm_.ok()) is_sm_ = status;
    return status;
  }
  // Not OK: this process cannot serve the subnet by its port any more. Either the port is lost, or
  // it cannot show IsSM: other SMs would not find this one, and the kernel would accept a second.
  absl::Status PortStatus() const { return is_sm_.ok() ? transport_.PortStatus() : is_sm_; }

 private:
  mad::Transport& transport_;
  shell::WriteFence* const fence_;
  absl::Status is_sm_;  // Why IsSM could not be set.
};

class CoreHost {
 public:
  // With more SMPs in flight than this, the core counts as busy.
  static constexpr size_t kManyInFlight = 32;

  // All must outlive this. `listener` passes answers to `inbox`. The store's thread stops before
  // this is destroyed.
  struct Links {
    mad::Transport& transport;
    store::Store& store;
    StoreThread& store_thread;
    Inbox& inbox;
    shell::Listener& listener;
    // Of a fence; nullopt: no other node can take over with this one's state.
    std::optional<shell::WriteFence::Witnesses> fence = std::nullopt;
  };
  // `recorder` null: nothing is recorded.
  CoreHost(const shell::CoreInputs& inputs, Links links, std::unique_ptr<FlightRecorder> recorder);
  ~CoreHost() { StopComputing(); }

  // Runs the loop until `turn` returns false. `turn` is called before the first turn and after
  // each.
  void Run(const std::function<bool(const sweep::Core&)>& turn);
  // TransportNetwork::PortStatus(). The thread of Run().
  absl::Status PortStatus() const { return network_.PortStatus(); }
  // How long this process was stopped, if for so long that another SM may be master. The thread of
  // Run().
  std::optional<shell::WriteFence::Time> pause() const { return pause_; }
  // Any thread.
  void CancelComputing() { executor_.Cancel(); }
  void StopComputing() { executor_.Stop(); }
  // Writes the pending records. Call after Run(), on the same thread.
  void StopRecording() {
    if (recorder_) recorder_->Stop();
  }

 private:
  void Turn();

  Inbox& inbox_;
  std::optional<shell::WriteFence> fence_;
  std::optional<shell::WriteFence::Time> pause_;
  TransportNetwork network_;
  shell::StoreRecords records_;
  CoreExecutor executor_;
  const std::unique_ptr<FlightRecorder> recorder_;
  const std::unique_ptr<sweep::Core> core_;
  shell::EffectRunner runner_;
  WallClockWatch wall_clock_;
  std::vector<sweep::Event> events_;  // Of the current turn.
};

}  // namespace fabricd::daemon
