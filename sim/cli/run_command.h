// SPDX-License-Identifier: Apache-2.0
// fabricsim run --topology SPEC --seed S [--seeds N] [--faults FILE]: runs of the deterministic
// simulation.
#pragma once

#include <CLI/CLI.hpp>

#include "sim/cli/command.h"

namespace fabricd::sim {

// `run` is set when the command was chosen; both must outlive the parsing.
void AddRun(CLI::App& app, Run& run);

}  // namespace fabricd::sim
