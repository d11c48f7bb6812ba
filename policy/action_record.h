// SPDX-License-Identifier: Apache-2.0
// ActionRecord: what a manager must know, besides the holds, of what an earlier start or another
// manager of the same state has done by its rules: the links that flapped too often, and how far
// `enforce` may still act. Values only. Stored as rows of the table `action`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <absl/status/statusor.h>

#include "common/stored_row.h"
#include "policy/hold.h"

namespace fabricd::policy {

struct ActionRecord {
  // A link that routes bypass (policy/damping.h).
  struct SuppressedLink {
    HeldPort a, b;
    double penalty = 0;  // At `at`, the last flap.
    WallMs at = 0;
    uint32_t flaps = 0;
    friend bool operator==(const SuppressedLink&, const SuppressedLink&) = default;
  };
  // A hold of fabricd's own that was released when its condition had cleared.
  struct Release {
    HeldPort port;  // Of the condition.
    WallMs at = 0;
    friend bool operator==(const Release&, const Release&) = default;
  };
  static constexpr size_t kMostReleases = 1000;  // The newest.

  std::vector<SuppressedLink> suppressed;  // Up to DampingOptions::max_suppressed.
  std::vector<Release> releases;           // Within a week, the oldest first.
  bool breaker_tripped = false;
  friend bool operator==(const ActionRecord&, const ActionRecord&) = default;
};

// kDataLoss: they are not the output of ActionRows(). Rows of other parts are ignored.
absl::StatusOr<ActionRecord> LoadActions(const StoredRows& rows);
// All rows of the record.
RowChanges ActionRows(const ActionRecord& record);

}  // namespace fabricd::policy
