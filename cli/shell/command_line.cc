// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/command_line.h"

#include "cli/shell/grammar.h"

namespace fabricd::cli {

int RunCommandLine(int argc, const char* const* argv) {
  Grammar grammar;
  return grammar.Run(argc, argv);
}

}  // namespace fabricd::cli
