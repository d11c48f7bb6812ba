// SPDX-License-Identifier: Apache-2.0
// ViewPublisher: when a new FabricView is due, and what it shows. It keeps what only views show:
// whether the subnet is up, and what the last sweep has cost.
#pragma once

#include <memory>
#include <utility>

#include "sweep/device/applied_state.h"
#include "sweep/interface/problems.h"
#include "sweep/interface/view.h"
#include "sweep/mastership/mastership.h"
#include "sweep/observe/observed_fabric.h"
#include "sweep/plan/lid_manager.h"
#include "sweep/plan/multicast.h"
#include "sweep/plan/planner.h"
#include "sweep/remediate/partition_keeper.h"

namespace fabricd::sweep {

// What a view is made of.
struct ViewInput {
  const CoreOptions& options;
  Phase phase = Phase::kIdle;
  const ObservedFabric& observed;
  const LidManager& lids;
  const Planner& planner;
  const Multicast& multicast;
  const Mastership& mastership;
  const PartitionKeeper& partitions;
  const ProblemList& problems;
  const std::vector<PortRef>& isolated;
  std::shared_ptr<const policy::PolicyView> policy;
};

class ViewPublisher {
 public:
  // Something that a view shows has changed.
  void MarkChanged() { changed_ = true; }
  void ShowState(wire::SmState state) {
    changed_ = changed_ || state != std::exchange(shown_state_, state);
  }
  void ShowPhase(Phase phase) {
    changed_ = changed_ || phase != std::exchange(shown_phase_, phase);
  }
  void OnSweepEnd(SweepReport report, bool is_heavy);
  void SetSubnetUp(bool up) { subnet_up_ = up; }

  // Whether a view is due. Until the next change it is not.
  bool TakeChanged() { return std::exchange(changed_, false); }
  // `applied` keeps the tables that views share.
  std::shared_ptr<const FabricView> Make(const ViewInput& input, AppliedState& applied);

  bool subnet_up() const { return subnet_up_; }
  uint32_t sweeps_done() const { return sweeps_done_; }  // Heavy ones.

 private:
  bool changed_ = true;
  wire::SmState shown_state_ = wire::SmState::kNotActive;
  Phase shown_phase_ = Phase::kIdle;
  bool subnet_up_ = false;
  uint32_t sweeps_done_ = 0;
  SweepReport last_report_;
  uint64_t generation_ = 0;
  std::shared_ptr<const fabric::TablesByPort> port_tables_;
};

}  // namespace fabricd::sweep
