// SPDX-License-Identifier: Apache-2.0
// An incremental repair that was kept, and the next master: a restart, or another node with
// the same durable state, leaves it as it is.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rng.h"
#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"
#include "tests/support/shared_state.h"

namespace fabricd::test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kPutOff[] = "stays until something changes";

class CoreAdoption : public testing::Test {
 protected:
  // One VL of a torus is nearly full, so that the path back to the ideal plan is often not free.
  CoreAdoption() : harness_(**sim::Generate("torus:dims=5x5,hosts=1")) {
    const auto hosts = harness_.fabric().ListCables();
    for (const sim::SimCable& cable : hosts) {
      const auto& fabric = harness_.fabric();
      const NodeIndex a = *fabric.FindNode(cable.a.node), b = *fabric.FindNode(cable.b.node);
      if (fabric.device(a)->IsSwitch() && fabric.device(b)->IsSwitch())
        cables_.push_back({a, cable.a.port});
      else
        hosts_.push_back(fabric.device(a)->IsSwitch() ? PortRef{b, cable.b.port}
                                                      : PortRef{a, cable.a.port});
    }
    first_ = Add(hosts_[0]);
    harness_.Start(first_);
    EXPECT_TRUE(harness_.RunUntilUp(first_)) << LogOf(manager(first_));
  }
  size_t Add(PortRef host) {
    sweep::CoreOptions options;
    options.routing.chain = {"layered"};
    options.sm.shares_state = true;
    return harness_.Add(options, host);
  }
  sim::Manager& manager(size_t sm) { return harness_.manager(sm); }

  // Cables go down and come back until the ideal plan is put off.
  void LiveThroughFaults() {
    for (uint64_t seed = 1; seed < 40; ++seed) {
      manager(first_).log.clear();
      Rng rng(seed);
      std::vector<PortRef> cut;
      for (int i = 0; i < 3; ++i) {
        cut.push_back(cables_[rng.Below(cables_.size())]);
        (void)harness_.fabric().Unlink(harness_.now(), cut.back());
        harness_.RunFor(seconds(2));
      }
      harness_.RunFor(seconds(12));
      for (const PortRef end : cut) (void)harness_.fabric().Link(harness_.now(), end);
      harness_.RunFor(seconds(60));
      ASSERT_TRUE(harness_.RunUntilUp(first_)) << LogOf(manager(first_));
      if (LogOf(manager(first_)).find(kPutOff) != std::string::npos) return;
    }
    FAIL() << "the ideal plan is never put off";
  }
  void GiveStateAndClaim(size_t from, size_t to) {
    GiveState(manager(from), manager(to));
    manager(to).store.set_claim(store::Store::Claimed{/*continues=*/true});
  }
  // Until well after the time at which the ideal plan is computed again.
  void StartNext(size_t sm) {
    manager(sm).log.clear();
    manager(sm).events.clear();
    harness_.fabric().ResetStats();
    harness_.Start(sm);
    ASSERT_TRUE(harness_.RunUntilUp(sm)) << LogOf(manager(sm));
    harness_.RunFor(seconds(30));
    EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
  }
  uint64_t TableSets() {
    return harness_.fabric().stats().Of(wire::AttributeId::kLinearForwardingTable).sets;
  }
  size_t Interruptions(size_t sm) {
    const auto& events = manager(sm).events;
    return static_cast<size_t>(std::count_if(events.begin(), events.end(), [](const auto& event) {
      return event.type == "PathsInterrupted";
    }));
  }

  sim::Simulation harness_;
  std::vector<PortRef> cables_, hosts_;  // Between switches; of hosts.
  size_t first_ = 0;
};

TEST_F(CoreAdoption, ARestartWritesNoTable) {
  LiveThroughFaults();
  harness_.Kill(first_);
  StartNext(first_);
  EXPECT_EQ(TableSets(), 0u) << LogOf(manager(first_));
  EXPECT_EQ(Interruptions(first_), 0u);
  EXPECT_THAT(LogOf(manager(first_)), HasSubstr(kPutOff));
}

TEST_F(CoreAdoption, ANodeWithTheSameStateWritesNoTable) {
  LiveThroughFaults();
  harness_.Kill(first_);
  const size_t second = Add(hosts_[7]);
  GiveStateAndClaim(first_, second);
  StartNext(second);
  EXPECT_EQ(TableSets(), 0u) << LogOf(manager(second));
  EXPECT_EQ(Interruptions(second), 0u);
  EXPECT_THAT(LogOf(manager(second)), HasSubstr(kPutOff));
}

TEST_F(CoreAdoption, TablesThatThePredecessorVouchesForAreNotReadEither) {
  LiveThroughFaults();
  const auto vouched = TablesOf(*manager(first_).view);
  harness_.Kill(first_);
  const size_t second = Add(hosts_[7]);
  GiveStateAndClaim(first_, second);
  manager(second).vouched = vouched;
  StartNext(second);
  EXPECT_EQ(TableSets(), 0u) << LogOf(manager(second));
  EXPECT_THAT(LogOf(manager(second)), HasSubstr(kPutOff));
}

TEST_F(CoreAdoption, AnotherManagerRoutesAsItWould) {
  LiveThroughFaults();
  harness_.Kill(first_);
  const size_t second = Add(hosts_[7]);
  StartNext(second);
  EXPECT_GT(TableSets(), 0u);
  EXPECT_THAT(LogOf(manager(second)), Not(HasSubstr(kPutOff)));
}

TEST_F(CoreAdoption, OtherRoutingOptionsAreFollowed) {
  LiveThroughFaults();
  harness_.Kill(first_);
  manager(first_).options.routing.balance = routing::BalancePolicy::kShift;
  StartNext(first_);
  EXPECT_GT(TableSets(), 0u);
  EXPECT_THAT(LogOf(manager(first_)), Not(HasSubstr(kPutOff)));
  // By then they are those of the tables.
  harness_.Kill(first_);
  StartNext(first_);
  EXPECT_EQ(TableSets(), 0u) << LogOf(manager(first_));
}

// A cable is lost while there is no master.
TEST_F(CoreAdoption, ALostCableIsRoutedAroundByAnIncrementalRepair) {
  LiveThroughFaults();
  harness_.Kill(first_);
  ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), cables_[11]).ok());
  StartNext(first_);
  EXPECT_GT(TableSets(), 0u);
  EXPECT_EQ(Interruptions(first_), 0u) << LogOf(manager(first_));
}

}  // namespace
}  // namespace fabricd::test
