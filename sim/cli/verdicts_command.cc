// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/verdicts_command.h"

#include <fstream>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "common/status.h"
#include "sim/fabric/topology.h"
#include "sim/verdicts/assessing_source.h"
#include "sim/verdicts/report.h"
#include "sim/verdicts/scenario.h"
#include "sim/verdicts/scenario_run.h"
#include "sim/verdicts/verdict_source.h"

namespace fabricd::sim {
namespace {

struct VerdictsArguments {
  std::string topology, scenario;
  std::string report = "text";
  uint64_t seeds = 1, first = 1;
  bool print_causes = false;
  bool dry_run = false;
};

class NoVerdicts : public VerdictSource {
 public:
  Looked Look(const telemetry::TelemetryView&, Instant) override { return {}; }
};

absl::StatusOr<Scenario> LoadScenario(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return NotFound("{}: cannot be read", path);
  auto scenario = ReadScenario(text.str());
  if (!scenario.ok()) return InvalidArgument("{}: {}", path, Message(scenario.status()));
  return scenario;
}

int Refuse(const absl::Status& status) {
  fmt::print(stderr, "fabricsim: {}\n", Message(status));
  return kExitUsage;
}

int PrintCauses() {
  for (const CauseInfo& info : Causes()) {
    fmt::print("{}", info.name);
    if (info.unit != nullptr) {
      fmt::print(": {}, {} to {}; without severity= {}..{}", info.unit, info.least, info.most,
                 info.severity.low, info.severity.high);
    }
    fmt::print("\n");
  }
  return kExitOk;
}

int RunVerdicts(const VerdictsArguments& arguments) {
  if (arguments.print_causes) return PrintCauses();
  if (arguments.topology.empty() || arguments.scenario.empty()) {
    return Refuse(InvalidArgument("verdicts needs --topology and --scenario"));
  }
  const auto scenario = LoadScenario(arguments.scenario);
  if (!scenario.ok()) return Refuse(scenario.status());
  const auto topology = MakeTopology(arguments.topology);
  if (!topology.ok()) return Refuse(topology.status());
  std::vector<ScenarioResult> results;
  for (uint64_t i = 0; i < arguments.seeds; ++i) {
    std::unique_ptr<VerdictSource> source = std::make_unique<NoVerdicts>();
    if (!arguments.dry_run) source = std::make_unique<AssessingSource>();
    auto result = RunScenario(**topology, *scenario, arguments.first + i, *source);
    if (!result.ok()) return Refuse(result.status());
    if (arguments.report == "text") fmt::print("{}", ToText(*result));
    results.push_back(*std::move(result));
  }
  if (arguments.report == "json") fmt::print("{}", ToJson(arguments.topology, results));
  return kExitOk;
}

}  // namespace

void AddVerdicts(CLI::App& app, Run& run) {
  const auto arguments = std::make_shared<VerdictsArguments>();
  CLI::App* command =
      app.add_subcommand("verdicts", "Make known causes happen, and list what is concluded");
  command->add_option("--topology", arguments->topology,
                      "A generator (superpod:sus=1,hosts=8,rails=4) or a topology file");
  command->add_option("--scenario", arguments->scenario, "Causes and traffic, docs/TESTING.md");
  command->add_option("--seeds", arguments->seeds, "How many seeds, from the first on")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--first", arguments->first, "The first seed")->capture_default_str();
  command->add_option("--report", arguments->report, "The form of the report")
      ->check(CLI::IsMember({"json", "text"}))
      ->capture_default_str();
  command->add_flag("--dry-run", arguments->dry_run,
                    "Conclude nothing: shows where causes are, and what devices count of them");
  command->add_flag("--print-causes", arguments->print_causes,
                    "List the causes with the units of their severities, and exit");
  command->final_callback(
      [&run, arguments] { run = [arguments] { return RunVerdicts(*arguments); }; });
}

}  // namespace fabricd::sim
