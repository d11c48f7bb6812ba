// SPDX-License-Identifier: Apache-2.0
// What the keys of `verdicts` mean.
#pragma once

#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "config/config.h"
#include "config/load.h"
#include "daemon/verdicts/verdict_keeper.h"

namespace fabricd::daemon {

// kInvalidArgument lists each faulty key with what is wrong: "verdicts.limits[0]: …".
absl::StatusOr<VerdictOptions> ToVerdictOptions(const config::Config& config);
// The same, fault by fault.
std::vector<config::Fault> CheckVerdicts(const config::Config& config);

}  // namespace fabricd::daemon
