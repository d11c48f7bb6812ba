// SPDX-License-Identifier: Apache-2.0
// Replay: runs the same core over a recording. It ends with the recorded digest, or names the first
// record whose effects differ. Then the code has changed, or the recording is damaged.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recorder/segments.h"

namespace fabricd::recorder {

struct ReplayOptions {
  std::optional<uint64_t> until;       // Ends before the record with this number.
  std::optional<Duration> until_time;  // Ends with the first record after this time.
  std::optional<uint64_t> break_at;    // Prints events and effects from this record on, and
                                       // ends after kBreakRecords.
};
inline constexpr uint64_t kBreakRecords = 20;

struct Difference {
  uint64_t record = 0;
  std::string counts;              // "12 sends recorded, 11 now"; empty: equal.
  std::vector<std::string> lines;  // The effects now.
};

struct ReplayResult {
  uint64_t records = 0;                               // Replayed.
  Duration time{};                                    // From the first to the last record.
  uint64_t recorded_digest = 0, replayed_digest = 0;  // Of all effects.
  std::optional<Difference> difference;               // The first one. The replay ends there.
  // Why the replay ended before the end of the recording. Empty: it did not.
  std::string stopped;
};

// `say` receives the lines of break_at. Errors as for Recording.
absl::StatusOr<ReplayResult> Replay(const Recording& recording, const ReplayOptions& options,
                                    const std::function<void(const std::string&)>& say);

}  // namespace fabricd::recorder
