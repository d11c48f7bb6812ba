// SPDX-License-Identifier: Apache-2.0
// fabricsim shared: seeds of whole nodes that share a store, on one fabric.
#pragma once

#include <CLI/CLI.hpp>

#include "sim/cli/command.h"

namespace fabricd::sim {

void AddShared(CLI::App& app, Run& run);

}  // namespace fabricd::sim
