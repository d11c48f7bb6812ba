// SPDX-License-Identifier: Apache-2.0
// PartitionKeeper: carries out requests about partitions. One at a time is worked out, made durable
// and only then in force; others wait in a bounded queue. Of the core.
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

  // All must outlive this; effects are added to as they come.
  PartitionKeeper(const CoreOptions& options, Effects& effects, OpenQuestions& questions,
                  policy::PartitionState stored);

  void On(ChangePartitions command);
  void On(const Persisted& persisted, Instant now);  // To PersistPartitions.
  // The core's options were replaced.
  void OnOptions();

  const std::shared_ptr<const policy::PartitionState>& state() const { return state_; }
  const std::shared_ptr<const policy::PartitionIndex>& index() const { return index_; }
  // Of the index; grows with each change.
  uint64_t generation() const { return generation_; }
  // The tables of generation `generation` are confirmed.
  void OnApplied(uint64_t generation);
  // All tables are as the partitions want them.
  bool in_effect() const { return applied_ == generation_; }
  // Why tables are to be made anew since the last call; empty: they are not.
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
  std::deque<ChangePartitions> waiting_;                     // The first may be being written.
  std::shared_ptr<const policy::PartitionOutcome> outcome_;  // Of that one.
};

}  // namespace fabricd::sweep
