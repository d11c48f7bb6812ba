// SPDX-License-Identifier: Apache-2.0
// What things and their fields mean: the comments of the .proto files, which come with the program.
#pragma once

#include <string>

#include "cli/verbs/globals.h"

namespace fabricd::cli {

// Of "RESOURCE[.FIELD…]" or "MESSAGE[.FIELD…]". kNotFound, and why in *text, when there is none.
// Pure.
Result ExplainText(const std::string& path, std::string* text);

Result Explain(const Globals& globals, const std::string& path);
// What `get` can list.
Result ShowResources(const Globals& globals);

}  // namespace fabricd::cli
