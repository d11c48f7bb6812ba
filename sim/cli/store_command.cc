// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/store_command.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/rng.h"
#include "sim/store/store_run.h"

namespace fabricd::sim {
namespace {

struct StoreArguments {
  uint64_t seed = 1;
  uint64_t seeds = 1;
  bool verbose = false;
};

int RunStores(const StoreArguments& arguments) {
  uint64_t failed = 0, acknowledged = 0, takes = 0, digest = 0;
  Duration latest{};
  for (uint64_t seed = arguments.seed; seed < arguments.seed + arguments.seeds; ++seed) {
    const StoreRunResult result = RunStoreSeed(seed, [&](const std::string& line) {
      if (arguments.verbose) fmt::print("{}\n", line);
    });
    acknowledged += result.acknowledged;
    takes += result.takes;
    latest = std::max(latest, result.owner_after);
    digest = Rng(digest ^ result.digest).Next();
    if (result.passed() && !arguments.verbose) continue;
    failed += !result.passed();
    fmt::print("seed {} {} ({}), {} writes, {} epochs\n", seed,
               result.passed() ? "passed" : "failed", fmt::join(result.faults, ", "),
               result.acknowledged, result.takes);
    for (const std::string& failure : result.failures) fmt::print("  {}\n", failure);
    if (!result.passed()) fmt::print("  again: fabricsim store --seed {} --verbose\n", seed);
    std::fflush(stdout);
  }
  fmt::print(
      "{} seeds: {} passed, {} failed; {} writes acknowledged, {} epochs; an owner at most {:.1f} "
      "s "
      "after the faults; digest {:016x}\n",
      arguments.seeds, arguments.seeds - failed, failed, acknowledged, takes,
      std::chrono::duration<double>(latest).count(), digest);
  return failed == 0 ? kExitOk : kExitFailure;
}

}  // namespace

void AddStore(CLI::App& app, Run& run) {
  const auto arguments = std::make_shared<StoreArguments>();
  CLI::App* command = app.add_subcommand("store", "Run seeds of nodes that share a simulated etcd");
  command->add_option("--seed", arguments->seed, "The first seed")->capture_default_str();
  command->add_option("--seeds", arguments->seeds, "How many seeds, from the first on")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--verbose", arguments->verbose, "Tell what happened when");
  command->final_callback(
      [&run, arguments] { run = [arguments] { return RunStores(*arguments); }; });
}

}  // namespace fabricd::sim
