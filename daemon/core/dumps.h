// SPDX-License-Identifier: Apache-2.0
// The dump files of a view, in OpenSM's formats (DESIGN §4).
#pragma once

#include <map>
#include <string>

#include <absl/status/statusor.h>

#include "sweep/interface/view.h"

namespace fabricd::daemon {

// File name → text. kUnavailable before the first plan.
absl::StatusOr<std::map<std::string, std::string>> DumpView(const sweep::FabricView& view);

}  // namespace fabricd::daemon
