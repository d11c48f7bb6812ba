// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/surveys.h"

#include "tests/unit/sweep/observe/observe_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class SurveysTest : public ObserveTest {
 protected:
  SurveysTest() {
    Plug(SwitchPort(0, 20), SwitchPort(1, 20));
    SetLink(SwitchPort(0, 20), wire::PortState::kActive);
    Discover();
  }
  void Start(std::vector<NodeIndex> switches, const char* cause = "trap 128",
             Instant since = Instant(99s)) {
    SurveyTask task;
    task.switches = std::move(switches);
    task.cause = cause;
    task.since = since;
    surveys_.Start(task, local_, wire_.now);
  }
  void Take(const mad::Completion& each) {
    if (each.context.owner_as<Activity>() == Activity::kSurvey)
      surveys_.OnCompletion(each, wire_.now);
    else
      surveys_.OnExplorerCompletion(each, wire_.now);
  }
  void Step() {
    surveys_.Advance(wire_.now);
    wire_.Step([&](const mad::Completion& each) { Take(each); });
  }
  void Finish() {
    wire_.Run([&] { surveys_.Advance(wire_.now); },
              [&](const mad::Completion& each) { Take(each); },
              [&] {
                const Instant next = surveys_.NextDeadline();
                return next <= wire_.now ? kNever : next;
              });
  }

  Surveys surveys_{ground_};
};

TEST_F(SurveysTest, AnEndedSurveyWithoutAResultIsTakenAndItsPlaceIsFree) {
  EXPECT_TRUE(surveys_.empty());
  EXPECT_THAT(surveys_.TakeDone(), IsEmpty());
  Start({Known(0x10)});
  EXPECT_FALSE(surveys_.empty());
  EXPECT_TRUE(surveys_.AreAt(Known(0x10)));
  EXPECT_FALSE(surveys_.AreAt(Known(0x11)));
  Finish();
  EXPECT_FALSE(surveys_.HasChanges());
  EXPECT_FALSE(surveys_.AreAt(Known(0x10)));
  EXPECT_THAT(surveys_.TakeDone(), SizeIs(1));
  EXPECT_TRUE(surveys_.empty());
}

TEST_F(SurveysTest, OnlyEightAreUnderWay) {
  for (size_t i = 0; i < Surveys::kMost; ++i) {
    EXPECT_FALSE(surveys_.full());
    Start({Known(0x10)});
  }
  EXPECT_TRUE(surveys_.full());
  EXPECT_DEATH(Start({Known(0x10)}), "check failed");
  Finish();
  EXPECT_THAT(surveys_.TakeDone(), SizeIs(Surveys::kMost));
  EXPECT_FALSE(surveys_.full());
}

TEST_F(SurveysTest, ResultsOfAllAreTakenTogetherWithTheEarliestCause) {
  Cut(SwitchPort(0, 2));
  Cut(SwitchPort(1, 2));
  AddHost(9, SwitchPort(0, 7));
  const NodeIndex gone[] = {Known(0x102), Known(0x103)};
  Start({Known(0x10)}, "trap 128", Instant(98s));
  Start({Known(0x11)}, "light sweep", Instant(97s));
  Finish();
  ASSERT_TRUE(surveys_.HasChanges());
  EXPECT_THAT(surveys_.TakeDone(), IsEmpty()) << "not before their results are taken";
  const Surveys::Changes changes = surveys_.TakeChanges();
  EXPECT_EQ(changes.cause, "light sweep");
  EXPECT_EQ(changes.since, Instant(97s));
  EXPECT_THAT(changes.found.gone, testing::UnorderedElementsAre(gone[0], gone[1]));
  EXPECT_THAT(GuidsOf(changes.found.come), ElementsAre(0x109u));
  EXPECT_TRUE(std::is_sorted(changes.found.touched.begin(), changes.found.touched.end()));
  EXPECT_THAT(changes.found.touched, testing::Contains(Known(0x10)).Times(1));
  surveys_.Advance(wire_.now);
  EXPECT_FALSE(surveys_.HasChanges());
  EXPECT_THAT(surveys_.TakeDone(), SizeIs(2));
}

TEST_F(SurveysTest, OneThatWaitsForADeadSwitchHoldsUpNoOther) {
  Silence(0x11);
  Start({Known(0x11)});
  Start({Known(0x10)});
  for (int i = 0; i < 4; ++i) Step();
  surveys_.Advance(wire_.now);
  const auto done = surveys_.TakeDone();
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_THAT(done[0]->task().switches, ElementsAre(Known(0x10)));
  EXPECT_FALSE(surveys_.empty());
  Finish();
  EXPECT_TRUE(surveys_.HasChanges());
  EXPECT_THAT(surveys_.TakeChanges().found.touched, testing::Contains(Known(0x11)));
}

TEST_F(SurveysTest, ClearingEndsAllAndLateAnswersAreIgnored) {
  Start({Known(0x10)});
  surveys_.Advance(wire_.now);
  surveys_.Clear();
  EXPECT_TRUE(surveys_.empty());
  wire_.Step([&](const mad::Completion& each) { Take(each); });
  EXPECT_FALSE(wire_.sent.empty());
  EXPECT_FALSE(surveys_.HasChanges());
  EXPECT_EQ(surveys_.NextDeadline(), kNever);
}

TEST_F(SurveysTest, TheExplorerIsSharedByAll) {
  AddHost(9, SwitchPort(0, 7));
  AddHost(10, SwitchPort(1, 7));
  Start({Known(0x10)});
  Start({Known(0x11)});
  Finish();
  EXPECT_TRUE(surveys_.explorer().HasFound());
  EXPECT_THAT(GuidsOf(surveys_.TakeChanges().found.come), ElementsAre(0x109u, 0x10Au));
}

}  // namespace
}  // namespace fabricd::sweep
