// SPDX-License-Identifier: Apache-2.0
// Internal: YAML text into a schema message, held against the message's descriptor key by key.
// Pure; any thread.
#pragma once

#include <string>

#include "fabric/config/v1/config.pb.h"

#include "config/faults.h"

namespace fabricd::config {

// Fills `into` with every key that is right; the others are faults. Types only: ranges and meaning
// are judged afterwards.
void WalkYaml(const std::string& text, ::fabric::config::v1::FabricdConfig& into,
              FaultList& faults);

}  // namespace fabricd::config
