// SPDX-License-Identifier: Apache-2.0
#include "shell/effect_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "shell/store_records.h"
#include "store/memory_store.h"

namespace fabricd::shell {
namespace {

using sweep::QuestionId;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// All ports in one, which write down what they are asked, and a tap.
class RecordingPorts final : public Network, public Executor, public Listener, public Tap {
 public:
  absl::Status Send(mad::OutgoingMad&& mad) override {
    calls.push_back(fmt::format("send {}", mad.payload.size()));
    return network;
  }
  absl::Status SetIsSm(bool is_sm) override {
    calls.push_back(fmt::format("IsSM {}", is_sm));
    return network;
  }
  bool Post(Queue queue, Job job) override {
    if (is_full[queue]) return false;
    queues[queue].push_back(std::move(job));
    return true;
  }
  void OnLog(sweep::LogRecord record) override { calls.push_back("log " + record.text); }
  void OnPublished(std::shared_ptr<const sweep::FabricView> view,
                   std::vector<fabric::FabricEvent> events, Instant) override {
    calls.push_back(fmt::format("{} and {} events", view ? "view" : "no view", events.size()));
  }
  void OnFinished(sweep::FinishedCommand finished) override {
    calls.push_back(fmt::format("finished {}", finished.command));
  }
  void OnAnswer(sweep::Answer answer) override { answers.push_back(std::move(answer)); }
  void OnStep(const sweep::Event& event, Instant) override { steps.push_back(event); }
  void OnStart(const CoreInputs&) override {}
  void OnEffects(const sweep::Effects& effects, Instant) override {
    taken.push_back(effects.set_is_sm.value_or(false));
  }

  // Does the jobs of one queue, and says how many.
  size_t Run(Queue queue) {
    size_t count = 0;
    for (; !queues[queue].empty(); ++count) {
      const Job job = std::move(queues[queue].front());
      queues[queue].pop_front();
      job();
    }
    return count;
  }
  std::vector<uint64_t> AnsweredIds() const {
    std::vector<uint64_t> ids;
    for (const sweep::Answer& answer : answers) ids.push_back(answer.id.value());
    return ids;
  }

  absl::Status network;
  std::map<Queue, bool> is_full;
  std::map<Queue, std::deque<Job>> queues;
  std::vector<std::string> calls;
  std::vector<sweep::Answer> answers;
  std::vector<sweep::Event> steps;
  std::vector<bool> taken;
};

class EffectRunnerTest : public ::testing::Test {
 protected:
  static sweep::ComputePlan Plan(bool urgent = false) {
    sweep::ComputePlan task;
    task.snapshot = fabric::SnapshotBuilder().Build();
    task.lids = std::make_shared<const fabric::LidTable>();
    task.options.threads = 1;
    if (!urgent) return task;
    task.goal = routing::ReplanGoal::kUrgent;
    task.before = std::make_shared<const routing::RouteState>(
        routing::RouteState{routing::LinkMap(*task.snapshot, *task.lids),
                            std::make_shared<const routing::RoutingPlan>()});
    return task;
  }
  static sweep::CheckCables Cables() { return {fabric::SnapshotBuilder().Build(), {}}; }
  template <typename... What>
  void Ask(uint64_t first_id, What... what) {
    sweep::Effects effects;
    (effects.questions.push_back({QuestionId(first_id++), std::move(what)}), ...);
    runner_.CarryOut(std::move(effects), Instant());
  }
  // The answer that the core was given at once.
  template <typename T>
  const T& GivenAtOnce() {
    return std::get<T>(std::get<sweep::Answer>(ports_.steps.back()).what);
  }

  RecordingPorts ports_;
  store::MemoryStore store_;
  StoreRecords records_{store_, [] { return int64_t{7}; }};
  std::unique_ptr<sweep::Core> core_ = CoreInputs().MakeCore();
  EffectRunner runner_{*core_, {ports_, ports_, records_, ports_}, &ports_};
};

TEST_F(EffectRunnerTest, EffectsAreCarriedOutInOneOrder) {
  sweep::Effects effects;
  effects.finished.push_back({7, absl::OkStatus()});
  effects.events.emplace_back();
  effects.publish = sweep::EmptyView();
  effects.send.push_back({.payload = std::vector<uint8_t>(256)});
  effects.set_is_sm = true;
  effects.log.push_back({sweep::LogLevel::kInfo, "text"});
  runner_.CarryOut(std::move(effects), Instant());
  EXPECT_THAT(ports_.calls,
              ElementsAre("log text", "IsSM true", "send 256", "view and 1 events", "finished 7"));
}

TEST_F(EffectRunnerTest, TheTapSeesStepsAndTheEffectsThatAreTaken) {
  runner_.Step(sweep::StartEvent{}, Instant());
  ASSERT_EQ(ports_.steps.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<sweep::StartEvent>(ports_.steps[0]));
  runner_.CarryOut(Instant());
  EXPECT_THAT(ports_.taken, ElementsAre(true));
  EXPECT_THAT(ports_.calls, Contains("IsSM true"));
}

TEST_F(EffectRunnerTest, NothingIsShownWhereNothingIsNew) {
  runner_.CarryOut(sweep::Effects(), Instant());
  EXPECT_THAT(ports_.calls, IsEmpty());
}

TEST_F(EffectRunnerTest, AMadThatCannotBeSentGoesBackToTheCoreAsItWas) {
  ports_.network = Unavailable("no room");
  sweep::Effects effects;
  effects.set_is_sm = true;
  effects.send.push_back({.to = {.lid = Lid(7)}, .payload = std::vector<uint8_t>(256, 3)});
  runner_.CarryOut(std::move(effects), Instant());
  ASSERT_EQ(ports_.steps.size(), 1u);
  const auto& failed = std::get<mad::IncomingMad>(ports_.steps[0]);
  EXPECT_EQ(failed.kind, mad::IncomingMad::Kind::kSendFailed);
  EXPECT_EQ(failed.from.lid, Lid(7));
  EXPECT_EQ(failed.payload, std::vector<uint8_t>(256, 3));
  EXPECT_THAT(ports_.calls,
              ElementsAre("IsSM true", "log IsSM: no room", "send 256", "log send: no room"));
}

TEST_F(EffectRunnerTest, RecordsAreWrittenInTheStoresQueue) {
  Ask(1, sweep::PersistLids{{{Guid(5), Lid(3), 0}}});
  EXPECT_THAT(ports_.answers, IsEmpty());
  EXPECT_EQ(ports_.Run(Queue::kStore), 1u);
  ASSERT_THAT(ports_.AnsweredIds(), ElementsAre(1));
  EXPECT_TRUE(std::get<sweep::Persisted>(ports_.answers[0].what).status.ok());
  EXPECT_THAT(*store_.LoadLids(), ElementsAre(fabric::LidRecord{Guid(5), Lid(3), 0, 7}));
}

TEST_F(EffectRunnerTest, AFullStoreIsAnsweredAtOnce) {
  ports_.is_full[Queue::kStore] = true;
  Ask(1, sweep::PersistLids{}, sweep::PersistHolds{}, sweep::PersistPartitions{});
  ASSERT_EQ(ports_.steps.size(), 3u);
  for (const sweep::Event& step : ports_.steps)
    EXPECT_EQ(std::get<sweep::Persisted>(std::get<sweep::Answer>(step).what).status.code(),
              absl::StatusCode::kUnavailable);
}

TEST_F(EffectRunnerTest, AFullQueueOfComputingIsAnsweredAtOnceWithoutAResult) {
  ports_.is_full[Queue::kCompute] = ports_.is_full[Queue::kUrgent] = true;
  Ask(1, sweep::OrderTables{});
  EXPECT_TRUE(GivenAtOnce<sweep::TablesOrdered>().push.writes.empty());
  Ask(2, sweep::ComputeTrees{});
  EXPECT_EQ(GivenAtOnce<sweep::TreesReady>().plan, nullptr);
  Ask(3, sweep::EvaluateIntent{});
  EXPECT_FALSE(GivenAtOnce<sweep::IntentEvaluated>().consequences.plan_found);
  Ask(4, Plan(), Cables());
  ASSERT_EQ(ports_.steps.size(), 5u);
  EXPECT_EQ(std::get<sweep::PlanReady>(std::get<sweep::Answer>(ports_.steps[3]).what).result.after,
            nullptr);
  EXPECT_THAT(GivenAtOnce<sweep::CablesChecked>().problems, IsEmpty());
  EXPECT_EQ(std::get<sweep::Answer>(ports_.steps[4]).id, QuestionId(5));
}

TEST_F(EffectRunnerTest, AWaitingPlanIsAnsweredAtOnceWhenANewerOneTakesItsPlace) {
  Ask(1, Plan(), Cables());
  Ask(3, Plan());
  ASSERT_EQ(ports_.steps.size(), 2u);
  EXPECT_EQ(std::get<sweep::Answer>(ports_.steps[0]).id, QuestionId(1));
  EXPECT_EQ(std::get<sweep::Answer>(ports_.steps[1]).id, QuestionId(2));
  EXPECT_THAT(GivenAtOnce<sweep::CablesChecked>().problems, IsEmpty());
  EXPECT_EQ(ports_.Run(Queue::kCompute), 1u);
  ASSERT_THAT(ports_.AnsweredIds(), ElementsAre(3));
  EXPECT_FALSE(std::get<sweep::PlanReady>(ports_.answers[0].what).result.steps.empty());
}

TEST_F(EffectRunnerTest, APlanThatANewerOneOfTheOtherQueueHasMadeVoidIsNotMade) {
  Ask(1, Plan());
  Ask(2, Plan(/*urgent=*/true));
  EXPECT_EQ(ports_.Run(Queue::kCompute), 1u);
  ASSERT_THAT(ports_.AnsweredIds(), ElementsAre(1));
  EXPECT_THAT(std::get<sweep::PlanReady>(ports_.answers[0].what).result.steps, IsEmpty());
}

TEST_F(EffectRunnerTest, PlansMadeVoidDoNotFillTheQueue) {
  for (uint64_t id = 1; id <= 100; ++id) Ask(id, Plan());
  EXPECT_EQ(ports_.queues[Queue::kCompute].size(), 1u);
}

TEST_F(EffectRunnerTest, CablesAreCheckedBehindThePlanOfTheSameQueue) {
  Ask(1, Plan(), Cables());
  EXPECT_EQ(ports_.Run(Queue::kCompute), 1u);
  EXPECT_THAT(ports_.AnsweredIds(), ElementsAre(1, 2));
}

TEST_F(EffectRunnerTest, CablesBehindUrgentPlansAreCheckedOnceInTheOtherQueue) {
  Ask(1, Plan(/*urgent=*/true), Cables());
  EXPECT_EQ(ports_.Run(Queue::kUrgent), 1u);
  Ask(3, Plan(/*urgent=*/true), Cables());
  EXPECT_EQ(ports_.Run(Queue::kUrgent), 1u);
  EXPECT_THAT(ports_.AnsweredIds(), ElementsAre(1, 3, 2)) << "the older check is void";
  EXPECT_EQ(ports_.Run(Queue::kCompute), 1u);
  EXPECT_THAT(ports_.AnsweredIds(), ElementsAre(1, 3, 2, 4));
}

TEST_F(EffectRunnerTest, CablesThatFindTheOtherQueueFullAreAnsweredAllTheSame) {
  ports_.is_full[Queue::kCompute] = true;
  Ask(1, Plan(/*urgent=*/true), Cables());
  EXPECT_EQ(ports_.Run(Queue::kUrgent), 1u);
  EXPECT_THAT(ports_.AnsweredIds(), ElementsAre(1, 2));
}

TEST_F(EffectRunnerTest, CablesWhosePlanWasDroppedAreChecked) {
  Ask(1, Cables());
  EXPECT_EQ(ports_.Run(Queue::kCompute), 1u);
  EXPECT_THAT(ports_.AnsweredIds(), ElementsAre(1));
}

}  // namespace
}  // namespace fabricd::shell
