// SPDX-License-Identifier: Apache-2.0
// The relay of a kernel whose fabric is in another machine: frames between the module's device and
// a stream to `fabricsim serve --kernel unix:PATH`.
#pragma once

#include <csignal>

#include <absl/status/status.h>

#include "sim/kernel/frame_link.h"

namespace fabricd::sim {

// Until `stop` is set (by a signal); the other end hears then that the HCAs are gone.
// kUnavailable: one of the two ended. While the stream does not take what it has, nothing is read
// from the module, which bounds what waits there.
[[nodiscard]] absl::Status Relay(FrameLink& module, FrameLink& stream,
                                 const volatile std::sig_atomic_t& stop);

}  // namespace fabricd::sim
