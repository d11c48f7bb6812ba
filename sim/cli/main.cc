// SPDX-License-Identifier: Apache-2.0
// fabricsim: makes simulated fabrics, and runs the deterministic simulation on them. Each command
// is a file beside this one.
#include <CLI/CLI.hpp>

#include "sim/cli/command.h"
#include "sim/cli/generate_command.h"
#include "sim/cli/replay_command.h"
#include "sim/cli/run_command.h"
#include "sim/cli/serve_command.h"
#include "sim/cli/shared_command.h"
#include "sim/cli/store_command.h"
#include "sim/cli/verdicts_command.h"

int main(int argc, char** argv) {
  CLI::App app("Makes simulated InfiniBand fabrics, and tries fabricd on them", "fabricsim");
  app.require_subcommand(1);
  fabricd::sim::Run run;
  fabricd::sim::AddGenerate(app, run);
  fabricd::sim::AddRun(app, run);
  fabricd::sim::AddReplay(app, run);
  fabricd::sim::AddServe(app, run);
  fabricd::sim::AddRelay(app, run);
  fabricd::sim::AddVerdicts(app, run);
  fabricd::sim::AddStore(app, run);
  fabricd::sim::AddShared(app, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? fabricd::sim::kExitOk : fabricd::sim::kExitUsage;
  }
  return run();
}
