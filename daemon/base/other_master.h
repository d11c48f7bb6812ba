// SPDX-License-Identifier: Apache-2.0
// OtherMaster: the node that manages the subnet while this one waits for the shared state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/ids.h"

namespace fabricd::daemon {

struct OtherMaster {
  std::string name;      // For people: "head1 pid 4711".
  std::string endpoint;  // Of its API: HOST:PORT or unix:PATH; empty: not known.
  // The subnet has an SM as master that does not share the state. The node is STANDBY beside it.
  struct Foreign {
    Guid guid;  // Of its port.
    uint8_t priority = 0;
  };
  std::optional<Foreign> foreign = {};
};

}  // namespace fabricd::daemon
