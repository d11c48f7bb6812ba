// SPDX-License-Identifier: Apache-2.0
// MasterWatch: the checker of an old master's Sets. Once a new master's first Set has reached a
// device, at most kBatch Sets of a master before it do: those that had passed its write fence when
// its process was stopped. A master that knows of the new one, and to which that one gave the
// subnet back, is no old one.
//
// Where the nodes are on two parts of the fabric, each part may have a master; so it is until they
// have found each other again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/fabric/mad_faults.h"

namespace fabricd::sim {

class MasterWatch : public SimObserver {
 public:
  static constexpr int kBatch = 3;
  // Two masters may be unaware of each other for so long after they can talk again.
  static constexpr Duration kAwareness = std::chrono::seconds(30);

  struct State {
    PortRef host;
    uint64_t process = 0;  // 0: none runs.
    bool is_master = false;
  };
  // `states`: of all nodes, always in the same order. `say`: what is wrong.
  MasterWatch(std::function<std::vector<State>()> states,
              std::function<void(const std::string&)> say)
      : states_(std::move(states)), say_(std::move(say)) {}

  void OnServed(const Served& served) override;
  // Call often. `apart`: some nodes cannot reach each other.
  void Look(Instant now, bool apart);

  uint64_t late_sets() const { return late_sets_; }  // Those of an old master that were allowed.
  uint64_t masterships() const { return masterships_; }  // In which something was written.

 private:
  struct Mastership {
    State state;
    uint64_t number = 0;  // In the order in which they began; 0: it has not been master.
    bool has_written = false;
    size_t superseded_by = kNobody;  // Which node.
    int late = 0;                    // Sets since.
  };
  static constexpr size_t kNobody = SIZE_MAX;
  void Update();

  const std::function<std::vector<State>()> states_;
  const std::function<void(const std::string&)> say_;
  std::vector<Mastership> nodes_;  // The last of each.
  Instant together_since_ = Instant::min();
  bool apart_ = false;
  uint64_t begun_ = 0, late_sets_ = 0, masterships_ = 0;
};

}  // namespace fabricd::sim
