// SPDX-License-Identifier: Apache-2.0
#include "sweep/report/sweep_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

class SweepJournalTest : public testing::Test {
 protected:
  static constexpr Instant kStart{std::chrono::seconds(1)};
  static constexpr Instant kEnd{std::chrono::milliseconds(1500)};

  std::vector<std::string> Lines() {
    std::vector<std::string> lines;
    for (const LogRecord& record : effects_.log) lines.push_back(record.text);
    return lines;
  }

  mad::TransactionEngine engine_{{}};
  Effects effects_;
  SweepJournal journal_{engine_, effects_};
  fabric::FabricSnapshot snapshot_;
  ProblemList problems_;
};

TEST_F(SweepJournalTest, TheEndOfASweepLogsItsProblemsAndItsCost) {
  problems_.Add(ProblemKind::kNoLid, ProblemSubject::Named("leaf1"), "no LID is left for it");
  journal_.BeginSweep(SweepKind::kHeavy, kStart);
  EXPECT_EQ(journal_.kind(), SweepKind::kHeavy);
  const SweepReport report = journal_.EndSweep(SweepKind::kHeavy, snapshot_, problems_, kEnd);
  EXPECT_EQ(report.kind, SweepKind::kHeavy);
  EXPECT_EQ(report.duration_ms, 500);
  EXPECT_THAT(Lines(), ElementsAre("NoLid: leaf1: no LID is left for it",
                                   StartsWith("heavy sweep ended: 0 nodes, 0 switches, 500.0 ms")));
  EXPECT_EQ(effects_.log[0].level, LogLevel::kWarning);
}

TEST_F(SweepJournalTest, ALightSweepIsNotLogged) {
  problems_.Add(ProblemKind::kNoLid, ProblemSubject::Named("leaf1"), "no LID is left for it");
  journal_.BeginSweep(SweepKind::kLight, kStart);
  EXPECT_EQ(journal_.EndSweep(SweepKind::kLight, snapshot_, problems_, kEnd).duration_ms, 500);
  EXPECT_THAT(Lines(), IsEmpty());
}

TEST_F(SweepJournalTest, EventsAreLoggedByTheirSeverity) {
  fabric::FabricEvent event;
  event.type = "TablesDiffer";
  event.subject = "leaf1";
  event.message = "2 blocks";
  event.severity = fabric::Severity::kWarning;
  journal_.EmitEvent(event);
  EXPECT_EQ(effects_.events.size(), 1u);
  EXPECT_THAT(Lines(), ElementsAre("TablesDiffer: leaf1: 2 blocks"));
  EXPECT_EQ(effects_.log[0].level, LogLevel::kWarning);
}

TEST_F(SweepJournalTest, AnInterruptingUpdateIsAnnouncedAndAHitlessOneIsNot) {
  routing::PushPlan push;
  push.hitless = true;
  journal_.OnOrder(push, kStart);
  EXPECT_THAT(effects_.events, IsEmpty());
  push.hitless = false;
  push.paths_interrupted = 3;
  journal_.OnOrder(push, kStart);
  ASSERT_EQ(effects_.events.size(), 1u);
  EXPECT_EQ(effects_.events[0].type, "PathsInterrupted");
  EXPECT_THAT(Lines(), ElementsAre(StartsWith("PathsInterrupted: subnet: 3 paths")));
}

}  // namespace
}  // namespace fabricd::sweep
