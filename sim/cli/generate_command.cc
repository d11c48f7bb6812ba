// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/generate_command.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "fabric/ibnetdiscover_text.h"
#include "sim/generate/kinds.h"

namespace fabricd::sim {
namespace {

// What the command line says of one kind.
struct Request {
  std::unique_ptr<Generator> generator;
  std::vector<std::pair<std::string, std::string>> values;  // Key, value.
  std::string format = "ibnetdiscover";
};

int UsageError(const absl::Status& status) {
  fmt::print(stderr, "fabricsim: {}\n", Message(status));
  return kExitUsage;
}

int Write(const Request& request) {
  for (const auto& [key, value] : request.values) {
    const absl::Status set = request.generator->Set(key, value);
    if (!set.ok()) return UsageError(set);
  }
  const SnapshotOr topology = request.generator->Make();
  if (!topology.ok()) return UsageError(topology.status());
  fabric::TopologyTextOptions options;
  options.generated_on = "no real fabric: fabricsim generate";  // No date: the same each time.
  const std::string text = request.format == "ibsim"
                               ? fabric::WriteIbsim(**topology).text
                               : fabric::WriteIbnetdiscover(**topology, options);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    std::perror("fabricsim: standard output");
    return kExitFailure;
  }
  return kExitOk;
}

void AddOption(CLI::App& command, const Parameter& parameter, Request& request) {
  std::string names = "--" + parameter.key;
  if (!parameter.alias.empty()) names += ",--" + parameter.alias;
  const auto take = [&request, key = parameter.key](const std::string& value) {
    request.values.emplace_back(key, value);
  };
  if (parameter.IsFlag()) {
    command.add_flag_callback(
        names, [take] { take("true"); }, parameter.help);
  } else {
    command.add_option_function<std::string>(names, take, parameter.help)
        ->type_name(parameter.TypeName())
        ->default_str(parameter.Value());
  }
}

}  // namespace

void AddGenerate(CLI::App& app, Run& run) {
  CLI::App* generate = app.add_subcommand("generate", "Write a topology to standard output");
  generate->require_subcommand(1);
  for (const Kind& kind : Kinds()) {
    const auto request = std::make_shared<Request>();
    request->generator = kind.make();
    CLI::App* command = generate->add_subcommand(kind.name, kind.help);
    for (const Parameter& parameter : request->generator->Parameters()) {
      AddOption(*command, parameter, *request);
    }
    command
        ->add_option("--format", request->format,
                     "ibnetdiscover, or ibsim: the same within ibsim's limits (no speed above HDR)")
        ->check(CLI::IsMember({"ibnetdiscover", "ibsim"}))
        ->capture_default_str();
    command->final_callback([&run, request] { run = [request] { return Write(*request); }; });
  }
}

}  // namespace fabricd::sim
