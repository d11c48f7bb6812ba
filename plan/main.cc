// SPDX-License-Identifier: Apache-2.0
// fabricplan: computes and judges the routes of a fabric from its topology file, without touching
// one.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "common/status.h"
#include "plan/fabric_input.h"
#include "plan/planning.h"
#include "plan/report.h"
#include "plan/svg.h"
#include "routing/plan/parallel.h"
#include "routing/plan/plan_dumps.h"

namespace fabricd::plan {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitNoPlan = 1;
constexpr int kExitUsage = 2;
constexpr int kMostThreads = 1024;

struct Arguments {
  std::string topology, baseline, dump_dir;
  std::string report = "table", policy = "all-to-all";
  std::vector<std::string> engines;
  Damage damage;
  std::string svg, load_svg;
  int threads = 0, lanes_max = 1, lmc = 0;
  bool no_quality = false;
};

constexpr const char* kFooter =
    "Without --engine the default chain is tried until a plan verifies. With one engine only that\n"
    "one is. With several, the report is of the first that gives a verified plan, as a chain in\n"
    "this order would choose, and all of them are compared (\"compared\" in JSON).\n"
    "\n"
    "Exit status: 0 a verified plan, 1 none, 2 bad usage or a file that cannot be\n"
    "read or written.";

void Declare(CLI::App& cli, Arguments& arguments) {
  cli.add_option("--topology", arguments.topology,
                 "What ibnetdiscover prints, or a file for ibsim, or OpenSM's subnet list")
      ->required();
  cli.add_option("--engine", arguments.engines, "NAME[,NAME...]: these, compared if several")
      ->delimiter(',')
      ->allow_extra_args(false);
  cli.add_option("--fail-links", arguments.damage.links,
                 "So many cables between switches are gone, drawn by --seed; or N%");
  cli.add_option("--seed", arguments.damage.seed, "Of --fail-links and of sampled patterns")
      ->check([](const std::string& text) {  // CLI11 takes -1 for the highest.
        return text.starts_with('-') ? "not below 0" : std::string();
      })
      ->capture_default_str();
  cli.add_option_function<std::string>(
         "--fail",
         [&arguments](const std::string& name) { arguments.damage.named.push_back(name); },
         "'NODE[PORT]': this cable is gone; NODE (name or GUID) or HOST: all of it is; may be "
         "repeated")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse();
  cli.add_option("--baseline", arguments.baseline,
                 "The same fabric before: also plan the change from there");
  cli.add_option("--policy", arguments.policy, "What a damaged tree is balanced for")
      ->check(CLI::IsMember({"all-to-all", "shift"}))
      ->capture_default_str();
  cli.add_option("--lanes-max", arguments.lanes_max, "Data VLs that an engine may use")
      ->check(CLI::Range(1, 15))
      ->capture_default_str();
  cli.add_option("--lmc", arguments.lmc, "Each adapter port gets 2^LMC LIDs")
      ->check(CLI::Range(0, 7))
      ->capture_default_str();
  cli.add_option("--threads", arguments.threads, "0: one per core; changes no result")
      ->check(CLI::Range(0, kMostThreads))
      ->capture_default_str();
  cli.add_option("--report", arguments.report, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  cli.add_option("--dump-dir", arguments.dump_dir, "Write the plan there in OpenSM's formats");
  cli.add_flag("--no-quality", arguments.no_quality, "Leave out what takes time to measure");
  cli.add_option("--svg", arguments.svg,
                 "Draw the fabric by tiers there, links coloured by all-to-all load");
  cli.add_option("--load-svg", arguments.load_svg,
                 "Draw there how many links carry which all-to-all load");
  cli.footer(kFooter);
}

double MillisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

absl::Status CheckEngines(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (routing::MakeEngine(name) != nullptr) continue;
    return InvalidArgument("--engine {}: the engines are {}", name,
                           fmt::join(routing::kEngineNames, ", "));
  }
  return absl::OkStatus();
}

PlanningOptions MakeOptions(const Arguments& arguments) {
  PlanningOptions options;
  if (!arguments.engines.empty()) options.routing.chain = arguments.engines;
  options.routing.lanes_max = static_cast<uint8_t>(arguments.lanes_max);
  options.routing.balance = arguments.policy == "shift" ? routing::BalancePolicy::kShift
                                                        : routing::BalancePolicy::kAllToAll;
  options.routing.threads = arguments.threads;
  options.quality.seed = arguments.damage.seed;
  options.compare = arguments.engines.size() > 1;
  options.measure = !arguments.no_quality || !arguments.svg.empty() || !arguments.load_svg.empty();
  return options;
}

// The fabric to plan for, and the one before it if asked for.
struct Fabrics {
  Fabric now;
  std::optional<Fabric> before;
};

absl::StatusOr<Fabrics> LoadFabrics(const Arguments& arguments, Report& report) {
  auto start = std::chrono::steady_clock::now();
  const auto lmc = static_cast<uint8_t>(arguments.lmc);
  absl::StatusOr<TopologyFile> topology = ReadTopologyFile(arguments.topology);
  if (!topology.ok()) return topology.status();
  if (!topology->remark.empty()) fmt::print(stderr, "fabricplan: {}\n", topology->remark);
  std::optional<TopologyFile> baseline;
  if (!arguments.baseline.empty()) {
    absl::StatusOr<TopologyFile> read = ReadTopologyFile(arguments.baseline);
    if (!read.ok()) return read.status();
    baseline = *std::move(read);
  }
  report.read_ms = MillisecondsSince(start);
  start = std::chrono::steady_clock::now();
  absl::StatusOr<Snapshot> damaged = Fail(topology->snapshot, arguments.damage);
  if (!damaged.ok()) return damaged.status();
  Fabrics fabrics{{*std::move(damaged), {}}, std::nullopt};
  const fabric::FabricSnapshot* before = nullptr;
  const fabric::LidTable* earlier = nullptr;
  if (baseline) {
    absl::StatusOr<fabric::LidTable> lids = GiveLids(*baseline->snapshot, lmc, nullptr, nullptr);
    if (!lids.ok()) return lids.status();
    fabrics.before = Fabric{baseline->snapshot, *std::move(lids)};
    fabrics.now.snapshot = ContinueFrom(*baseline->snapshot, *fabrics.now.snapshot);
    before = fabrics.before->snapshot.get();
    earlier = &fabrics.before->lids;
  }
  absl::StatusOr<fabric::LidTable> lids = GiveLids(*fabrics.now.snapshot, lmc, before, earlier);
  if (!lids.ok()) return lids.status();
  fabrics.now.lids = *std::move(lids);
  report.snapshot_ms = MillisecondsSince(start);
  return fabrics;
}

absl::Status WriteDumpFiles(const Fabric& fabric, const routing::RoutingPlan& plan,
                            const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return FailedPrecondition("{}: {}", folder, error.message());
  // An earlier plan with several lanes must not speak for one that has a single lane.
  for (const char* name : {"opensm-path-sl.dump", "opensm-sl2vl.dump"})
    std::filesystem::remove(folder + "/" + name, error);
  std::ofstream file;
  absl::Status status;
  std::string path;
  const auto close = [&] {
    if (!file.is_open()) return;
    file.close();
    if (!file && status.ok()) status = FailedPrecondition("{}: cannot be written", path);
  };
  routing::WriteDumps(*fabric.snapshot, fabric.lids, plan, {}, NodeIndex::None(),
                      [&](std::string_view name) -> fabric::TextSink {
                        close();
                        path = folder + "/" + std::string(name);
                        file.open(path, std::ios::binary | std::ios::trunc);
                        if (!file && status.ok())
                          status = FailedPrecondition("{}: cannot be written", path);
                        return [&file](std::string_view piece) { file << piece; };
                      });
  close();
  return status;
}

absl::Status WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return file ? absl::OkStatus() : FailedPrecondition("{}: cannot be written", path);
}

absl::Status WriteFiles(const Arguments& arguments, const Fabric& fabric,
                        const EngineReport& best) {
  if (!best.plan) return absl::OkStatus();
  if (!arguments.dump_dir.empty())
    FABRICD_RETURN_IF_ERROR(WriteDumpFiles(fabric, *best.plan, arguments.dump_dir));
  if (!arguments.svg.empty())
    FABRICD_RETURN_IF_ERROR(WriteFile(arguments.svg, DrawFabric(fabric, best)));
  if (!arguments.load_svg.empty())
    FABRICD_RETURN_IF_ERROR(WriteFile(arguments.load_svg, DrawLoad(best)));
  return absl::OkStatus();
}

int Fault(const absl::Status& status) {
  fmt::print(stderr, "fabricplan: {}\n", Message(status));
  return kExitUsage;
}

int Run(const Arguments& arguments) {
  if (const absl::Status known = CheckEngines(arguments.engines); !known.ok()) return Fault(known);
  Report report;
  const absl::StatusOr<Fabrics> fabrics = LoadFabrics(arguments, report);
  if (!fabrics.ok()) return Fault(fabrics.status());
  CountFabric(fabrics->now, report);
  const PlanningOptions options = MakeOptions(arguments);
  report.threads = routing::Parallel(arguments.threads).concurrency();
  report.planning = MakePlan(fabrics->now, options);
  if (fabrics->before) report.change = PlanChange(*fabrics->before, fabrics->now, options);
  const EngineReport& best = report.planning.best;
  const absl::Status written = WriteFiles(arguments, fabrics->now, best);
  if (!written.ok()) return Fault(written);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  report.peak_rss = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  fmt::print("{}", arguments.report == "json" ? WriteJson(report) : WriteTable(report));
  return best.verify.ok ? kExitOk : kExitNoPlan;
}

}  // namespace
}  // namespace fabricd::plan

int main(int argc, char** argv) {
  CLI::App cli("Computes and judges the routes of an InfiniBand fabric from its topology file",
               "fabricplan");
  fabricd::plan::Arguments arguments;
  fabricd::plan::Declare(cli, arguments);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error) == 0 ? fabricd::plan::kExitOk : fabricd::plan::kExitUsage;
  }
  return fabricd::plan::Run(arguments);
}
