// SPDX-License-Identifier: Apache-2.0
#include "daemon/kept_transport.h"

#include <mutex>
#include <utility>

namespace fabricd::daemon {

KeptTransport::KeptTransport(std::unique_ptr<mad::Transport> inner) : inner_(std::move(inner)) {}

KeptTransport::~KeptTransport() {
  Stop();
  inner_->Stop();
}

absl::Status KeptTransport::Start(Sink sink) {
  {
    std::lock_guard lock(mutex_);
    sink_ = std::move(sink);
    has_sink_ = true;
  }
  if (is_started_) return absl::OkStatus();
  const absl::Status status =
      inner_->Start([this](std::span<mad::Incoming> burst) { Deliver(burst); });
  is_started_ = status.ok();
  if (!is_started_) Stop();
  return status;
}

void KeptTransport::Stop() {
  has_sink_ = false;
  std::lock_guard lock(mutex_);
  sink_ = nullptr;
}

void KeptTransport::Deliver(std::span<mad::Incoming> burst) {
  if (!has_sink_) return;
  std::shared_lock lock(mutex_);
  if (sink_) sink_(burst);
}

}  // namespace fabricd::daemon
