// SPDX-License-Identifier: Apache-2.0
// Replay: the same core over what was recorded. It ends with the digest that was recorded, or names
// the first step that came out otherwise: then the code is another, or the recording is damaged.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recorder/segments.h"

namespace fabricd::recorder {

struct ReplayOptions {
  std::optional<uint64_t> until;       // Ends before the record of this number.
  std::optional<Duration> until_time;  // Ends with the first record after so long.
  std::optional<uint64_t> break_at;    // Tells what goes in and comes out from this record on, and
                                       // ends after kBreakRecords.
};
inline constexpr uint64_t kBreakRecords = 20;

struct Difference {
  uint64_t record = 0;
  std::string counts;              // "12 sends recorded, 11 now"; empty: as many of each.
  std::vector<std::string> lines;  // What comes out now.
};

struct ReplayResult {
  uint64_t records = 0;                               // That were replayed.
  Duration time{};                                    // From the first to the last.
  uint64_t recorded_digest = 0, replayed_digest = 0;  // Of all effects.
  std::optional<Difference> difference;               // The first. The replay ends there.
  // Why the replay ended before the recording did; empty: it did not.
  std::string stopped;
};

// `say` is given the lines of break_at. Errors as Recording has them.
absl::StatusOr<ReplayResult> Replay(const Recording& recording, const ReplayOptions& options,
                                    const std::function<void(const std::string&)>& say);

}  // namespace fabricd::recorder
