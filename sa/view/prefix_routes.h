// SPDX-License-Identifier: Apache-2.0
// PrefixRoutes: by which router's port other subnets are reached, as OpenSM's prefix_routes file
// says it: lines of a subnet prefix and a router's port GUID, of which either may be "*". Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "sa/wire/line_fault.h"

namespace fabricd::sa {

struct PrefixRoute {
  uint64_t prefix = 0;  // 0: any.
  Guid router;          // 0: any; the one with the lowest GUID.
  friend bool operator==(const PrefixRoute&, const PrefixRoute&) = default;
};
using PrefixRoutes = std::vector<PrefixRoute>;  // The first that matches counts.

struct ParsedPrefixRoutes {
  static constexpr size_t kMost = 4096;  // Routes.
  PrefixRoutes routes;
  std::vector<LineFault> faults;  // With any of them the file is not to be used.
};
ParsedPrefixRoutes ParsePrefixRoutes(std::string_view text);

}  // namespace fabricd::sa
