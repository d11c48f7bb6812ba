// SPDX-License-Identifier: Apache-2.0
// What runs beside the programming of changes: light sweeps, and reads of what devices hold.
#include <utility>

#include <fmt/format.h>

#include "sweep/activity/activities.h"

namespace fabricd::sweep {

void Activities::StartLightSweep(Instant now, bool reads_tables) {
  journal_.BeginSweep(SweepKind::kLight, now);
  light_sweeps_.Start(mastership_.others(), reads_tables, now);
}

void Activities::FinishLightSweep(const LightSweep& ended, Instant now) {
  mastership_.OnLightSweep(ended.remote_sms(), now);
  for (const auto& [port, cause] : ended.changed()) follower_.Report(port, cause, now);
  if (!ended.reason().empty()) {
    // A command for this light sweep is finished with the heavy sweep that follows.
    commands_.WaitAgain();
    agenda_.WantSweep(ended.reason());
  }
  if (light_sweeps_.reads_tables()) StartReadBack(SweepKind::kLight, now);
  EndSweep(SweepKind::kLight, false, CoreEvent::kLightSweepEnds, now);
}

bool Activities::UsesVls() const {
  const Planner::SharedPlan plan = programming_.planner().plan();
  return plan != nullptr && plan->lanes > 1;
}

// Call when a sweep is about to end. Its commands are finished with the result of the read-back.
void Activities::StartReadBack(SweepKind kind, Instant now) {
  const bool all = kind == SweepKind::kHeavy && agenda_.TakeReadBack();
  if (!all && kind != SweepKind::kLight) return;
  if (!mastership_.IsMaster() || !programming_.planner().plan()) return;
  if (all)
    reads_.AddAll(UsesVls(), commands_.TakeRunning());
  else
    reads_.AddSample(UsesVls(), commands_.TakeRunning(), now);
}

// Differences are planned for and programmed like any other change.
void Activities::AdvanceReadBack(Instant now) {
  std::optional<ReadBack::Result> result = reads_.AdvanceReadBack(MayRead(), now);
  if (!result) return;
  if (result->all)
    journal_.Log(LogLevel::kInfo, fmt::format("{} tables read back, those of {} devices differ",
                                              result->tables_read, result->differing.size()));
  for (fabric::FabricEvent& event : result->events) journal_.EmitEvent(std::move(event));
  if (result->differing.empty()) return commands_.Finish(result->commands);
  commands_.Run(result->commands);
  programming_.desired().pending().Mark(result->differing);
  agenda_.WantReroute("tables differ from what was written");
}

}  // namespace fabricd::sweep
