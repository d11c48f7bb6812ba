// SPDX-License-Identifier: Apache-2.0
// The core's reading of lane tables that somebody asks for. It waits until nothing is programmed
// and gives way to what is: what is left is read when the core is idle again.
#include "sweep/core.h"

#include "sweep/interface/activity.h"

namespace fabricd::sweep {

void Core::OnReadLanes(const ReadLanes& wanted) {
  // A standby knows no routes to devices that would still be right.
  if (!mastership_.IsMaster()) return;
  for (const NodeIndex node : wanted.nodes)
    if (observed_.snapshot()->node(node) != nullptr && !devices_.applied().vls().WasRead(node))
      lanes_wanted_.insert(node);
}

void Core::StartLaneReader() {
  // What a plan has no use for is kept while there is not too much of it.
  const bool needed = planner_.plan() != nullptr && planner_.plan()->lanes > 1;
  if (!needed && devices_.applied().vls().tables().size() > AppliedVls::kMostTables)
    devices_.applied().vls().Clear();
  lane_reader_ = std::make_unique<LaneReader>(
      observed_.snapshot(), std::vector<NodeIndex>(lanes_wanted_.begin(), lanes_wanted_.end()),
      devices_, engine_, ++lane_run_);
}

void Core::AdvanceLaneReader() {
  const bool idle = IsIdleMaster() && !programmer_ && surveys_.empty() && !discovery_;
  if (!idle) {
    if (!lane_reader_) return;
    std::vector<mad::Completion> dropped;
    engine_.CancelQueuedOf(Activity::kLaneReader, dropped);
    lane_reader_.reset();
    return;
  }
  if (!lane_reader_ && !lanes_wanted_.empty()) StartLaneReader();
  if (!lane_reader_) return;
  lane_reader_->Feed();
  if (!lane_reader_->done()) return;
  // Whoever asks again for what did not come has it read again.
  for (const NodeIndex node : lane_reader_->nodes()) lanes_wanted_.erase(node);
  lane_reader_.reset();
  view_.MarkChanged();
}

}  // namespace fabricd::sweep
