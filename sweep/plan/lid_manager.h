// SPDX-License-Identifier: Apache-2.0
// LidManager: the LIDs that this SM assigns. An assignment is used only once it is durable: after a
// restart another port might be given the same LID while the first still has it. Until a write of
// all that is not durable has been confirmed, IsDurable() is false and nothing may be programmed.
// What a write that failed or was dropped would have made durable is part of the next one.
#pragma once

#include <memory>
#include <vector>

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "sweep/interface/options.h"
#include "sweep/interface/problems.h"
#include "sweep/interface/questions.h"
#include "sweep/plan/lid_assignment.h"

namespace fabricd::sweep {

class LidManager {
 public:
  // `options` and `questions` outlive this; `records` are durable.
  LidManager(const CoreOptions& options, OpenQuestions& questions,
             const std::vector<LidRecord>& records);

  // Assigns LIDs to all end ports of the snapshot, unless it has the same ones as the last. Returns
  // false if the table has outgrown the LinearFDBTop of some switch. A write that is awaited does
  // not count for what is assigned now.
  bool Update(const std::shared_ptr<const fabric::FabricSnapshot>& snapshot, ProblemList& problems);
  // The next Update() assigns in any case.
  void Invalidate() { assigned_for_ = nullptr; }

  bool IsDurable() const { return undurable_.empty(); }
  // Asks for a write of all that is not durable.
  void AskToStore();
  bool IsAwaited() const { return questions_.IsOpen<PersistLids>(); }
  void Cancel() { questions_.Drop<PersistLids>(); }
  // The answer to the last question.
  void OnStored(const absl::Status& status) {
    if (status.ok()) undurable_.clear();
  }

  const std::shared_ptr<const fabric::LidTable>& table() const { return table_; }  // Never null.

 private:
  const CoreOptions& options_;
  OpenQuestions& questions_;
  LidRecords records_;    // Durable or not.
  LidRecords undurable_;  // Of those.
  std::shared_ptr<const fabric::LidTable> table_;
  // The snapshot that the table was made for. Null: another one may give another table.
  std::shared_ptr<const fabric::FabricSnapshot> assigned_for_;
};

}  // namespace fabricd::sweep
