// SPDX-License-Identifier: Apache-2.0
// The grammar of fabricctl: that of kubectl, as far as both have the same things.
#pragma once

namespace fabricd::cli {

// Runs one command, as main() is called: prints to stdout, errors to stderr, and returns the exit
// code (exit_code.h). Reads FABRICCTL_SERVER, FABRICCTL_CONTEXT, FABRICCTL_CONFIG, NO_COLOR and
// PAGER from the environment.
int RunCommandLine(int argc, const char* const* argv);

}  // namespace fabricd::cli
