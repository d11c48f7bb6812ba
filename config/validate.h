// SPDX-License-Identifier: Apache-2.0
// Internal: what types and ranges cannot say. Pure; any thread.
#pragma once

#include "config/config.h"
#include "config/faults.h"

namespace fabricd::config {

// Judges addresses, names, patterns, and settings that contradict each other. Keys that `faults`
// already names are left alone.
void Validate(const Config& config, FaultList& faults);

}  // namespace fabricd::config
