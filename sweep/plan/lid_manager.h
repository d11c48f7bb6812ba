// SPDX-License-Identifier: Apache-2.0
// LidManager: the LIDs that this SM assigns. An assignment is used only once it is durable: after a
// restart another port might be given the same LID while the first still has it. Until a write of
// all that is not durable has been confirmed, IsDurable() is false and nothing may be programmed.
#pragma once

#include <memory>
#include <vector>

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "sweep/interface/options.h"
#include "sweep/interface/problems.h"
#include "sweep/plan/lid_assignment.h"

namespace fabricd::sweep {

class LidManager {
 public:
  // `options` outlives this; `records` are durable.
  LidManager(const CoreOptions& options, const std::vector<LidRecord>& records);

  // Assigns LIDs to all end ports of the snapshot, unless it has the same ones as the last. Returns
  // false if the table has outgrown the LinearFDBTop of some switch.
  bool Update(const std::shared_ptr<const fabric::FabricSnapshot>& snapshot, ProblemList& problems);
  // The next Update() assigns in any case.
  void Invalidate() { assigned_for_ = nullptr; }

  bool IsDurable() const { return undurable_.empty(); }
  // All that no write has confirmed, by GUID: what the next write must hold. A write that failed or
  // was dropped leaves its records here.
  std::vector<LidRecord> Undurable() const;
  // A write of Undurable() is durable. REQUIRES: no Update() since.
  void Confirm() { undurable_.clear(); }

  const std::shared_ptr<const fabric::LidTable>& table() const { return table_; }  // Never null.

 private:
  const CoreOptions& options_;
  LidRecords records_;    // Durable or not.
  LidRecords undurable_;  // Of those.
  std::shared_ptr<const fabric::LidTable> table_;
  // The snapshot that the table was made for. Null: another one may give another table.
  std::shared_ptr<const fabric::FabricSnapshot> assigned_for_;
};

}  // namespace fabricd::sweep
