// SPDX-License-Identifier: Apache-2.0
// LidManager: the LIDs that this SM assigns. An assignment is used only once it is durable.
// Otherwise, after a restart, another port might get a LID that the first one still has. While a
// LID is being made durable, IsDurable() is false and nothing may be programmed. LIDs that could
// not be stored are withheld: their ports stay without until the next Update(), and everything else
// goes on. LIDs of a failed or dropped write are part of the next one.
#pragma once

#include <memory>
#include <optional>
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
  // `options` and `questions` must outlive this. `records` are durable.
  LidManager(const CoreOptions& options, OpenQuestions& questions,
             const std::vector<LidRecord>& records);

  // Assigns LIDs to all end ports of the snapshot, unless it has the same end ports as the last
  // one. Returns false if the table exceeds the LinearFDBTop of some switch. A write that is
  // awaited does not include new LIDs, so its answer is then ignored.
  bool Update(const std::shared_ptr<const fabric::FabricSnapshot>& snapshot, ProblemList& problems);
  // The next Update() always assigns.
  void Invalidate() { must_assign_ = true; }

  // What Update() would assign. Changes nothing.
  fabric::LidTable Preview(const fabric::FabricSnapshot& snapshot) const;
  // Another SM assigns the LIDs: table() shows those that the ports have.
  void ShowObserved(const fabric::FabricSnapshot& snapshot);
  // The base LID in the record of a port. 0: there is none.
  Lid RecordedLid(Guid port_guid) const;

  bool IsDurable() const { return undurable_.empty() || withheld_.has_value(); }
  bool HasUnstored() const { return !undurable_.empty(); }
  // Nodes of ports whose LIDs are withheld until the next Update(). A run has to program them then.
  std::vector<NodeIndex> withheld() const { return withheld_.value_or(std::vector<NodeIndex>()); }
  // Requests a write of all LIDs that are not durable.
  void AskToStore();
  bool IsAwaited() const { return questions_.IsOpen<PersistLids>(); }
  void Cancel() { questions_.Drop<PersistLids>(); }
  // The answer to the last question. If it is an error, the LIDs are withheld, unless this SM's own
  // (of the port `own`) is among them: then it can serve nobody.
  void OnStored(const absl::Status& status, Guid own, ProblemList& problems);

  const std::shared_ptr<const fabric::LidTable>& table() const { return table_; }  // Never null.

 private:
  const CoreOptions& options_;
  OpenQuestions& questions_;
  LidRecords records_;    // Durable or not.
  LidRecords undurable_;  // Records that are not durable yet.
  // Has a value: they could not be stored, and are not in the table. The nodes that are there.
  std::optional<std::vector<NodeIndex>> withheld_;
  Lid maybe_held_{0};  // Nodes that did not respond at the takeover may have LIDs up to this one.
  std::shared_ptr<const fabric::LidTable> table_;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;  // That the table was made for, or null.
  bool must_assign_ = true;                                 // By the next Update().
};

}  // namespace fabricd::sweep
