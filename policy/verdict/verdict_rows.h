// SPDX-License-Identifier: Apache-2.0
// Verdicts in the store: stages, clocks and link downs of links, holds and remarks, the breaker,
// and the ports of device families that crossed a limit. One row each, as text that an operator can
// read: "stage=2 verdict=2 since=1764021236000".
#pragma once

#include <vector>

#include <absl/status/statusor.h>

#include "common/stored_row.h"
#include "policy/verdict/family_watch.h"
#include "policy/verdict/responder.h"
#include "policy/verdict/verdict_book.h"

namespace fabricd::policy {

struct StoredVerdicts {
  std::vector<StoredStanding> standings;  // By link.
  StoredResponses responses;
  std::vector<StoredCrossing> crossings;  // Sorted.
  friend bool operator==(const StoredVerdicts&, const StoredVerdicts&) = default;
};

StoredRows VerdictRows(const StoredVerdicts& verdicts);
// Rows of other parts are ignored. kDataLoss names the row that cannot be read.
absl::StatusOr<StoredVerdicts> LoadVerdicts(const StoredRows& rows);
// What makes `after` of `before`.
RowChanges Difference(const StoredRows& before, const StoredRows& after);

}  // namespace fabricd::policy
