// SPDX-License-Identifier: Apache-2.0
// Activity: the part of the core that has sent a request and receives its completion. It is the
// owner in mad::RequestContext.
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
  kExplorer,  // The explorations of surveys.
  kLaneReader,
  kReadBack,
  kOwnPort
};

}  // namespace fabricd::sweep
