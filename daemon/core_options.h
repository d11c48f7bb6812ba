// SPDX-License-Identifier: Apache-2.0
// The core's view of a configuration.
#pragma once

#include <absl/status/statusor.h>

#include "config/config.h"
#include "sweep/options.h"

namespace fabricd::daemon {

// With the files that the configuration names read. An error says which cannot be read or what is
// wrong in it.
absl::StatusOr<sweep::CoreOptions> ToCoreOptions(const config::Config& config);

}  // namespace fabricd::daemon
