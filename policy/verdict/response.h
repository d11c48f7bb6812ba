// SPDX-License-Identifier: Apache-2.0
// Response: what is done about a verdict, and what people have said of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policy/hold.h"
#include "policy/verdict/action_guards.h"

namespace fabricd::policy {

// What somebody has said of a verdict.
struct VerdictRemark {
  std::string by, reason;
  WallMs at = 0;
  std::optional<WallMs> until;  // Of an overrule: when it ends. nullopt: with the verdict.
  friend bool operator==(const VerdictRemark&, const VerdictRemark&) = default;
};

struct LinkResponse {
  // What the verdict recommends: of a host's link a cordon of the host port, of a link between
  // switches a soft drain. nullopt: nothing, as the verdict is not bad.
  std::optional<HoldKind> recommended;
  Action action = Action::kNone;  // What the configuration and the guards let follow.
  std::string held_back;          // Why it is only recommended: the guard. Empty: by configuration.
  uint64_t hold = 0;              // The hold with owner kTelemetryHoldOwner; 0: none.
  // It was seen, and its jobs are taken care of: shown, changes nothing.
  std::optional<VerdictRemark> acknowledged;
  // No action follows, and a hold that did is taken back.
  std::optional<VerdictRemark> overruled;
};

}  // namespace fabricd::policy
