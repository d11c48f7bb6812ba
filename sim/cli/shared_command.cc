// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/shared_command.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/rng.h"
#include "sim/shared/shared_run.h"

namespace fabricd::sim {
namespace {

struct SharedArguments {
  uint64_t seed = 1;
  uint64_t seeds = 1;
  bool verbose = false;
};

int RunShared(const SharedArguments& arguments) {
  uint64_t failed = 0, masterships = 0, late = 0, holds = 0, digest = 0;
  Duration latest{};
  for (uint64_t seed = arguments.seed; seed < arguments.seed + arguments.seeds; ++seed) {
    const SharedRunResult result = RunSharedSeed(
        seed, arguments.verbose ? [](const std::string& line) { fmt::print("{}\n", line); }
                                : std::function<void(const std::string&)>());
    masterships += result.masterships;
    late += result.late_sets;
    holds += result.holds;
    latest = std::max(latest, result.master_after);
    digest = Rng(digest ^ result.digest).Next();
    if (result.passed() && !arguments.verbose) continue;
    failed += !result.passed();
    fmt::print(
        "seed {} {} ({}: {}), {} masterships, {} late Sets, {} holds, {} writes, {} epochs\n", seed,
        result.passed() ? "passed" : "failed", result.topology, fmt::join(result.faults, ", "),
        result.masterships, result.late_sets, result.holds, result.writes, result.takes);
    for (const std::string& failure : result.failures) fmt::print("  {}\n", failure);
    if (!result.passed()) fmt::print("  again: fabricsim shared --seed {} --verbose\n", seed);
    std::fflush(stdout);
  }
  fmt::print(
      "{} seeds: {} passed, {} failed; {} masterships, {} Sets of an old master, {} holds; a "
      "master "
      "at most {:.1f} s after the faults; digest {:016x}\n",
      arguments.seeds, arguments.seeds - failed, failed, masterships, late, holds,
      std::chrono::duration<double>(latest).count(), digest);
  return failed == 0 ? kExitOk : kExitFailure;
}

}  // namespace

void AddShared(CLI::App& app, Run& run) {
  const auto arguments = std::make_shared<SharedArguments>();
  CLI::App* command = app.add_subcommand(
      "shared", "Run seeds of whole managers that share a simulated etcd, on one fabric");
  command->add_option("--seed", arguments->seed, "The first seed")->capture_default_str();
  command->add_option("--seeds", arguments->seeds, "How many seeds, from the first on")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--verbose", arguments->verbose, "Tell what happened when");
  command->final_callback(
      [&run, arguments] { run = [arguments] { return RunShared(*arguments); }; });
}

}  // namespace fabricd::sim
