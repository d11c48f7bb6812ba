// SPDX-License-Identifier: Apache-2.0
// KeptTransport: a Transport whose port stays open from one user to the next. So fabricd can start
// again within its process without a moment in which the port is deaf, and without closing a handle
// while responses to it are in flight: in ibsim's preload shim such a response is a crash.
//
// Responses to requests of the former user may reach the next one. Transaction ids differ if each
// user begins with a different one (EngineOptions::first_transaction_id).
//
// Threads: as Transport.
#pragma once

#include <atomic>
#include <memory>
#include <shared_mutex>

#include "mad/transport.h"

namespace fabricd::daemon {

class KeptTransport final : public mad::Transport {
 public:
  explicit KeptTransport(std::unique_ptr<mad::Transport> inner);
  ~KeptTransport() override;  // Closes the port.

  // The first one starts the port, and may fail. A later one only replaces the sink.
  absl::Status Start(Sink sink) override;
  // The port goes on. What arrives before the next Start() is dropped.
  void Stop() override;
  absl::Status Send(const mad::OutgoingMad& mad) override { return inner_->Send(mad); }
  absl::Status AgentStatus(mad::Agent agent) const override { return inner_->AgentStatus(agent); }
  // A port that is lost stays lost: no Start() brings it back.
  absl::Status PortStatus() const override { return inner_->PortStatus(); }
  absl::Status SetIsSm(bool is_sm) override { return inner_->SetIsSm(is_sm); }
  mad::LocalPort local_port() const override { return inner_->local_port(); }

 private:
  void Deliver(std::span<mad::Incoming> burst);

  const std::unique_ptr<mad::Transport> inner_;
  bool is_started_ = false;
  // Asked before the lock: receivers that take turns with it would keep Stop() waiting for ever.
  std::atomic<bool> has_sink_ = false;
  std::shared_mutex mutex_;  // Shared by the receivers while they are in the sink.
  Sink sink_;
};

}  // namespace fabricd::daemon
