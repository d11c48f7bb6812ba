// SPDX-License-Identifier: Apache-2.0
// FabricPort: the port of the fabric that fabricd runs on. It stays open while fabricd starts again
// within its process (kept_transport.h).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <absl/status/statusor.h>

#include "common/sm_mode.h"
#include "daemon/kept_transport.h"
#include "mad/read_only_transport.h"
#include "mad/transport.h"
#include "sim/fabric/control.h"

namespace fabricd::daemon {

class FabricPort {
 public:
  // `spec`: `fabric` of the configuration. `mode`: the most that any user of the port does; without
  // kManage, requests that only a manager responds to stay free for another SM on this port. Errors
  // tell operators what to do. Nothing is sent or received yet.
  static absl::StatusOr<std::shared_ptr<FabricPort>> Open(const std::string& spec, SmMode mode);

  // For one user after the other, each until its Stop(). `mode`: what this one does.
  mad::Transport& Use(SmMode mode);
  // Null: the fabric is not simulated.
  sim::Control* sim_control() const { return sim_control_; }

 private:
  FabricPort(std::unique_ptr<mad::Transport> transport, sim::Control* sim_control)
      : transport_(std::move(transport)), sim_control_(sim_control) {}

  KeptTransport transport_;
  sim::Control* const sim_control_;                  // Of transport_.
  std::optional<mad::ReadOnlyTransport> read_only_;  // Of the user, if it does not manage.
};

}  // namespace fabricd::daemon
