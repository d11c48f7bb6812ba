// SPDX-License-Identifier: Apache-2.0
// ForeignNode: a machine whose subnet manager is of another make (sim/run/foreign_sm.h), on the
// fabric of nodes that share their state.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/run/foreign_sm.h"
#include "sim/shared/management_node.h"
#include "sim/shared/shared_world.h"
#include "sweep/mastership/last_master.h"

namespace fabricd::sim {

class ForeignNode {
 public:
  // `nodes`: those that it can find. They and `world` outlive this.
  ForeignNode(SharedWorld& world, const ManagementNodes& nodes, PortRef host, uint8_t priority,
              uint64_t seed);

  void Appear();
  void Leave();
  // It computes routes for so long: from now on, or from when it is given the subnet. (Where it
  // becomes master by itself, others can know of that only once it has answered.)
  void Work(Duration time);

  PortRef host() const { return sm_.host(); }
  bool runs() const { return sm_.state() != wire::SmState::kNotActive; }
  bool is_master() const { return sm_.state() == wire::SmState::kMaster; }
  bool is_busy() const { return sm_.is_busy(world_.now()); }
  // It was given the subnet, and has not answered since. The process that gave it has ended: no
  // node can know.
  bool is_unknown_master() const;
  // It has not answered for longer than another SM has to wait.
  bool hangs() const {
    return is_busy() && world_.now() - busy_since_ > sweep::LastMaster::kPatience;
  }

 private:
  std::vector<ForeignSm::Peer> FindPeers() const;
  void BeginWork(Duration time);
  void Schedule();

  SharedWorld& world_;
  const ManagementNodes& nodes_;
  ForeignSm sm_;
  Instant busy_since_ = Instant::min();
  struct Giver {
    const ManagementNode* node = nullptr;
    uint64_t process = 0;
  };
  std::vector<Giver> givers_;  // Those that were master when it was given the subnet.
  Duration next_work_{};       // Once it is given the subnet.
  wire::SmState state_ = wire::SmState::kNotActive;  // As last seen.
  Instant next_ = kNever;                            // When its timer is looked at.
};

}  // namespace fabricd::sim
