// SPDX-License-Identifier: Apache-2.0
// fabricsim replay PATH: runs the core over a recording of the flight recorder.
#pragma once

#include <CLI/CLI.hpp>

#include "sim/cli/command.h"

namespace fabricd::sim {

// `run` is set when the command was chosen; both must outlive the parsing.
void AddReplay(CLI::App& app, Run& run);

}  // namespace fabricd::sim
