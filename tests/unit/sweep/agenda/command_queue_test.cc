// SPDX-License-Identifier: Apache-2.0
#include "sweep/agenda/command_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class CommandQueueTest : public testing::Test {
 protected:
  std::vector<uint64_t> Finished() {
    std::vector<uint64_t> commands;
    for (const FinishedCommand& each : finished_) commands.push_back(each.command);
    return commands;
  }

  std::vector<FinishedCommand> finished_;
  CommandQueue queue_{finished_};
};

TEST_F(CommandQueueTest, ARunningCommandFinishesWithItsSweep) {
  queue_.Run(7);
  queue_.Wait(8);
  queue_.FinishRunning();
  EXPECT_THAT(Finished(), ElementsAre(7));
  EXPECT_TRUE(finished_[0].status.ok());
  queue_.FinishRunning();
  EXPECT_EQ(finished_.size(), 1u);
}

TEST_F(CommandQueueTest, WaitingCommandsRunWithTheNextHeavySweep) {
  queue_.Run(1);
  queue_.Wait(2);
  queue_.Wait({3, 4});
  queue_.StartWaiting();
  queue_.FinishRunning();
  EXPECT_THAT(Finished(), ElementsAre(1, 2, 3, 4));
}

TEST_F(CommandQueueTest, CommandsOfALightSweepThatBecomesHeavyFinishWithIt) {
  queue_.Wait(1);
  queue_.Run(2);
  queue_.WaitAgain();
  queue_.FinishRunning();
  EXPECT_THAT(Finished(), IsEmpty());
  queue_.StartWaiting();
  queue_.FinishRunning();
  EXPECT_THAT(Finished(), UnorderedElementsAre(1, 2));
}

TEST_F(CommandQueueTest, CommandsThatWereTakenAreFinishedByTheirTaker) {
  queue_.Run({1, 2});
  const std::vector<uint64_t> taken = queue_.TakeRunning();
  queue_.FinishRunning();
  EXPECT_THAT(Finished(), IsEmpty());
  queue_.Finish(taken);
  EXPECT_THAT(Finished(), ElementsAre(1, 2));
}

TEST_F(CommandQueueTest, WaitingCommandsAreRefusedWithTheReason) {
  queue_.Run(1);
  queue_.Wait(2);
  queue_.RefuseWaiting(absl::FailedPreconditionError("standby"));
  EXPECT_THAT(Finished(), ElementsAre(2));
  EXPECT_EQ(finished_[0].status.message(), "standby");
  queue_.StartWaiting();
  queue_.FinishRunning();
  EXPECT_THAT(Finished(), ElementsAre(2, 1));
}

}  // namespace
}  // namespace fabricd::sweep
