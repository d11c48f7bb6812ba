// SPDX-License-Identifier: Apache-2.0
// fabricctl's verbs about contexts (contexts.h).
#pragma once

#include "cli/client/contexts.h"
#include "cli/verbs/globals.h"

namespace fabricd::cli {

Result ShowContexts(const Globals& globals);
// kNotFound: there is none.
Result ShowCurrentContext();
Result UseContext(const std::string& name);
Result DeleteContext(const std::string& name);
// What `typed` has replaces what is kept.
Result SetContext(const std::string& name, const Context& typed);

}  // namespace fabricd::cli
