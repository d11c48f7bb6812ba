// SPDX-License-Identifier: Apache-2.0
// `fabricsim generate KIND … > FILE`: writes topology text that ibsim, `fabricd --fabric sim:FILE`
// and fabricplan read.
#pragma once

#include <CLI/CLI.hpp>

#include "sim/cli/command.h"

namespace fabricd::sim {

// Adds the command to `app`; sets `run` when the command line chooses it. `run` outlives `app`'s
// parsing.
void AddGenerate(CLI::App& app, Run& run);

}  // namespace fabricd::sim
