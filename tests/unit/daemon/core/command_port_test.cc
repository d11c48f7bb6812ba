// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/command_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CommandPortTest : public ::testing::Test {
 protected:
  std::vector<sweep::Event> Take() {
    std::vector<sweep::Event> events;
    port_.inbox().Take(events, std::chrono::steady_clock::now());
    return events;
  }
  // A sweep command whose answer is put into answers_.
  void PostSweep() {
    port_.PostSweep(true,
                    [this](const absl::Status& status) { answers_.push_back(status.code()); });
  }

  CommandPort port_;
  std::vector<absl::StatusCode> answers_;
};

TEST_F(CommandPortTest, EachCommandIsAnsweredByItsNumber) {
  PostSweep();
  PostSweep();
  const auto events = Take();
  ASSERT_EQ(events.size(), 2u);
  const uint64_t first = std::get<sweep::SweepCommand>(events[0]).command;
  const uint64_t second = std::get<sweep::SweepCommand>(events[1]).command;
  EXPECT_NE(first, second);
  port_.Finish({second, absl::OkStatus(), nullptr});
  port_.Finish({first, absl::CancelledError(), nullptr});
  EXPECT_THAT(answers_, ElementsAre(absl::StatusCode::kOk, absl::StatusCode::kCancelled));
}

TEST_F(CommandPortTest, ACommandIsAnsweredOnce) {
  PostSweep();
  const uint64_t command = std::get<sweep::SweepCommand>(Take().at(0)).command;
  port_.Finish({command, absl::OkStatus(), nullptr});
  port_.Finish({command, absl::OkStatus(), nullptr});
  EXPECT_EQ(answers_.size(), 1u);
}

TEST_F(CommandPortTest, TheOutcomeOfAHoldReachesItsCaller) {
  std::shared_ptr<const sweep::HoldOutcome> answered;
  port_.PostHold(sweep::DeleteHold{}, [&](const absl::Status&, auto hold) { answered = hold; });
  const uint64_t command = std::get<sweep::DeleteHold>(Take().at(0)).command;
  const auto outcome = std::make_shared<const sweep::HoldOutcome>();
  port_.Finish({command, absl::OkStatus(), outcome});
  EXPECT_EQ(answered, outcome);
}

TEST_F(CommandPortTest, TheOutcomesOfPartitionsAndMastershipReachTheirCallers) {
  std::shared_ptr<const policy::PartitionOutcome> partitions;
  std::shared_ptr<const sweep::MastershipOutcome> mastership;
  port_.PostPartitions({}, [&](const absl::Status&, auto outcome) { partitions = outcome; });
  port_.PostMastership(sweep::StepDown{},
                       [&](const absl::Status&, auto outcome) { mastership = outcome; });
  const auto events = Take();
  ASSERT_EQ(events.size(), 2u);
  sweep::FinishedCommand first{std::get<sweep::ChangePartitions>(events[0]).command,
                               absl::OkStatus(), nullptr};
  first.partitions = std::make_shared<const policy::PartitionOutcome>();
  sweep::FinishedCommand second{std::get<sweep::StepDown>(events[1]).command, absl::OkStatus(),
                                nullptr};
  second.mastership = std::make_shared<const sweep::MastershipOutcome>();
  port_.Finish(first);
  port_.Finish(second);
  EXPECT_EQ(partitions, first.partitions);
  EXPECT_EQ(mastership, second.mastership);
}

TEST_F(CommandPortTest, ACommandIsRefusedAtOnceWhenTheInboxIsFull) {
  for (size_t i = 0; i < Inbox::kCommands; ++i) PostSweep();
  EXPECT_THAT(answers_, IsEmpty());
  PostSweep();
  EXPECT_THAT(answers_, ElementsAre(absl::StatusCode::kUnavailable));
}

TEST_F(CommandPortTest, ACommandIsRefusedAtOnceAfterTheInboxIsClosed) {
  port_.inbox().Close();
  PostSweep();
  EXPECT_THAT(answers_, ElementsAre(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace fabricd::daemon
