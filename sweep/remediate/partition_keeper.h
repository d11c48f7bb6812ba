// SPDX-License-Identifier: Apache-2.0
// PartitionKeeper: carries out requests about partitions. One request at a time is computed, made
// durable and then put in effect; others wait in a bounded queue. Owned by the core.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "policy/partition_state.h"
#include "sweep/interface/events.h"
#include "sweep/interface/questions.h"

namespace fabricd::sweep {

class PartitionKeeper {
 public:
  static constexpr size_t kMaxWaiting = 1024;

  // All must outlive this. Events and outcomes are appended to `effects`.
  PartitionKeeper(const CoreOptions& options, Effects& effects, OpenQuestions& questions,
                  policy::PartitionState stored);

  void On(ChangePartitions command);
  void On(const Persisted& persisted, Instant now);  // Answer to PersistPartitions.
  // What the owner of a shared state has stored; not null. REQUIRES: this SM follows it.
  void Replace(std::shared_ptr<const policy::PartitionState> stored);
  // The core's options were replaced.
  void OnOptions();

  const std::shared_ptr<const policy::PartitionState>& state() const { return state_; }
  const std::shared_ptr<const policy::PartitionIndex>& index() const { return index_; }
  // Number of the index. Grows with each change.
  uint64_t generation() const { return generation_; }
  // The tables of generation `generation` are confirmed.
  void OnApplied(uint64_t generation);
  // True: all P_Key tables match the partitions.
  bool in_effect() const { return applied_ == generation_; }
  // Why tables must be recomputed since the last call. Empty: they need not be.
  std::string TakeChange() { return std::exchange(change_, {}); }

 private:
  void StartNext();
  void Finish(absl::Status status, std::shared_ptr<const policy::PartitionOutcome> outcome);
  void MakeIndex();
  void Tell(const policy::PartitionOutcome& outcome, const ChangePartitions& command, Instant now);

  const CoreOptions& options_;
  Effects& effects_;
  OpenQuestions& questions_;
  std::shared_ptr<const policy::PartitionState> state_;
  std::shared_ptr<const policy::PartitionIndex> index_;
  uint64_t generation_ = 0, applied_ = 0;
  std::string change_;
  std::deque<ChangePartitions> waiting_;  // The first may be in the middle of its write.
  std::shared_ptr<const policy::PartitionOutcome> outcome_;  // Of the first one.
};

}  // namespace fabricd::sweep
