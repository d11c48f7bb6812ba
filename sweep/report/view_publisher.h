// SPDX-License-Identifier: Apache-2.0
// ViewPublisher: decides when a new FabricView is due, and builds it. It keeps the state that only
// views show: whether the subnet is up, and the report of the last sweep.
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
#include "sweep/takeover/takeover_guard.h"

namespace fabricd::sweep {

// The inputs of a view.
struct ViewInput {
  const CoreOptions& options;
  Phase phase = Phase::kIdle;
  const ObservedFabric& observed;
  bool has_own_link = true;
  const LidManager& lids;
  const Planner& planner;
  const Multicast& multicast;
  const Mastership& mastership;
  const TakeoverGuard& guard;
  const PartitionKeeper& partitions;
  const ProblemList& problems;
  const std::vector<PortRef>& isolated;
  std::shared_ptr<const policy::PolicyView> policy;
};

class ViewPublisher {
 public:
  // Something in the view has changed.
  void MarkChanged() { changed_ = true; }
  void ShowState(wire::SmState state) {
    changed_ = changed_ || state != std::exchange(shown_state_, state);
  }
  void ShowPhase(Phase phase) {
    changed_ = changed_ || phase != std::exchange(shown_phase_, phase);
  }
  void OnSweepEnd(SweepReport report, bool is_heavy);
  void SetSubnetUp(bool up) { subnet_up_ = up; }
  // Of an SM that only reads: the LinearForwardingTables that it has read while `master` was
  // master, and those that it would write.
  void ShowReadTables(ReaderTables::Rows read, Guid master);
  void ShowComputedTables(const routing::RoutingPlan& plan, const fabric::FabricSnapshot& snapshot);
  void ShowTableWrites(const std::shared_ptr<const TableWrites>& writes) {
    if (writes == nullptr || writes == table_writes_) return;
    table_writes_ = writes;
    changed_ = true;
  }

  // Returns whether a view is due, and resets that.
  bool TakeChanged() { return std::exchange(changed_, false); }
  // `applied` caches the tables that views share.
  std::shared_ptr<const FabricView> Make(const ViewInput& input, AppliedState& applied);

  bool subnet_up() const { return subnet_up_; }
  uint32_t sweeps_done() const { return sweeps_done_; }  // Number of heavy sweeps.

 private:
  bool changed_ = true;
  wire::SmState shown_state_ = wire::SmState::kNotActive;
  Phase shown_phase_ = Phase::kIdle;
  bool subnet_up_ = false;
  uint32_t sweeps_done_ = 0;
  SweepReport last_report_;
  uint64_t generation_ = 0;
  std::shared_ptr<const fabric::TablesByPort> port_tables_;
  std::shared_ptr<const std::vector<Lid>> foreign_mlids_;
  ReaderTables reader_tables_;
  std::shared_ptr<const TableWrites> table_writes_;
};

}  // namespace fabricd::sweep
