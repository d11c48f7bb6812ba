// SPDX-License-Identifier: Apache-2.0
// TablePush: selects the writes of a PushPlan that may be sent now (routing/transition/push_plan.h
// explains the order). A write waits for the writes of the same block number in earlier waves, for
// all writes of earlier stages, and for a Set of the same block that an earlier push has in flight.
//
// If a write fails, the writes that depend on it are not sent. The tables stay in a transient state
// that is as safe as before, and the next plan starts from it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "routing/transition/push_plan.h"

namespace fabricd::sweep {

class TablePush {
 public:
  // True: that block of that switch has a Set in flight that is not of this push.
  using IsBusy = std::function<bool(NodeIndex node, uint16_t block)>;

  TablePush() = default;
  // `writes` in the order of the PushPlan.
  explicit TablePush(std::vector<routing::TableWrite> writes);

  // The write counts as sent. nullopt: none may be sent before the next response, or all were sent.
  std::optional<routing::TableWrite> Next(const IsBusy& is_busy);
  // The response to a write that Next() returned.
  void OnAnswer(NodeIndex node, uint16_t block, bool ok);

  bool done() const { return outstanding_ == 0 && left_ == 0; }
  size_t size() const { return writes_.size(); }
  size_t sent() const { return sent_; }
  // Writes that were not sent because one that they depend on failed.
  size_t skipped() const { return skipped_; }

 private:
  // The writes of one block number in one stage, in order.
  struct Chain {
    std::vector<uint32_t> writes;
    size_t next = 0;         // Index into `writes`; these are not ready yet.
    size_t outstanding = 0;  // Ready or sent, no response yet.
    bool failed = false;
  };
  static uint64_t KeyOf(NodeIndex node, uint16_t block) {
    return static_cast<uint64_t>(node.value()) << 16 | block;
  }
  void EnterStages();
  void Release(Chain& chain);

  std::vector<routing::TableWrite> writes_;
  size_t stage_end_ = 0;  // End of the current stage.
  absl::flat_hash_map<uint16_t, Chain> chains_;
  std::deque<uint32_t> ready_;
  absl::flat_hash_map<uint64_t, routing::TableWrite> in_flight_;  // By KeyOf().
  size_t left_ = 0;                                               // Not sent and not skipped.
  size_t outstanding_ = 0, sent_ = 0, skipped_ = 0;
  bool stage_failed_ = false;
};

}  // namespace fabricd::sweep
