// SPDX-License-Identifier: Apache-2.0
// `fabricsim serve TOPOLOGY --kernel DEVICE`: a simulated fabric, in real time, as the wire of the
// kernel's virtual HCAs (kernel/simib).
#pragma once

#include <CLI/CLI.hpp>

#include "sim/cli/command.h"

namespace fabricd::sim {

// Adds the command to `app`; sets `run` when the command line chooses it. `run` outlives `app`'s
// parsing.
void AddServe(CLI::App& app, Run& run);

}  // namespace fabricd::sim
