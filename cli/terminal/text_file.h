// SPDX-License-Identifier: Apache-2.0
// Files that users name on the command line.
#pragma once

#include <string>

#include "cli/terminal/exit_code.h"

namespace fabricd::cli {

// The whole file; "-": the standard input. kFailure: it cannot be read.
Result ReadTextFile(const std::string& path, std::string* text);

}  // namespace fabricd::cli
