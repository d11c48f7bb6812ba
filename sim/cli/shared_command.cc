// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/shared_command.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/rng.h"
#include "sim/cli/seed_command.h"
#include "sim/shared/shared_run.h"

namespace fabricd::sim {
namespace {

int RunShared(const SeedArguments& arguments) {
  uint64_t failed = 0, masterships = 0, late = 0, holds = 0, partitions = 0, digest = 0;
  Duration latest{};
  for (uint64_t seed = arguments.seed; seed < arguments.seed + arguments.seeds; ++seed) {
    const SharedRunResult result = RunSharedSeed(
        seed, arguments.verbose ? [](const std::string& line) { fmt::print("{}\n", line); }
                                : std::function<void(const std::string&)>());
    masterships += result.masterships;
    late += result.late_sets;
    holds += result.holds;
    partitions += result.partitions;
    latest = std::max(latest, result.master_after);
    digest = Rng(digest ^ result.digest).Next();
    failed += !result.passed();
    PrintSeed(
        "shared", seed, result.failures,
        fmt::format("({}: {}), {} masterships, {} late Sets, {} holds, {} partitions, {} "
                    "writes, {} epochs",
                    result.topology, fmt::join(result.faults, ", "), result.masterships,
                    result.late_sets, result.holds, result.partitions, result.writes, result.takes),
        arguments.verbose);
  }
  fmt::print(
      "{} seeds: {} passed, {} failed; {} masterships, {} Sets of an old master, {} holds, {} "
      "partitions; a master at most {:.1f} s after the faults; digest {:016x}\n",
      arguments.seeds, arguments.seeds - failed, failed, masterships, late, holds, partitions,
      std::chrono::duration<double>(latest).count(), digest);
  return failed == 0 ? kExitOk : kExitFailure;
}

}  // namespace

void AddShared(CLI::App& app, Run& run) {
  AddSeedCommand(app, run, "shared",
                 "Run seeds of whole managers that share a simulated etcd, on one fabric",
                 RunShared);
}

}  // namespace fabricd::sim
