// SPDX-License-Identifier: Apache-2.0
// Managers that share their durable state: the right to be master, a master that does not respond,
// and clients that need not register again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "common/status.h"
#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"
#include "tests/support/set_watch.h"
#include "tests/support/shared_state.h"

namespace fabricd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::IsEmpty;
using wire::SmState;

class CoreClaim : public testing::Test {
 protected:
  explicit CoreClaim(const char* fabric = "superpod:sus=1,hosts=4,rails=2",
                     const sim::SimOptions& options = {})
      : harness_(**sim::Generate(fabric), options) {
    harness_.fabric().SetObserver(&watch_);
  }
  size_t Add(const std::string& host, SmMode mode = SmMode::kManage) {
    const auto port = harness_.fabric().FindHostPort(host);
    EXPECT_TRUE(port.ok()) << port.status();
    sweep::CoreOptions options;
    options.sm.mode = mode;
    options.sm.shares_state = true;
    return harness_.Add(options, *port);
  }
  sim::Manager& manager(size_t sm) { return harness_.manager(sm); }
  size_t Sets() const { return watch_.others.size() + watch_.reregisters.size(); }
  uint64_t TableGets() {
    return harness_.fabric().stats().Of(wire::AttributeId::kLinearForwardingTable).gets;
  }
  // What a reader knows of the port of the master when polls get no response: it hangs, or nothing
  // reaches the reader. nullopt: the polls go on.
  std::optional<bool> DoesPortRespond(bool hangs) {
    const size_t first = Add("node0001 mlx5_0");
    const size_t second = Add("node0002 mlx5_0", SmMode::kStandby);
    harness_.Start(first);
    EXPECT_TRUE(harness_.RunUntilUp(first));
    harness_.Start(second);
    harness_.RunFor(seconds(10));
    const auto& sm = [&]() -> const auto& { return manager(second).view->sm; };
    EXPECT_EQ(sm().watched_master, sweep::WatchedMaster::kThere);
    manager(hangs ? first : second).tamper = [](const mad::IncomingMad& mad) {
      return mad.kind != mad::IncomingMad::Kind::kReceived;
    };
    const auto is_lost = [&] { return sm().watched_master == sweep::WatchedMaster::kUnresponsive; };
    // Responses that are dropped here are not reported as timeouts: each attempt lasts a second
    // more.
    if (!harness_.RunUntil(is_lost, seconds(12))) return std::nullopt;
    return sm().watched_port_responds;
  }
  // Kills the master, and has `second` take its place; how many ports it has asked to register.
  size_t ReregisteredAfterTakeover(bool continues) {
    const size_t first = Add("node0001 mlx5_0"), second = Add("node0002 mlx5_0");
    harness_.Start(first);
    EXPECT_TRUE(harness_.RunUntilUp(first)) << LogOf(manager(first));
    harness_.Kill(first);
    GiveState(manager(first), manager(second));
    if (another_rules_) LetAnotherRule(first);
    manager(second).store.set_claim(store::Store::Claimed{continues});
    manager(second).vouched = vouched_;
    watch_ = SetWatch();
    harness_.fabric().ResetStats();
    harness_.Start(second);
    if (cable_changes_) {
      for (int i = 0; i < 200; ++i) FlapCable();
    }
    EXPECT_TRUE(harness_.RunUntilUp(second)) << LogOf(manager(second));
    if (cable_changes_) harness_.RunFor(seconds(2));
    EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
    return watch_.reregisters.size();
  }
  // One between two switches.
  void FlapCable() {
    sim::SimFabric& fabric = harness_.fabric();
    for (const sim::SimCable& cable : fabric.ListCables()) {
      const auto a = fabric.FindNode(cable.a.node), b = fabric.FindNode(cable.b.node);
      if (!fabric.device(*a)->IsSwitch() || !fabric.device(*b)->IsSwitch()) continue;
      EXPECT_TRUE(fabric.Unlink(harness_.now(), {*a, cable.a.port}).ok());
      harness_.RunFor(std::chrono::microseconds(500));
      EXPECT_TRUE(fabric.Link(harness_.now(), {*a, cable.a.port}).ok());
      harness_.RunFor(std::chrono::microseconds(500));
      return;
    }
    ADD_FAILURE() << "no such cable";
  }
  // Another subnet manager was master after `first`, and knew other clients.
  void LetAnotherRule(size_t first) {
    const size_t other = Add("node0003 mlx5_0");
    GiveState(manager(first), manager(other));
    harness_.Start(other);
    EXPECT_TRUE(harness_.RunUntilUp(other)) << LogOf(manager(other));
    harness_.Kill(other);
  }

  SetWatch watch_;
  sim::Simulation harness_;
  bool another_rules_ = false;
  bool cable_changes_ = false;  // Within the takeover.
  std::shared_ptr<const sweep::SwitchTables> vouched_;
};

TEST_F(CoreClaim, NothingIsWrittenUntilTheClaimIsGranted) {
  const size_t sm = Add("node0001 mlx5_0");
  manager(sm).store.set_claim(FailedPrecondition("another fabricd has written"));
  harness_.Start(sm);
  harness_.RunFor(seconds(10));
  EXPECT_EQ(Sets(), 0u);
  EXPECT_EQ(manager(sm).core->sm_state(), SmState::kDiscovering);
  EXPECT_THAT(LogOf(manager(sm)), testing::HasSubstr("another fabricd has written"));
  manager(sm).store.set_claim(store::Store::Claimed());
  EXPECT_TRUE(harness_.RunUntilUp(sm)) << LogOf(manager(sm));
}

TEST_F(CoreClaim, AReaderNoticesThatItsMasterIsUnresponsive) {
  const size_t first = Add("node0001 mlx5_0");
  const size_t second = Add("node0002 mlx5_0", SmMode::kStandby);
  harness_.Start(first);
  ASSERT_TRUE(harness_.RunUntilUp(first));
  harness_.Start(second);
  const auto is_unresponsive = [&] {
    const auto& view = manager(second).view;
    return view != nullptr && view->sm.watched_master == sweep::WatchedMaster::kUnresponsive;
  };
  // Its own sweeps do not make it doubt.
  EXPECT_FALSE(harness_.RunUntil(is_unresponsive, seconds(200)));
  harness_.Kill(first);
  EXPECT_TRUE(harness_.RunUntil(is_unresponsive, seconds(3)));
}

TEST_F(CoreClaim, AReaderKnowsThatThePortOfAMasterThatHangsResponds) {
  EXPECT_EQ(DoesPortRespond(/*hangs=*/true), true);
}

TEST_F(CoreClaim, AReaderDoubtsItsPollsWhereNoResponsesReachIt) {
  EXPECT_EQ(DoesPortRespond(/*hangs=*/false), false);
}

TEST_F(CoreClaim, AReaderWatchesOneThatIsAboutToBecomeMaster) {
  const size_t first = Add("node0001 mlx5_0");
  const size_t second = Add("node0002 mlx5_0", SmMode::kStandby);
  manager(first).store.set_claim(FailedPrecondition("not yet"));
  harness_.Start(first);
  harness_.RunFor(milliseconds(100));
  harness_.Start(second);
  harness_.RunFor(seconds(2));
  ASSERT_EQ(manager(first).core->sm_state(), SmState::kDiscovering);
  manager(first).store.set_claim(store::Store::Claimed());
  ASSERT_TRUE(harness_.RunUntilUp(first)) << LogOf(manager(first));
  harness_.RunFor(seconds(2));
  const auto watched = [&] { return manager(second).view->sm.watched_master; };
  ASSERT_EQ(watched(), sweep::WatchedMaster::kThere);
  harness_.Kill(first);
  EXPECT_TRUE(harness_.RunUntil([&] { return watched() == sweep::WatchedMaster::kUnresponsive; },
                                seconds(3)));
}

TEST_F(CoreClaim, AReaderWithoutAnySmInSightWaitsForASecondSweep) {
  const size_t sm = Add("node0002 mlx5_0", SmMode::kStandby);
  harness_.Start(sm);
  const auto none_is = [&] {
    return manager(sm).view != nullptr &&
           manager(sm).view->sm.watched_master == sweep::WatchedMaster::kNone;
  };
  EXPECT_FALSE(harness_.RunUntil(none_is, seconds(30)));
  EXPECT_TRUE(harness_.RunUntil(none_is, seconds(60)));
}

TEST_F(CoreClaim, ClientsOfAPredecessorWithTheSameStateNeedNotRegisterAgain) {
  EXPECT_EQ(ReregisteredAfterTakeover(/*continues=*/true), 0u);
}

TEST_F(CoreClaim, ClientsRegisterAgainWhereTheStateMayBeOld) {
  EXPECT_EQ(ReregisteredAfterTakeover(/*continues=*/false), 8u);
}

TEST_F(CoreClaim, ClientsOfAnotherSubnetManagerRegisterAgain) {
  another_rules_ = true;
  EXPECT_EQ(ReregisteredAfterTakeover(/*continues=*/true), 8u);
}

// A takeover that takes a while.
class LargeCoreClaim : public CoreClaim {
 protected:
  LargeCoreClaim() : CoreClaim("superpod:sus=2,hosts=16,rails=8") { cable_changes_ = true; }
};

TEST_F(LargeCoreClaim, AChangeWithinATakeoverAsksNoClientToRegisterAgain) {
  EXPECT_EQ(ReregisteredAfterTakeover(/*continues=*/true), 0u);
}

TEST_F(LargeCoreClaim, AChangeWithinAFirstRunAsksEachClientOnce) {
  EXPECT_EQ(ReregisteredAfterTakeover(/*continues=*/false), 256u);
  for (const auto& [port, count] : watch_.reregisters) EXPECT_EQ(count, 1);
}

// ---- a master without a link

class CoreWithoutPortEvents : public CoreClaim {
 protected:
  static sim::SimOptions NoEvents() {
    sim::SimOptions options;
    options.reports_port_events = false;
    return options;
  }
  CoreWithoutPortEvents() : CoreClaim("superpod:sus=1,hosts=4,rails=2", NoEvents()) {}
  bool HasLink(size_t sm) { return manager(sm).view->sm.has_link; }
};

TEST_F(CoreWithoutPortEvents, AMasterThatSharesItsStateSoonSeesThatItsPortHasNoLink) {
  const size_t sm = Add("node0001 mlx5_0");
  harness_.Start(sm);
  ASSERT_TRUE(harness_.RunUntilUp(sm)) << LogOf(manager(sm));
  harness_.RunFor(seconds(2));
  EXPECT_TRUE(HasLink(sm));
  const uint32_t sweeps = manager(sm).core->sweeps_done();
  const PortRef own = manager(sm).view->sm.port;
  ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), own).ok());
  EXPECT_TRUE(harness_.RunUntil([&] { return !HasLink(sm); }, milliseconds(300)));
  harness_.RunFor(seconds(5));
  EXPECT_FALSE(HasLink(sm));
  ASSERT_TRUE(harness_.fabric().Link(harness_.now(), own).ok());
  EXPECT_TRUE(harness_.RunUntil([&] { return HasLink(sm); }, milliseconds(300)));
  EXPECT_TRUE(harness_.RunUntilUp(sm)) << LogOf(manager(sm));
  EXPECT_GT(manager(sm).core->sweeps_done(), sweeps);
}

TEST_F(CoreWithoutPortEvents, AMasterWhoseLinkIsLostAmidASweepSeesThatToo) {
  const size_t sm = Add("node0001 mlx5_0");
  harness_.Start(sm);
  ASSERT_TRUE(harness_.RunUntilUp(sm)) << LogOf(manager(sm));
  const PortRef own = manager(sm).view->sm.port;
  harness_.Post(sm, sweep::SweepCommand{1, /*heavy=*/true});
  // The own port is read by then.
  ASSERT_TRUE(harness_.RunUntil([&] {
    const sweep::Progress progress = manager(sm).core->progress();
    return progress.phase == sweep::Phase::kDiscovering && progress.done > 3;
  }));
  ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), own).ok());
  EXPECT_TRUE(harness_.RunUntil([&] { return !HasLink(sm); }, milliseconds(300)));
  // Also when that sweep ends.
  EXPECT_FALSE(harness_.RunUntil([&] { return HasLink(sm); }, seconds(20)));
}

// Sweeps that fail are repeated seldom: this one must not wait for the next.
TEST_F(CoreWithoutPortEvents, AReaderSweepsAgainOnceItsPortHasALink) {
  const size_t sm = Add("node0002 mlx5_0", SmMode::kStandby);
  const PortRef own = *harness_.fabric().FindHostPort("node0002 mlx5_0");
  ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), own).ok());
  harness_.Start(sm);
  harness_.RunFor(seconds(20));
  ASSERT_FALSE(HasLink(sm));
  ASSERT_TRUE(harness_.fabric().Link(harness_.now(), own).ok());
  EXPECT_TRUE(harness_.RunUntil(
      [&] { return manager(sm).view->sm.watched_master == sweep::WatchedMaster::kNoMaster; },
      seconds(1)));
}

TEST_F(CoreWithoutPortEvents, AMasterWithAStateOfItsOwnDoesNotReadItsPortAgainAndAgain) {
  for (const bool shares_state : {false, true}) {
    sim::Simulation harness(**sim::Generate("superpod:sus=1,hosts=4,rails=2"));
    sweep::CoreOptions options;
    options.sm.shares_state = shares_state;
    options.sweep.light_interval = std::chrono::minutes(10);
    const size_t sm = harness.Add(options);
    harness.Start(sm);
    ASSERT_TRUE(harness.RunUntilUp(sm)) << LogOf(harness.manager(sm));
    harness.RunFor(seconds(5));
    const auto reads = [&] {
      return harness.fabric().stats().Of(wire::AttributeId::kPortInfo).gets;
    };
    const uint64_t before = reads();
    harness.RunFor(seconds(10));
    EXPECT_EQ(reads() - before, shares_state ? 40u : 0u);
  }
}

// ---- what a master has stored, shown beside it

sweep::StoredStateChanged StoredState(const fabric::FabricSnapshot& snapshot) {
  sweep::StoredStateChanged state;
  policy::Hold hold;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    if (node.IsSwitch()) hold.target = {policy::TargetKind::kSwitch, "a", {node.guid()}, {}, {}};
  });
  hold.id = 3;
  hold.kind = policy::HoldKind::kDrain;
  hold.owner = policy::kOwnHoldOwner;  // That no condition here claims.
  hold.expires = 1;                    // Long ago.
  state.holds = {{hold}, 3};
  policy::PartitionState partitions;
  partitions.revision = 7;
  state.partitions = std::make_shared<const policy::PartitionState>(partitions);
  return state;
}

TEST_F(CoreClaim, AReaderShowsHoldsAndPartitionsOfItsMasterAndChangesNone) {
  const size_t first = Add("node0001 mlx5_0");
  const size_t second = Add("node0002 mlx5_0", SmMode::kStandby);
  harness_.Start(first);
  ASSERT_TRUE(harness_.RunUntilUp(first));
  harness_.Start(second);
  harness_.RunFor(seconds(5));
  const auto& view = manager(second).view;
  const size_t sets = Sets();
  harness_.Post(second, StoredState(*view->snapshot));
  // Longer than a hold of fabricd's own waits to be claimed.
  harness_.RunFor(std::chrono::hours(2));
  ASSERT_EQ(view->policy->holds.size(), 1u);
  EXPECT_EQ(view->policy->holds[0].state, policy::HoldState::kPending);
  EXPECT_EQ(view->policy->holds[0].note, "the master knows whether it is in effect");
  EXPECT_EQ(view->partitions->revision, 7u);
  EXPECT_EQ(Sets(), sets);
  EXPECT_TRUE(manager(second).store.LoadHolds()->holds.empty());
  EXPECT_THAT(LogOf(manager(second)), testing::Not(testing::HasSubstr("holds")));
  harness_.Post(second,
                sweep::StoredStateChanged{{}, std::make_shared<const policy::PartitionState>()});
  harness_.RunFor(seconds(1));
  EXPECT_TRUE(view->policy->holds.empty());
  EXPECT_EQ(view->partitions->revision, 0u);
}

TEST_F(CoreClaim, AManagerIgnoresStateThatAnotherHasStored) {
  const size_t sm = Add("node0001 mlx5_0");
  harness_.Start(sm);
  ASSERT_TRUE(harness_.RunUntilUp(sm));
  harness_.Post(sm, StoredState(*manager(sm).view->snapshot));
  harness_.RunFor(seconds(1));
  EXPECT_TRUE(manager(sm).view->policy->holds.empty());
  EXPECT_EQ(manager(sm).view->partitions->revision, 0u);
}

// ---- tables that a predecessor has confirmed

class CoreClaimTables : public CoreClaim {
 protected:
  // What a reader beside a master has read.
  void Read() {
    const size_t first = Add("node0001 mlx5_0");
    const size_t reader = Add("node0004 mlx5_0", SmMode::kStandby);
    harness_.Start(first);
    ASSERT_TRUE(harness_.RunUntilUp(first));
    harness_.Start(reader);
    ASSERT_TRUE(harness_.RunUntil([&] {
      const auto& view = manager(reader).view;
      return view != nullptr && view->reader_tables.read != nullptr;
    }));
    auto vouched = std::make_shared<sweep::SwitchTables>();
    vouched->rows = *manager(reader).view->reader_tables.read;
    vouched_ = std::move(vouched);
    // Each as the plan has it, but for what the plan leaves unused.
    const auto& plan = *manager(first).view->plan;
    size_t switches = 0;
    manager(first).view->snapshot->ForEachNode([&](const fabric::Node& node) {
      if (!node.IsSwitch()) return;
      ++switches;
      ASSERT_TRUE(vouched_->rows.contains(node.guid()));
      const routing::Row& row = vouched_->rows.at(node.guid());
      computed_.emplace(node.guid(), manager(reader).view->reader_tables.computed->at(node.guid()));
      for (size_t lid = 0; lid < row.size() && lid < plan.rows[node.index.value()]->size(); ++lid) {
        EXPECT_EQ(row[lid], (*plan.rows[node.index.value()])[lid]);
        EXPECT_EQ(row[lid], computed_.at(node.guid())[lid]);
      }
    });
    EXPECT_EQ(vouched_->rows.size(), switches);
    harness_.Kill(reader);
    harness_.Kill(first);
  }

  sweep::ReaderTables::Rows computed_;
};

TEST_F(CoreClaimTables, AreNotReadAgainAtATakeover) {
  Read();
  EXPECT_EQ(ReregisteredAfterTakeover(/*continues=*/true), 0u);
  EXPECT_EQ(TableGets(), 0u);
  EXPECT_THAT(watch_.others, testing::Each("PortInfo"));
}

TEST_F(CoreClaimTables, AreNotReadWhereTheNodeHasComputedTheSameRows) {
  Read();
  auto vouched = std::make_shared<sweep::SwitchTables>();
  for (const auto& [guid, row] : vouched_->rows) {
    vouched->rows.emplace(guid, computed_.at(guid));
    vouched->computed.push_back(guid);
  }
  std::sort(vouched->computed.begin(), vouched->computed.end());
  vouched_ = vouched;
  EXPECT_EQ(ReregisteredAfterTakeover(/*continues=*/true), 0u);
  EXPECT_EQ(TableGets(), 0u);
  EXPECT_THAT(watch_.others, testing::Each("PortInfo"));
}

TEST_F(CoreClaimTables, AreReadWhereTheStateMayBeOld) {
  Read();
  ReregisteredAfterTakeover(/*continues=*/false);
  EXPECT_GT(TableGets(), 0u);
}

TEST_F(CoreClaimTables, AreReadWhereAnotherSubnetManagerWasMaster) {
  Read();
  another_rules_ = true;
  ReregisteredAfterTakeover(/*continues=*/true);
  EXPECT_GT(TableGets(), 0u);
}

TEST_F(CoreClaimTables, OfSwitchesWithoutARecordAreRead) {
  Read();
  auto some = std::make_shared<sweep::SwitchTables>(*vouched_);
  some->rows.erase(some->rows.begin());
  vouched_ = some;
  ReregisteredAfterTakeover(/*continues=*/true);
  EXPECT_EQ(TableGets(), 1u);
}

}  // namespace
}  // namespace fabricd::test
