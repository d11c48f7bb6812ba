// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/seed_command.h"

#include <cstdio>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace fabricd::sim {

void AddSeedCommand(CLI::App& app, Run& run, const std::string& name, const std::string& text,
                    std::function<int(const SeedArguments&)> run_seeds) {
  const auto arguments = std::make_shared<SeedArguments>();
  CLI::App* command = app.add_subcommand(name, text);
  command->add_option("--seed", arguments->seed, "The first seed")->capture_default_str();
  command->add_option("--seeds", arguments->seeds, "How many seeds, from the first on")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--verbose", arguments->verbose, "Tell what happened when");
  command->final_callback([&run, arguments, run_seeds = std::move(run_seeds)] {
    run = [arguments, run_seeds] { return run_seeds(*arguments); };
  });
}

void PrintSeed(const std::string& name, uint64_t seed, const std::vector<std::string>& failures,
               const std::string& facts, bool verbose) {
  if (failures.empty() && !verbose) return;
  fmt::print("seed {} {} {}\n", seed, failures.empty() ? "passed" : "failed", facts);
  for (const std::string& failure : failures) fmt::print("  {}\n", failure);
  if (!failures.empty()) fmt::print("  again: fabricsim {} --seed {} --verbose\n", name, seed);
  std::fflush(stdout);
}

}  // namespace fabricd::sim
