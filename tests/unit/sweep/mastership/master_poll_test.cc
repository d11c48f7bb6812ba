// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/master_poll.h"

#include <gtest/gtest.h>

#include "sweep/interface/activity.h"

namespace fabricd::sweep {
namespace {

using namespace std::chrono_literals;

class MasterPollTest : public testing::Test {
 protected:
  MasterPollTest() {
    devices_.SetPath(NodeIndex(3), {1, 4});
    master_.port = {NodeIndex(3), PortNum(1)};
  }
  size_t SentCount() {
    std::vector<mad::OutgoingMad> out;
    std::vector<mad::Completion> done;
    engine_.Pump(kNow, out, done);
    return out.size();
  }
  static constexpr Instant kNow{1000s};
  SmOptions options_;
  DeviceTable devices_{options_};
  mad::TransactionEngine engine_{mad::EngineOptions()};
  MasterPoll poll_{options_, devices_, engine_, mad::RequestContext::Of(Activity::kMastership)};
  RemoteSm master_;
};

TEST_F(MasterPollTest, AsksForTheSmInfoAndAgainAfterTheTimeout) {
  EXPECT_EQ(poll_.next(), kNever);
  poll_.Start(kNow);
  EXPECT_EQ(poll_.next(), kNow);
  poll_.Send(&master_, kNow);
  EXPECT_EQ(SentCount(), 1u);
  EXPECT_EQ(poll_.next(), kNow + options_.polling_timeout);
}

TEST_F(MasterPollTest, OneQuestionIsOutAtATime) {
  poll_.Start(kNow);
  poll_.Send(&master_, kNow);
  poll_.Send(&master_, kNow + options_.polling_timeout);
  EXPECT_EQ(SentCount(), 1u);
  poll_.OnCompletion();
  poll_.Send(&master_, kNow + 2 * options_.polling_timeout);
  EXPECT_EQ(engine_.size(), 2u);
}

TEST_F(MasterPollTest, WithoutAMasterOrARouteToItNothingIsSent) {
  poll_.Start(kNow);
  poll_.Send(nullptr, kNow);
  devices_.Remove(NodeIndex(3));
  poll_.Send(&master_, kNow);
  EXPECT_EQ(SentCount(), 0u);
  EXPECT_EQ(poll_.next(), kNow + options_.polling_timeout) << "it is tried again";
}

TEST_F(MasterPollTest, SoManyPollsInARowWithoutAnAnswerMeanAMasterThatIsDead) {
  options_.polling_retries = 3;
  poll_.Start(kNow);
  EXPECT_FALSE(poll_.NoteMissed());
  EXPECT_FALSE(poll_.NoteMissed());
  poll_.NoteAnswered();
  EXPECT_FALSE(poll_.NoteMissed());
  EXPECT_FALSE(poll_.NoteMissed());
  EXPECT_TRUE(poll_.NoteMissed());
  poll_.Start(kNow);
  EXPECT_FALSE(poll_.NoteMissed()) << "of another SM";
}

TEST_F(MasterPollTest, TenAnswersWithoutAChangeAreTooMany) {
  poll_.Start(kNow);
  for (int i = 1; i < 10; ++i) EXPECT_FALSE(poll_.NoteUnchanged());
  EXPECT_TRUE(poll_.NoteUnchanged());
}

TEST_F(MasterPollTest, TheNextPollCanBeBroughtForwardButNotPutOff) {
  poll_.Schedule(kNow + 5s);
  poll_.ScheduleBy(kNow + 9s);
  EXPECT_EQ(poll_.next(), kNow + 5s);
  poll_.ScheduleBy(kNow + 1s);
  EXPECT_EQ(poll_.next(), kNow + 1s);
  poll_.Stop();
  EXPECT_EQ(poll_.next(), kNever);
}

}  // namespace
}  // namespace fabricd::sweep
