// SPDX-License-Identifier: Apache-2.0
// StepDownBook: the step-down under way with the commands that wait for it, and the outcome of the
// last one, for repeated requests with the same id. It also tells a mastership that an operator has
// ended, by a step-down or a lower priority, from one that was lost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sweep/interface/events.h"

namespace fabricd::sweep {

class StepDownBook {
 public:
  // nullopt: that request did not succeed, or was not the last.
  std::optional<MastershipOutcome> FindFinished(const std::string& request_id) const {
    if (request_id.empty() || request_id != last_request_) return std::nullopt;
    return last_outcome_;
  }
  bool active() const { return active_.has_value(); }
  // This SM has become master.
  void OnRisen(uint8_t priority) { highest_ = priority; }
  void OnPriorityAsMaster(uint8_t priority) { highest_ = std::max(highest_, priority); }
  // That this SM is no longer master is what an operator has asked for.
  bool HasGivenAway(uint8_t priority) const { return active() || priority < highest_; }
  // REQUIRES: !active().
  void Begin(uint64_t command, std::string request_id, MastershipOutcome outcome) {
    active_ = {{command}, std::move(request_id), std::move(outcome), false};
  }
  // REQUIRES: active().
  void Join(uint64_t command) { active_->commands.push_back(command); }
  // The sweep that leads to the handover starts.
  void OnSweepStart() {
    if (active_) active_->sweeping = true;
  }
  // The handover ended with that sweep, or this SM is no longer master.
  bool IsOver(bool is_master) const { return active_ && (!is_master || active_->sweeping); }

  struct Ended {
    std::vector<uint64_t> commands;
    MastershipOutcome outcome;
  };
  // REQUIRES: active(). This SM stays master.
  Ended TakeFailed() {
    Active ended = *std::exchange(active_, std::nullopt);
    return {std::move(ended.commands), std::move(ended.outcome)};
  }
  // REQUIRES: active(). `successor` nullopt: the planned one.
  Ended TakeDone(const std::optional<RemoteSm>& successor, uint8_t priority) {
    Active ended = *std::exchange(active_, std::nullopt);
    if (successor) ended.outcome.successor = successor;
    ended.outcome.priority = priority;
    last_request_ = ended.request_id;
    last_outcome_ = ended.outcome;
    return {std::move(ended.commands), std::move(ended.outcome)};
  }

 private:
  struct Active {
    std::vector<uint64_t> commands;
    std::string request_id;
    MastershipOutcome outcome;
    bool sweeping = false;
  };
  std::optional<Active> active_;
  uint8_t highest_ = 0;  // Priority of this mastership, or of the last one.
  std::string last_request_;
  MastershipOutcome last_outcome_;
};

}  // namespace fabricd::sweep
