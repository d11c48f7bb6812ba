// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/store_command.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/rng.h"
#include "sim/cli/seed_command.h"
#include "sim/store/store_run.h"

namespace fabricd::sim {
namespace {

int RunStores(const SeedArguments& arguments) {
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
    failed += !result.passed();
    PrintSeed("store", seed, result.failures,
              fmt::format("({}), {} writes, {} epochs", fmt::join(result.faults, ", "),
                          result.acknowledged, result.takes),
              arguments.verbose);
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
  AddSeedCommand(app, run, "store", "Run seeds of nodes that share a simulated etcd", RunStores);
}

}  // namespace fabricd::sim
