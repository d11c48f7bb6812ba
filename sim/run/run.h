// SPDX-License-Identifier: Apache-2.0
// sim/run: one run of a seed: managers, faults, checkers.
//
// RunSeed: one run of the deterministic simulation. A safety phase, in which faults drawn from the
// seed hit a fabric and its managers while the Watch looks at every MAD; then all faults stop, and
// within a bounded time one manager must have brought the subnet up, fall quiet, and leave devices
// that every checker accepts. One seed, topology and fault specification give one run, whatever
// the thread count.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <absl/status/status.h>

#include "fabric/snapshot.h"
#include "shell/ports.h"
#include "sim/checkers/table_watch.h"
#include "sim/fabric/mad_faults.h"
#include "sim/faults/fault_spec.h"
#include "sweep/interface/options.h"

namespace fabricd::sim {

struct RunOptions {
  FaultSpec faults = StandardFaults();
  uint64_t seed = 1;
  sweep::CoreOptions core;
  bool profiles = false;      // Each device has a FirmwareProfile, drawn from the seed.
  bool watch_tables = false;  // The TableWatch judges the tables after every Set.
  // Given the lines of each manager's trace (trace.h), by the manager's number; may be empty.
  std::function<void(size_t manager, const std::string& line)> trace;
  // Makes the tap of each life of each manager; may be empty.
  std::function<std::unique_ptr<shell::Tap>(size_t manager)> make_tap;
};

struct RunResult {
  Faults drawn{};
  std::vector<std::string> failures;  // "checker: what"; empty: passed.
  std::vector<std::string> story;     // What happened when, and what the managers logged.
  uint64_t digest = 0;                // Of all MADs sent.
  uint64_t mads = 0;                  // Sent by managers and their rivals.
  uint64_t sets = 0;                  // That reached a device.
  TableWatch::Statistics tables;      // What the TableWatch has seen.
  Duration up_after{};                // Virtual time from the start until the subnet first was up.
  Duration settled_after{};           // From the end of the faults until all was quiet.
  bool passed() const { return failures.empty(); }
};

// What comes before the colon of failures, all of it.
std::span<const char* const> CheckerNames();

// kInvalidArgument: too few hosts for all who may want one, or no cable at all.
absl::Status CheckRunnable(const fabric::FabricSnapshot& topology, const FaultSpec& faults);

// REQUIRES: CheckRunnable(topology, options.faults).ok().
RunResult RunSeed(const fabric::FabricSnapshot& topology, const RunOptions& options);

}  // namespace fabricd::sim
