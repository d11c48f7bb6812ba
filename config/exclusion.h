// SPDX-License-Identifier: Apache-2.0
// An entry of `conditions.exclude`: a node GUID, and until when.
//   0x0002c90300001234
//   0x0002c90300001234 until 2026-12-31           the day's beginning, UTC
//   0x0002c90300001234 until 2026-12-31T18:00:00Z
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/ids.h"

namespace fabricd::config {

struct Exclusion {
  Guid node;
  std::optional<int64_t> until_ms;  // Milliseconds since 1970, UTC; none: for ever.
  friend bool operator==(const Exclusion&, const Exclusion&) = default;
};

// None: it is no such entry.
std::optional<Exclusion> ParseExclusion(std::string_view text);

}  // namespace fabricd::config
