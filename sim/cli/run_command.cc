// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/run_command.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "common/rng.h"
#include "common/status.h"
#include "recorder/file_tap.h"
#include "sim/fabric/topology.h"
#include "sim/run/run.h"

namespace fabricd::sim {
namespace {

struct Arguments {
  std::string topology, faults, trace, record;
  uint64_t seed = 1;
  uint64_t seeds = 1;
  unsigned jobs = 0;
  int threads = 0;
  bool verbose = false;
  bool print_faults = false;
  bool watch_tables = false;
  bool profiles = false;
  bool no_trace = false;
};

absl::StatusOr<FaultSpec> LoadFaults(const std::string& path) {
  if (path.empty()) return StandardFaults();
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return NotFound("{}: cannot be read", path);
  auto spec = ReadFaults(text.str());
  if (!spec.ok()) return InvalidArgument("{}: {}", path, Message(spec.status()));
  return spec;
}

// The command that gives this run again.
std::string ReplayCommand(const Arguments& arguments, uint64_t seed) {
  std::string command =
      fmt::format("fabricsim run --topology '{}' --seed {}", arguments.topology, seed);
  if (!arguments.faults.empty()) command += fmt::format(" --faults '{}'", arguments.faults);
  if (arguments.profiles) command += " --profiles";
  return command;
}

// Trace files of one seed: TRACE for manager 0, TRACE.1 and so on for the others.
class TraceFiles {
 public:
  explicit TraceFiles(std::string path) : path_(std::move(path)) {}
  void Write(size_t manager, const std::string& line) {
    std::ofstream& file = files_[manager];
    if (!file.is_open()) file.open(NameOf(manager));
    file << line;
  }
  // kInternal names the file that could not be written.
  absl::Status Close() {
    for (auto& [manager, file] : files_) {
      file.close();
      if (!file) return Internal("{}: cannot be written", NameOf(manager));
    }
    return absl::OkStatus();
  }

 private:
  std::string NameOf(size_t manager) const {
    return manager == 0 ? path_ : fmt::format("{}.{}", path_, manager);
  }
  const std::string path_;
  std::map<size_t, std::ofstream> files_;
};

class Seeds {
 public:
  Seeds(const Arguments& arguments, const fabric::FabricSnapshot& topology, FaultSpec faults)
      : arguments_(arguments), topology_(topology), faults_(std::move(faults)) {}

  int Go() {
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    const uint64_t jobs = std::min<uint64_t>(arguments_.jobs ? arguments_.jobs : cores,
                                             std::max<uint64_t>(1, arguments_.seeds));
    std::vector<std::thread> threads;
    for (uint64_t job = 0; job < jobs; ++job) threads.emplace_back([this] { Work(); });
    for (std::thread& thread : threads) thread.join();
    if (arguments_.watch_tables)
      fmt::print(
          "tables watched over {} Sets of {} entries: {} walks; faults cut {} pairs; Sets made {} "
          "loops, cut {} pairs, closed {} credit loops\n",
          tables_.sets, tables_.entries, tables_.walks, tables_.faults_cuts, tables_.loops,
          tables_.cuts, tables_.credit_loops);
    fmt::print("{} seeds: {} passed, {} failed; {} MADs, {} Sets, digest {:016x}\n",
               arguments_.seeds, arguments_.seeds - failed_, failed_, mads_, sets_, digest_);
    return failed_ == 0 ? kExitOk : kExitFailure;
  }

 private:
  RunResult RunOne(uint64_t seed, const std::string& trace_path) {
    RunOptions options;
    options.seed = seed;
    options.faults = faults_;
    options.core.routing.threads = arguments_.threads;
    options.watch_tables = arguments_.watch_tables;
    options.profiles = arguments_.profiles;
    TraceFiles files(trace_path);
    if (!trace_path.empty())
      options.trace = [&files](size_t manager, const std::string& line) {
        files.Write(manager, line);
      };
    size_t lives = 0;
    if (!arguments_.record.empty())
      options.make_tap = [&](size_t manager) { return MakeTap(manager, ++lives); };
    RunResult result = RunSeed(topology_, options);
    if (const absl::Status closed = files.Close(); !closed.ok())
      result.failures.push_back(Message(closed));
    return result;
  }

  // Null, said on the terminal: the directory cannot be written.
  std::unique_ptr<shell::Tap> MakeTap(size_t manager, size_t life) const {
    recorder::pb::Header header;
    header.set_version("fabricsim");
    header.set_life(life);
    const auto directory =
        std::filesystem::path(arguments_.record) / fmt::format("manager-{}", manager);
    auto writer = recorder::SegmentWriter::Open(directory, {}, std::move(header));
    if (writer.ok()) return std::make_unique<recorder::FileTap>(*std::move(writer));
    fmt::print(stderr, "fabricsim: {}\n", Message(writer.status()));
    return nullptr;
  }

  void Work() {
    for (uint64_t i = next_++; i < arguments_.seeds; i = next_++) {
      const uint64_t seed = arguments_.seed + i;
      const bool single = arguments_.seeds == 1;
      RunResult result = RunOne(seed, single ? arguments_.trace : std::string());
      const std::lock_guard lock(mutex_);
      finished_.emplace(seed, std::move(result));
      // In the order of the seeds, whichever ends first.
      while (!finished_.empty() && finished_.begin()->first == arguments_.seed + reported_) {
        Report(finished_.begin()->first, finished_.begin()->second);
        finished_.erase(finished_.begin());
        ++reported_;
      }
    }
  }

  void Report(uint64_t seed, const RunResult& result) {
    mads_ += result.mads;
    sets_ += result.sets;
    tables_ += result.tables;
    digest_ = Rng(digest_ ^ result.digest).Next();
    if (arguments_.verbose)
      for (const std::string& line : result.story) fmt::print("{}\n", line);
    if (arguments_.verbose || arguments_.seeds == 1)
      fmt::print("seed {}: {}; {} MADs, digest {:016x}\n", seed,
                 result.passed() ? "passed" : "FAILED", result.mads, result.digest);
    if (result.passed()) return;
    ++failed_;
    fmt::print("seed {} failed ({})\n", seed, Describe(result.drawn));
    for (const std::string& failure : result.failures) fmt::print("  {}\n", failure);
    if (!arguments_.no_trace) WriteTrace(seed);
    fmt::print("  again: {} --verbose\n", ReplayCommand(arguments_, seed));
    std::fflush(stdout);
  }

  // Runs a failed seed again, unless the run that failed has written its trace.
  void WriteTrace(uint64_t seed) {
    std::string trace = arguments_.trace;
    if (arguments_.seeds > 1 || trace.empty()) {
      trace = fmt::format("{}-seed-{}.trace", trace.empty() ? "fabricsim" : trace, seed);
      RunOne(seed, trace);
    }
    fmt::print("  trace: {}\n", trace);
  }

  const Arguments& arguments_;
  const fabric::FabricSnapshot& topology_;
  const FaultSpec faults_;
  std::atomic<uint64_t> next_{0};
  std::mutex mutex_;                        // Of what follows, and of standard output.
  std::map<uint64_t, RunResult> finished_;  // By seed; waiting for one before them.
  uint64_t reported_ = 0;
  TableWatch::Statistics tables_;  // Of all seeds.
  uint64_t failed_ = 0, mads_ = 0, sets_ = 0, digest_ = 0;
};

int RunAll(const Arguments& arguments) {
  const auto faults = LoadFaults(arguments.faults);
  if (!faults.ok()) {
    fmt::print(stderr, "fabricsim: {}\n", Message(faults.status()));
    return kExitUsage;
  }
  if (arguments.print_faults) {
    fmt::print("{}", WriteFaults(*faults));
    return kExitOk;
  }
  if (arguments.topology.empty()) {
    fmt::print(stderr, "fabricsim: run needs --topology\n");
    return kExitUsage;
  }
  if (!arguments.record.empty() && arguments.seeds > 1) {
    fmt::print(stderr, "fabricsim: --record takes one seed, not {}\n", arguments.seeds);
    return kExitUsage;
  }
  const auto topology = MakeTopology(arguments.topology);
  if (!topology.ok()) {
    fmt::print(stderr, "fabricsim: {}\n", Message(topology.status()));
    return kExitUsage;
  }
  if (const absl::Status runnable = CheckRunnable(**topology, *faults); !runnable.ok()) {
    fmt::print(stderr, "fabricsim: {}\n", Message(runnable));
    return kExitUsage;
  }
  return Seeds(arguments, **topology, *faults).Go();
}

}  // namespace

void AddRun(CLI::App& app, Run& run) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("run", "Run seeds of the deterministic simulation");
  command->add_option("--topology", arguments->topology,
                      "A generator (superpod:sus=1,hosts=8,rails=4) or a topology file");
  command->add_option("--seed", arguments->seed, "The first seed")->capture_default_str();
  command->add_option("--seeds", arguments->seeds, "How many seeds, from the first on")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--faults", arguments->faults,
                      "Fault classes and rates; without it the standard ones");
  command->add_option("--trace", arguments->trace,
                      "Where the MADs of a single or failing seed go, for madtrace.py");
  command->add_option("--record", arguments->record,
                      "Where recordings of each manager go, for fabricsim replay; of one seed");
  command->add_flag("--no-trace", arguments->no_trace,
                    "Write no traces of seeds that fail; a trace takes a second run");
  command->add_option("--jobs", arguments->jobs, "Seeds at a time; 0: one per core")
      ->capture_default_str();
  command->add_option("--threads", arguments->threads, "Threads of routing; changes no result")
      ->capture_default_str();
  command->add_flag("--verbose", arguments->verbose, "Tell what happened when");
  command->add_flag("--watch-tables", arguments->watch_tables,
                    "Judge the tables after every Set, while those of two plans are mixed");
  command->add_flag("--profiles", arguments->profiles,
                    "Give each device a firmware profile, drawn from the seed");
  command->add_flag("--print-faults", arguments->print_faults,
                    "Write the fault specification and exit");
  command->final_callback([&run, arguments] { run = [arguments] { return RunAll(*arguments); }; });
}

}  // namespace fabricd::sim
