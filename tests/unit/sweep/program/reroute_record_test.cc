// SPDX-License-Identifier: Apache-2.0
#include "sweep/program/reroute_record.h"

#include "tests/unit/sweep/write/writer_fixture.h"

namespace fabricd::sweep {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class RerouteRecordTest : public WriterTest {
 protected:
  static Instant At(Duration time) { return Instant(100s) + time; }
  // What the engine had sent by then.
  static mad::EngineStatistics Sent(uint64_t count) {
    mad::EngineStatistics statistics;
    statistics.attributes[wire::AttributeId::kPortInfo].get.sent = count;
    return statistics;
  }
  void Begin() { reroute_.Begin("trap 128", "leaf1/5", At(0ms), At(4ms), Sent(10)); }
  std::optional<fabric::FabricEvent> Finish(bool superseded = false, uint64_t sent = 25) {
    input_.desired.snapshot = fabric_.builder.Build();
    const Programmer programmer(input_, fabric_.builder, devices_, engine_, problems_, options_);
    return reroute_.Finish(programmer, superseded, At(30ms), Sent(sent));
  }
  RerouteRecord reroute_;
};

TEST_F(RerouteRecordTest, MakesOneEventWithTimesAndCosts) {
  Begin();
  reroute_.OnPlan("rail", /*provisional=*/true, At(9ms));
  routing::PushPlan push;
  push.waves = 3;
  push.writes = {{NodeIndex(0), 0, 0, 0, 0b11, false},
                 {NodeIndex(1), 0, 0, 1, 0b110, false},
                 {NodeIndex(0), 4, 0, 0, 0b1, false}};
  EXPECT_EQ(reroute_.OnOrder(push, At(10ms)), std::nullopt);
  const auto event = Finish();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->type, "RerouteCompleted");
  EXPECT_EQ(event->severity, fabric::Severity::kInfo);
  EXPECT_EQ(event->subject, "leaf1/5");
  EXPECT_EQ(event->at, At(30ms));
  EXPECT_THAT(event->message, HasSubstr("trap 128: 0 blocks on 0 switches in 30.0 ms (found after "
                                        "4.0, planned after 9.0), 15 SMPs"));
  ASSERT_TRUE(event->reroute.has_value());
  EXPECT_EQ(event->reroute->destinations_changed, 4u) << "LIDs, whatever number of switches";
  EXPECT_EQ(event->reroute->waves, 3u);
  EXPECT_EQ(event->reroute->smps_sent, 15u);
  EXPECT_EQ(event->reroute->surveyed, Duration(4ms));
  EXPECT_EQ(event->reroute->planned, Duration(9ms));
  EXPECT_EQ(event->reroute->applied, Duration(30ms));
  EXPECT_EQ(Finish(), std::nullopt) << "it is closed";
}

TEST_F(RerouteRecordTest, ASupersededOneSaysSo) {
  Begin();
  const auto event = Finish(/*superseded=*/true);
  EXPECT_TRUE(event->reroute->superseded);
  EXPECT_THAT(event->message, HasSubstr("superseded, 0 blocks"));
  EXPECT_THAT(event->message, HasSubstr("no plan"));
}

TEST_F(RerouteRecordTest, ThePlansEngineIsNamedAsItIs) {
  Begin();
  reroute_.OnPlan("fat_tree", /*provisional=*/false, At(9ms));
  EXPECT_EQ(Finish()->reroute->engine, "fat_tree");
}

TEST_F(RerouteRecordTest, FailedWritesMakeItAWarning) {
  Begin();
  input_.desired.snapshot = fabric_.builder.Build();
  EditSwitch(0, [](wire::SwitchInfo& info) { info.linear_fdb_cap = 0; });
  input_.desired.snapshot = fabric_.builder.Build();
  Programmer programmer(input_, fabric_.builder, devices_, engine_, problems_, options_);
  programmer.Start();
  programmer.Feed();
  std::vector<mad::OutgoingMad> out;
  for (int second = 0; second < 60; ++second) {  // Nothing answers.
    std::vector<mad::Completion> done;
    engine_.Pump(At(std::chrono::seconds(second)), out, done);
    for (const mad::Completion& each : done) programmer.OnCompletion(each);
    programmer.Feed();
  }
  ASSERT_GT(programmer.failures(), 0u);
  const auto event = reroute_.Finish(programmer, false, At(30ms), Sent(25));
  EXPECT_EQ(event->severity, fabric::Severity::kWarning);
  EXPECT_THAT(event->message, HasSubstr("writes failed"));
}

TEST_F(RerouteRecordTest, PathsThatAreInterruptedAreReportedBeforeTheyAre) {
  routing::PushPlan push;
  push.hitless = false;
  push.paths_interrupted = 12;
  push.destinations_interrupted = 3;
  push.why_not = "two orders";
  const auto event = reroute_.OnOrder(push, At(1ms));
  ASSERT_TRUE(event.has_value()) << "whether a reroute is recorded or not";
  EXPECT_EQ(event->type, "PathsInterrupted");
  EXPECT_EQ(event->severity, fabric::Severity::kWarning);
  EXPECT_EQ(event->message, "12 paths to 3 destinations are interrupted: two orders");
  EXPECT_THAT(event->facts, testing::ElementsAre(testing::Pair("destinations", "3"),
                                                 testing::Pair("paths", "12")));
}

TEST_F(RerouteRecordTest, WithoutABeginNothingIsRecorded) {
  reroute_.OnPlan("rail", false, At(9ms));
  EXPECT_EQ(Finish(), std::nullopt);
  Begin();
  reroute_.Drop();
  EXPECT_EQ(Finish(), std::nullopt);
}

}  // namespace
}  // namespace fabricd::sweep
