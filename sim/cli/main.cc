// SPDX-License-Identifier: Apache-2.0
// fabricsim: makes simulated fabrics. Each command is a file beside this one.
#include <CLI/CLI.hpp>

#include "sim/cli/command.h"
#include "sim/cli/generate_command.h"

int main(int argc, char** argv) {
  CLI::App app("Makes simulated InfiniBand fabrics", "fabricsim");
  app.require_subcommand(1);
  fabricd::sim::Run run;
  fabricd::sim::AddGenerate(app, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? fabricd::sim::kExitOk : fabricd::sim::kExitUsage;
  }
  return run();
}
