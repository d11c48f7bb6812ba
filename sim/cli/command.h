// SPDX-License-Identifier: Apache-2.0
// sim/cli: fabricsim, the program.
//
// What the commands of fabricsim share: each declares itself on the program's CLI::App, and once
// chosen says by Run what main() is to do after the command line was read.
#pragma once

#include <functional>

namespace fabricd::sim {

constexpr int kExitOk = 0;
constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

// Does the work and returns the program's exit code.
using Run = std::function<int()>;

}  // namespace fabricd::sim
