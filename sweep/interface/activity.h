// SPDX-License-Identifier: Apache-2.0
// Activity: which part of the core has sent a request, and gets its completion: the owner in
// mad::RequestContext.
#pragma once

#include <cstdint>

namespace fabricd::sweep {

enum class Activity : uint8_t {
  kNone,
  kDiscovery,
  kProgrammer,
  kLightSweep,
  kMastership,
  kSurvey,
  kExplorer,  // The discovery for the surveys.
  kLaneReader,
  kReadBack
};

}  // namespace fabricd::sweep
