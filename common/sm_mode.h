// SPDX-License-Identifier: Apache-2.0
// SmMode: what a subnet manager does on its subnet, as the configuration key `mode` and the option
// --mode name it (docs/MASTERSHIP.md, "Modes").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fabricd {

enum class SmMode : uint8_t {
  kManage,   // Takes part in the election, and configures the subnet as its master.
  kStandby,  // Only reads. Returns SMInfo as NOT-ACTIVE, and refuses every control.
  kObserve,  // Only reads. To other SMs it does not exist.
};

// Whether this SM may become master. If not, it sends Gets only.
constexpr bool MayManage(SmMode mode) { return mode == SmMode::kManage; }
// Whether the port says that it has an SM (IsSM), and requests for SMInfo get a response.
constexpr bool IsSeenByOthers(SmMode mode) { return mode != SmMode::kObserve; }

constexpr std::string_view SmModeName(SmMode mode) {
  switch (mode) {
    case SmMode::kManage: return "manage";
    case SmMode::kStandby: return "standby";
    case SmMode::kObserve: return "observe";
  }
  return "unknown";
}

constexpr std::optional<SmMode> ParseSmMode(std::string_view word) {
  for (const SmMode mode : {SmMode::kManage, SmMode::kStandby, SmMode::kObserve})
    if (word == SmModeName(mode)) return mode;
  return std::nullopt;
}

}  // namespace fabricd
