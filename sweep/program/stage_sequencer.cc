// SPDX-License-Identifier: Apache-2.0
#include "sweep/program/stage_sequencer.h"

#include <algorithm>

namespace fabricd::sweep {
namespace {

using enum ProgramStage;

constexpr ProgramStage kWhole[] = {kReadTables, kSwitches, kGuids,     kKeys,  kPorts,
                                   kTables,     kTrees,    kReadLanes, kLanes, kHeld,
                                   kArm,        kActivate, kDone};
constexpr ProgramStage kAfterChange[] = {kReadTables, kSwitches, kTables,    kTrees, kGuids,
                                         kKeys,       kPorts,    kReadLanes, kLanes, kHeld,
                                         kArm,        kActivate, kDone};
constexpr ProgramStage kTreesAlone[] = {kReadTables, kTrees, kDone};
constexpr ProgramStage kReadAlone[] = {kReadTables, kDone};

std::span<const ProgramStage> OrderOf(RunKind kind) {
  switch (kind) {
    case RunKind::kWholeFabric: return kWhole;
    case RunKind::kChange: return kAfterChange;
    case RunKind::kTreesOnly: return kTreesAlone;
    case RunKind::kReadOnly: return kReadAlone;
  }
  return kWhole;
}

}  // namespace

StageSequencer::StageSequencer(RunKind kind) : order_(OrderOf(kind)) {}

bool StageSequencer::HasPassed(ProgramStage stage) const {
  const auto passed = order_.first(position_);
  return std::find(passed.begin(), passed.end(), stage) != passed.end();
}

}  // namespace fabricd::sweep
