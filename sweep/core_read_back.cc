// SPDX-License-Identifier: Apache-2.0
// What the core does for the reading back of tables: it goes on while nothing else does, and what
// differs is planned for and programmed like any other change.
#include <utility>

#include "sweep/core.h"
#include "sweep/interface/activity.h"

namespace fabricd::sweep {

// Of a sweep that is about to end; its commands are finished with what it led to.
void Core::StartReadBack(SweepKind kind, Instant now) {
  const bool all = kind == SweepKind::kHeavy && agenda_.TakeReadBack();
  if ((!all && kind != SweepKind::kLight) || !mastership_.IsMaster() || !planner_.plan()) return;
  const bool lanes = planner_.plan()->lanes > 1;
  if (all)
    read_back_.AddAll(observed_.snapshot(), lanes);
  else
    read_back_.AddSample(observed_.snapshot(), lanes, now);
  read_back_.Hold(commands_.TakeRunning());
}

void Core::AdvanceReadBack(Instant now) {
  const bool idle = IsIdleMaster() && !programmer_ && surveys_.empty() && !discovery_;
  if (!idle) {
    if (read_back_.empty()) return;
    read_back_.Pause();
    std::vector<mad::Completion> dropped;
    engine_.CancelQueuedOf(Activity::kReadBack, dropped);
    return;
  }
  read_back_.Feed();
  if (!read_back_.HasResult()) return;
  ReadBack::Result result = read_back_.TakeResult(now);
  if (result.all)
    journal_.Log(LogLevel::kInfo, fmt::format("{} tables read back, those of {} devices differ",
                                              result.tables_read, result.differing.size()));
  for (fabric::FabricEvent& event : result.events) journal_.EmitEvent(std::move(event));
  if (result.differing.empty()) {
    commands_.Finish(result.commands);
    return;
  }
  commands_.Run(result.commands);
  desired_.pending().Mark(result.differing);
  agenda_.WantReroute("tables differ from what was written");
}

}  // namespace fabricd::sweep
