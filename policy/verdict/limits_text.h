// SPDX-License-Identifier: Apache-2.0
// Limits as an operator writes them, one each: a name and its numbers.
//   link_downs 1 2 3          suspect, strong and fatal; 0: never
//   wait 0.01 0.10            shares of time
//   ber 90 kp4 optical 1e-15 5e-15 1e-14 1e-15 5e-15 1e-14
//                             physical lanes of so many Gb/s, FEC (none, low-latency, kp4, any),
//                             media (copper, active-copper, optical, any); normal, warning and
//                             error of symbol errors, then of effective errors
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>

#include "policy/verdict/thresholds.h"

namespace fabricd::policy {

// Replaces one limit; a row of "ber" goes before all others. kInvalidArgument: no such limit, with
// the names that there are, or other numbers than it has. Whether they make sense: Check().
absl::Status ApplyLimit(std::string_view text, Limits& limits);

// Every limit as ApplyLimit() reads it; rows of "ber" last to first.
std::vector<std::string> LimitTexts(const Limits& limits);

}  // namespace fabricd::policy
