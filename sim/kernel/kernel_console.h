// SPDX-License-Identifier: Apache-2.0
// KernelConsole: what an operator or a test may do to a fabric that serves the kernel, one command
// a line:
//   unlink NODE PORT | link NODE PORT     pulls the cable there, or puts it back
//   loss NODE PORT PROBABILITY            of each packet on that cable; 0 ends it
//   reboot NODE
//   remove HCA | add HCA | fatal HCA      to an HCA of the module, by its index
//   replace HCA GUID                      as add, but the HCA has this node GUID
//   trap HCA PORT NUMBER                  129, 130 or 131
//   count HCA PORT COUNTER N              a counter of enum simib_counter counts N more
// A node is named as in sim/fabric/control.h.
#pragma once

#include <string>
#include <vector>

#include <absl/status/status.h>

#include "common/time.h"
#include "sim/kernel/kernel_wire.h"

namespace fabricd::sim {

// Carries out one line; appends the frames that the module is to get. kInvalidArgument: no command.
[[nodiscard]] absl::Status RunConsoleLine(Instant now, const std::string& line, SimFabric& fabric,
                                          std::vector<KernelWire::Frame>& frames);

}  // namespace fabricd::sim
