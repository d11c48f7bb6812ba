// SPDX-License-Identifier: Apache-2.0
// What `fabricsim store` and `fabricsim shared` have in common: both run seeds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "sim/cli/command.h"

namespace fabricd::sim {

struct SeedArguments {
  uint64_t seed = 1;   // The first one.
  uint64_t seeds = 1;  // How many.
  bool verbose = false;
};

// Adds the subcommand `name` with these as options. `run_seeds` returns the exit code.
void AddSeedCommand(CLI::App& app, Run& run, const std::string& name, const std::string& text,
                    std::function<int(const SeedArguments&)> run_seeds);
// Prints how a seed of `fabricsim NAME` ended, with `facts`. Nothing is printed of one that
// passed, unless `verbose`.
void PrintSeed(const std::string& name, uint64_t seed, const std::vector<std::string>& failures,
               const std::string& facts, bool verbose);

}  // namespace fabricd::sim
