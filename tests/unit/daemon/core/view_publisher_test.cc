// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/view_publisher.h"

#include <filesystem>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/memory_store.h"
#include "tests/unit/store/temp_dir.h"

namespace fabricd::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using View = std::shared_ptr<const sweep::FabricView>;

// An event log whose jobs are done at once.
std::unique_ptr<EventLog> OpenLog(store::MemoryStore& store) {
  const PostToStore now = [](const std::function<void()>& job) {
    job();
    return true;
  };
  return *EventLog::Open(store, now, {store, now}, {});
}

class ViewPublisherTest : public ::testing::Test {
 protected:
  void Publish(const sweep::FabricView& view, std::vector<fabric::FabricEvent> events = {}) {
    publisher_.OnPublished(std::make_shared<const sweep::FabricView>(view), std::move(events), {});
  }
  std::vector<std::string> StoredEvents() {
    std::vector<std::string> types;
    for (const auto& record : store_.ListEvents({}).value()) types.push_back(record.event.type);
    return types;
  }
  static fabric::FabricEvent Event(const std::string& type) {
    fabric::FabricEvent event;
    event.type = type;
    return event;
  }

  store::MemoryStore store_;
  store::TempDir folder_;
  CommandPort commands_;
  std::unique_ptr<EventLog> events_ = OpenLog(store_);
  std::vector<View> seen_;
  std::vector<bool> was_newest_;  // Of each of seen_: view() was it already.
  ViewPublisher publisher_{commands_, *events_,
                           [this](const View& view) {
                             seen_.push_back(view);
                             was_newest_.push_back(publisher_.view() == view);
                           },
                           folder_.path() + "/dumps"};
};

TEST_F(ViewPublisherTest, AnEmptyViewIsShownBeforeTheFirst) {
  ASSERT_NE(publisher_.view(), nullptr);
  EXPECT_EQ(publisher_.view()->snapshot->node_count(), 0u);
}

TEST_F(ViewPublisherTest, ReadersAreCalledAfterTheViewIsPublished) {
  Publish(*sweep::EmptyView());
  EXPECT_THAT(seen_, ElementsAre(publisher_.view()));
  EXPECT_THAT(was_newest_, ElementsAre(true));
}

TEST_F(ViewPublisherTest, EventsOfTheViewFollowThoseOfTheCore) {
  sweep::FabricView view = *sweep::EmptyView();
  view.sm.state = wire::SmState::kMaster;
  Publish(view, {Event("LinkDown")});
  EXPECT_THAT(StoredEvents(), ElementsAre("LinkDown", "MasterChanged"));
}

TEST_F(ViewPublisherTest, EventsWithoutAViewLeaveTheViewAsItIs) {
  const View before = publisher_.view();
  publisher_.OnPublished(nullptr, {Event("LinkDown")}, {});
  EXPECT_THAT(StoredEvents(), ElementsAre("LinkDown"));
  EXPECT_EQ(publisher_.view(), before);
  EXPECT_THAT(seen_, IsEmpty());
}

TEST_F(ViewPublisherTest, AnswersGoToTheInboxAndFinishedCommandsToTheirCallers) {
  absl::Status answered = absl::UnknownError("none");
  commands_.PostSweep(true, [&](const absl::Status& status) { answered = status; });
  publisher_.OnAnswer({sweep::QuestionId(7), sweep::PlanReady{}});
  std::vector<sweep::Event> taken;
  commands_.inbox().Take(taken, std::chrono::steady_clock::now());
  ASSERT_EQ(taken.size(), 2u);  // Answers first.
  EXPECT_EQ(std::get<sweep::Answer>(taken[0]).id, sweep::QuestionId(7));
  publisher_.OnFinished(
      {std::get<sweep::SweepCommand>(taken[1]).command, absl::OkStatus(), nullptr});
  EXPECT_TRUE(answered.ok());
}

TEST_F(ViewPublisherTest, NothingIsDumpedBeforeASweepHasEndedWithAPlan) {
  sweep::FabricView view = *sweep::EmptyView();
  view.sweeps_done = 1;
  Publish(view);  // No plan.
  view.plan = std::make_shared<const routing::RoutingPlan>();
  Publish(view);  // Of the same sweep.
  view.sweeps_done = 2;
  view.phase = sweep::Phase::kProgramming;
  Publish(view);  // Not at rest.
  publisher_.Stop();
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/dumps"));
}

TEST_F(ViewPublisherTest, DumpsAreWrittenOnceAfterASweepThatHasEndedWithAPlan) {
  sweep::FabricView view = *sweep::EmptyView();
  view.sweeps_done = 1;
  view.plan = std::make_shared<const routing::RoutingPlan>();
  Publish(view);
  publisher_.Stop();
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/dumps"));
}

TEST(IsServingTest, ASweepOrAnotherMasterMakesTheApiServe) {
  sweep::FabricView view = *sweep::EmptyView();
  EXPECT_FALSE(IsServing(view));
  view.sweeps_done = 1;
  EXPECT_TRUE(IsServing(view));
  view.sweeps_done = 0;
  view.sm.state = wire::SmState::kStandby;
  EXPECT_TRUE(IsServing(view));
}

}  // namespace
}  // namespace fabricd::daemon
