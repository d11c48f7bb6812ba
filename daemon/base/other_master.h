// SPDX-License-Identifier: Apache-2.0
// OtherMaster: the node that manages the subnet while this one waits for the shared state.
#pragma once

#include <string>

namespace fabricd::daemon {

struct OtherMaster {
  std::string name;      // For people: "head1 pid 4711".
  std::string endpoint;  // Of its API: HOST:PORT or unix:PATH; empty: not known.
};

}  // namespace fabricd::daemon
