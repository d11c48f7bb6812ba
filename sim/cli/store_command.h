// SPDX-License-Identifier: Apache-2.0
// fabricsim store: seeds of nodes that share a store.
#pragma once

#include <CLI/CLI.hpp>

#include "sim/cli/command.h"

namespace fabricd::sim {

void AddStore(CLI::App& app, Run& run);

}  // namespace fabricd::sim
