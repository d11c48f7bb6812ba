// SPDX-License-Identifier: Apache-2.0
// Switches on which another manager has left adaptive routing on: they forward by its tables
// whatever their LFT shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"
#include "tests/support/shared_state.h"

namespace fabricd::test {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::Field;
using testing::IsEmpty;
using testing::Not;

class AdaptiveLeftOn : public testing::Test {
 protected:
  // A manager that brings the fabric up, leaves tables of its own behind the LFTs of all leaves
  // that lead nowhere, and ends.
  AdaptiveLeftOn() : harness_(**sim::Generate("superpod:sus=2,hosts=4,rails=2")) {
    harness_.fabric().SetPerformanceOfAll({.family = sim::PerformanceFamily::kQuantum2});
    const size_t other = harness_.Add({});
    harness_.Start(other);
    EXPECT_TRUE(harness_.RunUntilUp(other)) << LogOf(harness_.manager(other));
    harness_.Kill(other);
    harness_.RunFor(seconds(1));
    harness_.manager(other).view->snapshot->ForEachNode([&](const fabric::Node& node) {
      if (node.IsSwitch() && leaves_.size() < 2)
        leaves_.push_back(*harness_.fabric().FindNode(node.description));
    });
  }
  // The links that the shadow tables were made for are gone.
  void LeaveOn(sim::ShadowLft mode) {
    for (const NodeIndex leaf : leaves_) harness_.fabric().SetAdaptiveRouting(leaf, mode);
  }
  // Packets of the leaves' shadow tables take a path that is cut, while the LFT is right.
  void CutOneUplink() {
    auto& fabric = harness_.fabric();
    const sim::SimDevice& leaf = *fabric.device(leaves_[0]);
    for (const PortNum port : leaf.LinkPorts()) {
      const PortRef peer = fabric.LinkedPeer({leaves_[0], port});
      if (peer.IsNone() || !fabric.device(peer.node)->IsSwitch()) continue;
      ASSERT_TRUE(fabric.Unlink(harness_.now(), {leaves_[0], port}).ok());
      return;
    }
    FAIL() << "it has no uplink";
  }
  size_t TakeOver(sweep::CoreOptions options = {}) {
    return Start(harness_.Add(std::move(options)));
  }
  size_t Start(size_t sm) {
    harness_.Start(sm);
    harness_.RunFor(seconds(8));
    return sm;
  }
  auto SaysSo() {
    return Contains(Field(&sweep::Problem::kind, sweep::ProblemKind::kAdaptiveRouting));
  }
  uint64_t LftSets() {
    return harness_.fabric().stats().smps.at(wire::AttributeId::kLinearForwardingTable).sets;
  }

  sim::Simulation harness_;
  std::vector<NodeIndex> leaves_;
};

TEST_F(AdaptiveLeftOn, EveryBlockIsWrittenOnceAndTheSubnetIsNotUp) {
  LeaveOn(sim::ShadowLft::kUntilWritten);
  CutOneUplink();
  harness_.fabric().ResetStats();
  const size_t sm = TakeOver();
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty()) << "it forwards by what was written";
  const auto& manager = harness_.manager(sm);
  EXPECT_FALSE(manager.core->subnet_up());
  EXPECT_THAT(manager.view->problems, SaysSo());
  // Not again, by later sweeps and reroutes.
  harness_.RunFor(seconds(60));
  harness_.fabric().ResetStats();
  harness_.Post(sm, sweep::SweepCommand{1, true});
  harness_.RunFor(seconds(120));
  EXPECT_EQ(harness_.fabric().stats().sets(), 0u);
  EXPECT_FALSE(manager.core->subnet_up());
}

TEST_F(AdaptiveLeftOn, UntouchedTablesAreWrittenTooAlthoughTheyReadAsWanted) {
  LeaveOn(sim::ShadowLft::kUntilWritten);
  harness_.fabric().ResetStats();
  TakeOver();
  EXPECT_EQ(LftSets(), leaves_.size()) << "one block each";
}

TEST_F(AdaptiveLeftOn, ASwitchThatNeverStopsIsReportedUntilItIsSwitchedOff) {
  LeaveOn(sim::ShadowLft::kForever);
  CutOneUplink();
  const size_t sm = TakeOver();
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), Not(IsEmpty()))
      << "there is no remedy from here";
  const auto& manager = harness_.manager(sm);
  EXPECT_FALSE(manager.core->subnet_up());
  EXPECT_THAT(manager.view->problems, SaysSo());
  LeaveOn(sim::ShadowLft::kNone);
  harness_.RunFor(seconds(30));
  EXPECT_THAT(manager.view->problems, Not(SaysSo()));
  EXPECT_TRUE(manager.core->subnet_up());
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
}

TEST_F(AdaptiveLeftOn, ItCanBeAccepted) {
  LeaveOn(sim::ShadowLft::kForever);
  sweep::CoreOptions options;
  options.sweep.accept_foreign_ar = true;
  const size_t sm = TakeOver(options);
  EXPECT_TRUE(harness_.manager(sm).core->subnet_up());
  EXPECT_THAT(harness_.manager(sm).view->problems, SaysSo());
}

TEST_F(AdaptiveLeftOn, AnObserverReportsTheSwitches) {
  LeaveOn(sim::ShadowLft::kForever);
  sweep::CoreOptions options;
  options.sm.mode = SmMode::kObserve;
  const size_t sm = TakeOver(options);
  std::vector<Guid> guids;
  for (const NodeIndex leaf : leaves_) guids.push_back(harness_.fabric().device(leaf)->guid());
  const auto report = harness_.manager(sm).view->takeover;
  ASSERT_NE(report, nullptr);
  EXPECT_THAT(report->adaptive_routing, testing::UnorderedElementsAreArray(guids));
}

// Where the state is shared, the predecessor confirms the tables. Only who has read one knows that
// adaptive routing is off.
TEST_F(AdaptiveLeftOn, ASwitchWhoseTableWasOnlyComputedIsAsked) {
  const auto takes_over = [this](bool has_read) {
    const auto vouched = TablesOf(*harness_.manager(0).view);
    for (const auto& [guid, row] : vouched->rows)
      if (!has_read) vouched->computed.push_back(guid);
    std::sort(vouched->computed.begin(), vouched->computed.end());
    sweep::CoreOptions options;
    options.sm.shares_state = true;
    const size_t sm = harness_.Add(options);
    sim::Manager& manager = harness_.manager(sm);
    GiveState(harness_.manager(0), manager);
    manager.store.set_claim(store::Store::Claimed{.continues = true});
    manager.vouched = vouched;
    Start(sm);
    harness_.Kill(sm);
    return sm;
  };
  LeaveOn(sim::ShadowLft::kForever);
  EXPECT_THAT(harness_.manager(takes_over(/*has_read=*/true)).view->problems, Not(SaysSo()));
  EXPECT_THAT(harness_.manager(takes_over(/*has_read=*/false)).view->problems, SaysSo());
}

TEST_F(AdaptiveLeftOn, ASwitchThatIsNotAskedCostsNothing) {
  harness_.fabric().SetPerformanceOfAll({});  // Without these attributes.
  const size_t sm = TakeOver();
  EXPECT_TRUE(harness_.manager(sm).core->subnet_up());
  EXPECT_THAT(harness_.manager(sm).view->problems, IsEmpty());
}

}  // namespace
}  // namespace fabricd::test
