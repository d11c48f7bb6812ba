// SPDX-License-Identifier: Apache-2.0
// RunRecord: the results of a run other than its writes: unconfirmed writes, nodes to retry, nodes
// to survey, and ports that must not be armed.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "fabric/snapshot_builder.h"
#include "mad/transaction_engine.h"
#include "sweep/interface/problems.h"
#include "sweep/write/nodes_to_reread.h"
#include "sweep/write/work.h"

namespace fabricd::sweep {

class RunRecord {
 public:
  // Both must outlive this.
  RunRecord(const fabric::SnapshotBuilder& builder, ProblemList& problems)
      : builder_(builder), problems_(problems) {}

  // A request to a known device failed. REQUIRES: !IsOk(completion).
  void NoteFailure(const WorkItem& item, const mad::Completion& completion);
  // A Set was answered with other values.
  void NoteContradiction(const WorkItem& item, const mad::Completion& completion);
  // A device keeps its old value. The node is not retried at once.
  void NoteRefusal(PortRef port, std::string text);
  // Nothing was sent, or the device was removed.
  void CountFailures(size_t count) { failures_ += count; }
  void NoteUnsent(NodeIndex node) {
    ++failures_;
    undone_.insert(node);
  }
  void NoteUnconfigured(PortRef port) { unconfigured_.insert(port); }
  bool IsUnconfigured(PortRef port) const { return unconfigured_.contains(port); }
  // `port` 0: the problem is about the node.
  void AddProblem(PortRef port, ProblemKind kind, std::string text);
  void AddProblem(Problem problem) { problems_.Add(std::move(problem)); }
  void RemoveProblems(ProblemKind kind) { problems_.Remove(kind); }

  NodesToReread& rereads() { return rereads_; }
  const NodesToReread& rereads() const { return rereads_; }
  size_t failures() const { return failures_; }
  const absl::flat_hash_set<NodeIndex>& undone() const { return undone_; }

 private:
  const fabric::SnapshotBuilder& builder_;
  ProblemList& problems_;
  size_t failures_ = 0;
  absl::flat_hash_set<NodeIndex> undone_;
  absl::flat_hash_set<PortRef> unconfigured_;  // Their Set failed, so they are not armed.
  NodesToReread rereads_;
};

}  // namespace fabricd::sweep
