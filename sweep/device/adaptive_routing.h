// SPDX-License-Identifier: Apache-2.0
// AdaptiveRouting: which switches say that adaptive routing is on. fabricd never switches it on, so
// another manager has. Such a switch may forward by the tables of that one whatever its LFT says:
// how to write those tables is not public.
#pragma once

#include <map>
#include <vector>

#include "common/ids.h"

namespace fabricd::sweep {

class AdaptiveRouting {
 public:
  enum class State : uint8_t {
    kUnknown,
    kNone,  // Off, or the switch has none.
    kOn,
  };

  State Of(NodeIndex node) const {
    const auto found = states_.find(node);
    return found == states_.end() ? State::kUnknown : found->second;
  }
  void Put(NodeIndex node, State state) { states_[node] = state; }
  // Sorted.
  std::vector<NodeIndex> On() const {
    std::vector<NodeIndex> on;
    for (const auto& [node, state] : states_)
      if (state == State::kOn) on.push_back(node);
    return on;
  }
  // The switch has restarted, or is gone.
  void Forget(NodeIndex node) { states_.erase(node); }
  // Another SM may have changed it anywhere.
  void ForgetAll() { states_.clear(); }

 private:
  std::map<NodeIndex, State> states_;
};

}  // namespace fabricd::sweep
