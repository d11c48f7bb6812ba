// SPDX-License-Identifier: Apache-2.0
// fabricsim verdicts --topology SPEC --scenario FILE [--seeds N] [--first S] [--report json|text]:
// what is concluded of causes that are known.
#pragma once

#include <CLI/CLI.hpp>

#include "sim/cli/command.h"

namespace fabricd::sim {

// `run` is set when the command was chosen; both must outlive the parsing.
void AddVerdicts(CLI::App& app, Run& run);

}  // namespace fabricd::sim
