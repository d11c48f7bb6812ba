// SPDX-License-Identifier: Apache-2.0
// `fabricsim serve TOPOLOGY --kernel DEVICE`: a simulated fabric, in real time, as the wire of the
// kernel's virtual HCAs (kernel/simib). `fabricsim relay DEVICE STREAM`: what a kernel in another
// machine runs to be one of several on such a fabric.
#pragma once

#include <CLI/CLI.hpp>

#include "sim/cli/command.h"

namespace fabricd::sim {

// Each adds a command to `app`, and sets `run` when the command line chooses it. `run` outlives
// `app`'s parsing.
void AddServe(CLI::App& app, Run& run);
void AddRelay(CLI::App& app, Run& run);

}  // namespace fabricd::sim
