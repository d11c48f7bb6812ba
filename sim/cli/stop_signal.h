// SPDX-License-Identifier: Apache-2.0
// SIGTERM and SIGINT as a flag, for commands that run until they are ended.
#pragma once

#include <csignal>

namespace fabricd::sim {

// From now on either signal sets the flag instead of ending the process, and SIGPIPE does nothing:
// a peer that left is no reason to end.
const volatile std::sig_atomic_t& StopOnSignals();

}  // namespace fabricd::sim
