// SPDX-License-Identifier: Apache-2.0
#include "sweep/program/stage_sequencer.h"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using enum ProgramStage;
using testing::ElementsAre;

std::vector<ProgramStage> OrderOf(RunKind kind) {
  StageSequencer sequencer(kind);
  std::vector<ProgramStage> order;
  for (; !sequencer.done(); sequencer.Advance()) order.push_back(sequencer.stage());
  return order;
}

TEST(StageSequencer, OverTheWholeFabricPortsAreConfiguredWhileThePlanIsComputed) {
  EXPECT_THAT(OrderOf(RunKind::kWholeFabric),
              ElementsAre(kReadTables, kSwitches, kGuids, kKeys, kPorts, kTables, kTrees,
                          kReadLanes, kLanes, kHeld, kArm, kActivate));
}

TEST(StageSequencer, AfterAChangeTablesComeBeforePorts) {
  EXPECT_THAT(OrderOf(RunKind::kChange),
              ElementsAre(kReadTables, kSwitches, kTables, kTrees, kGuids, kKeys, kPorts,
                          kReadLanes, kLanes, kHeld, kArm, kActivate));
}

TEST(StageSequencer, ARunOfTreesAloneReadsAndWritesTrees) {
  EXPECT_THAT(OrderOf(RunKind::kTreesOnly), ElementsAre(kReadTables, kTrees));
}

TEST(StageSequencer, ARunThatOnlyReadsHasNoStageThatWrites) {
  EXPECT_THAT(OrderOf(RunKind::kReadOnly), ElementsAre(kReadTables));
}

TEST(StageSequencer, AStageHasPassedOnceALaterOneHasBegun) {
  StageSequencer sequencer(RunKind::kWholeFabric);
  EXPECT_FALSE(sequencer.HasPassed(kReadTables));
  sequencer.Advance();
  EXPECT_TRUE(sequencer.HasPassed(kReadTables));
  EXPECT_FALSE(sequencer.HasPassed(kSwitches));
  while (!sequencer.done()) sequencer.Advance();
  EXPECT_TRUE(sequencer.HasPassed(kActivate));
  EXPECT_FALSE(sequencer.HasPassed(kDone));
}

TEST(StageSequencer, AStageThatTheRunDoesNotHaveNeverPasses) {
  StageSequencer sequencer(RunKind::kTreesOnly);
  while (!sequencer.done()) sequencer.Advance();
  EXPECT_TRUE(sequencer.HasPassed(kTrees));
  EXPECT_FALSE(sequencer.HasPassed(kPorts));
}

// What links need before they carry traffic is written before they are brought up, and no link is
// taken down while tables may lead to it.
TEST(StageSequencer, InEachOrderTablesKeysAndPortsComeBeforeHoldsAndThoseBeforeArmed) {
  for (RunKind kind : {RunKind::kWholeFabric, RunKind::kChange}) {
    const auto order = OrderOf(kind);
    const auto at = [&](ProgramStage stage) {
      return std::find(order.begin(), order.end(), stage) - order.begin();
    };
    for (ProgramStage stage : {kTables, kTrees, kKeys, kPorts, kLanes}) {
      EXPECT_LT(at(stage), at(kHeld));
      EXPECT_LT(at(stage), at(kArm));
    }
    EXPECT_LT(at(kGuids), at(kKeys)) << "keys follow aliases";
    EXPECT_LT(at(kKeys), at(kPorts)) << "enforcement begins when keys are confirmed";
    EXPECT_LT(at(kSwitches), at(kTables));
    EXPECT_LT(at(kReadLanes), at(kLanes));
    EXPECT_LT(at(kArm), at(kActivate));
  }
}

}  // namespace
}  // namespace fabricd::sweep
