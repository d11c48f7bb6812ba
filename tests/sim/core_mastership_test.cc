// SPDX-License-Identifier: Apache-2.0
// Operators move the mastership between two fabricds in one subnet: by stepping down, by priority.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/join.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using testing::IsEmpty;
using wire::SmState;

class CoreMastership : public testing::Test {
 protected:
  // `polling`: between the standby's polls.
  explicit CoreMastership(Duration polling = sweep::SmOptions().polling_timeout)
      : harness_(**sim::Generate("superpod:sus=1,hosts=4,rails=2")), polling_(polling) {
    first_ = Join("node0001 mlx5_0", 5);
    EXPECT_TRUE(harness_.RunUntilUp(first_)) << LogOf(harness_.manager(first_));
    second_ = Join("node0002 mlx5_0", 3);
    EXPECT_TRUE(harness_.RunUntil([&] { return State(second_) == SmState::kStandby; }));
    // The master knows of it, and that it stands by.
    EXPECT_TRUE(harness_.RunUntil([&] {
      const auto& remote = harness_.manager(first_).view->sm.remote;
      return !remote.empty() && remote[0].state == SmState::kStandby && IsUp(first_);
    }));
  }
  size_t Join(const std::string& host, uint8_t priority) {
    sweep::CoreOptions options;
    options.sm.priority = priority;
    options.sm.polling_timeout = polling_;
    return test::Join(harness_, host, options);
  }
  SmState State(size_t sm) { return harness_.manager(sm).core->sm_state(); }
  bool IsUp(size_t sm) { return harness_.manager(sm).core->subnet_up(); }
  // Until the mastership has gone over from one to the other, who says that the subnet is up; who
  // gave it away was master no longer when that was so.
  ::testing::AssertionResult GoesOver(size_t from, size_t to, Duration limit) {
    bool both = false;
    const bool went = harness_.RunUntil(
        [&] {
          both |= State(from) == SmState::kMaster && IsUp(to);
          return State(from) == SmState::kStandby && State(to) == SmState::kMaster && IsUp(to);
        },
        limit);
    if (!went) return ::testing::AssertionFailure() << LogOf(harness_.manager(from));
    if (both) return ::testing::AssertionFailure() << "both were masters at a time";
    return ::testing::AssertionSuccess();
  }
  const sweep::FinishedCommand* Answer(size_t sm, uint64_t command) {
    for (const auto& each : harness_.manager(sm).finished)
      if (each.command == command) return &each;
    return nullptr;
  }
  // What the devices hold: of each port its LID.
  std::map<PortRef, Lid> Lids() {
    std::map<PortRef, Lid> lids;
    for (uint32_t i = 0; i < harness_.fabric().node_index_end(); ++i) {
      const sim::SimDevice* device = harness_.fabric().device(NodeIndex(i));
      if (device == nullptr) continue;
      for (uint8_t num = 0; device->HasPort(PortNum(num)); ++num)
        lids[{NodeIndex(i), PortNum(num)}] = device->port(PortNum(num)).info.lid;
    }
    return lids;
  }
  void LoseTraps() {
    harness_.manager(first_).tamper = [](mad::IncomingMad& mad) {
      const auto smp = wire::Smp::Decode(
          std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
      return !smp || smp->method != wire::Method::kTrap;
    };
  }
  uint64_t TableSets() {
    return harness_.fabric().stats().Of(wire::AttributeId::kLinearForwardingTable).sets;
  }

  sim::Simulation harness_;
  const Duration polling_;
  size_t first_ = 0, second_ = 0;
};

TEST_F(CoreMastership, SteppingDownAndBackKeepsLidsAndTables) {
  const auto lids = Lids();
  harness_.fabric().ResetStats();
  harness_.Post(first_, sweep::StepDown{71});
  ASSERT_TRUE(GoesOver(first_, second_, std::chrono::seconds(5)));
  const auto* down = Answer(first_, 71);
  ASSERT_NE(down, nullptr);
  ASSERT_TRUE(down->status.ok()) << down->status;
  EXPECT_EQ(down->mastership->before, 5);
  EXPECT_LE(harness_.manager(first_).view->sm.priority, 3);
  EXPECT_EQ(harness_.manager(first_).view->sm.priority, down->mastership->priority);

  // It does not come back by itself.
  harness_.RunFor(std::chrono::seconds(60));
  EXPECT_EQ(State(first_), SmState::kStandby);
  EXPECT_EQ(State(second_), SmState::kMaster);
  EXPECT_EQ(Lids(), lids);
  EXPECT_EQ(TableSets(), 0u);

  // Its trap tells the master, which otherwise looked only every ten seconds.
  harness_.Post(first_, sweep::SetPriority{72, 5});
  ASSERT_TRUE(GoesOver(second_, first_, std::chrono::seconds(3)))
      << LogOf(harness_.manager(second_));
  EXPECT_TRUE(Answer(first_, 72)->status.ok());
  harness_.RunFor(std::chrono::seconds(30));
  EXPECT_EQ(State(second_), SmState::kStandby);
  EXPECT_EQ(Lids(), lids);
  EXPECT_EQ(TableSets(), 0u);
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
  EXPECT_THAT(sim::LidFaults(harness_.fabric()), IsEmpty());
}

TEST_F(CoreMastership, AMasterOfALowerPriorityHandsOver) {
  harness_.Post(first_, sweep::SetPriority{1, 2});
  ASSERT_TRUE(GoesOver(first_, second_, std::chrono::seconds(5)));
  EXPECT_EQ(Answer(first_, 1)->mastership->successor->guid,
            harness_.manager(second_).view->sm.guid);
}

// The master probes the sender.
TEST_F(CoreMastership, WithoutTraps144TheMasterDetectsThePriorityByAPollOfTheStandby) {
  LoseTraps();
  harness_.Post(second_, sweep::SetPriority{1, 9});
  EXPECT_TRUE(GoesOver(first_, second_, std::chrono::seconds(3)));
}

class CoreSeldomPolls : public CoreMastership {
 protected:
  CoreSeldomPolls() : CoreMastership(std::chrono::minutes(1)) {}
};

TEST_F(CoreSeldomPolls, WithoutTraps144TheMasterDetectsThePriorityByALightSweep) {
  LoseTraps();
  harness_.Post(second_, sweep::SetPriority{1, 9});
  EXPECT_FALSE(GoesOver(first_, second_, std::chrono::seconds(3)));
  EXPECT_TRUE(GoesOver(first_, second_, std::chrono::seconds(12)));
}

TEST_F(CoreMastership, AReloadRestoresTheConfiguredPriority) {
  harness_.Post(first_, sweep::StepDown{1});
  ASSERT_TRUE(GoesOver(first_, second_, std::chrono::seconds(5)));
  harness_.Post(first_, sweep::OptionsChanged{harness_.manager(first_).options});
  EXPECT_TRUE(GoesOver(second_, first_, std::chrono::seconds(3)));
}

TEST_F(CoreMastership, SteppingDownToADeadStandbyKeepsTheMaster) {
  harness_.Kill(second_);
  harness_.Post(first_, sweep::StepDown{1});
  ASSERT_TRUE(harness_.RunUntil([&] { return Answer(first_, 1) != nullptr; }));
  EXPECT_EQ(Answer(first_, 1)->status.code(), absl::StatusCode::kAborted);
  ASSERT_TRUE(harness_.RunUntilUp(first_)) << LogOf(harness_.manager(first_));
  EXPECT_EQ(harness_.manager(first_).view->sm.priority, 5);
  // Now it is known that nobody is there.
  harness_.Post(first_, sweep::StepDown{2});
  ASSERT_TRUE(harness_.RunUntil([&] { return Answer(first_, 2) != nullptr; }));
  EXPECT_EQ(Answer(first_, 2)->status.code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace fabricd::test
