// SPDX-License-Identifier: Apache-2.0
// Managers that share their durable state, next to a subnet manager of another make that is busy,
// hangs or ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "sim/generate/generate.h"
#include "sim/run/foreign_sm.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"
#include "tests/support/set_watch.h"
#include "tests/support/shared_state.h"

namespace fabricd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using sweep::WatchedMaster;
using wire::SmState;

// A manager that owns the epoch, another that waits beside it, and a foreign SM of a higher
// priority, which is master.
class CoreForeign : public testing::Test {
 protected:
  CoreForeign() : harness_(**sim::Generate("superpod:sus=1,hosts=4,rails=2")) {
    owner_ = Add(kOwner, SmMode::kManage);
    waiting_ = Add(kWaiting, SmMode::kStandby);
    auto foreign =
        std::make_unique<sim::ForeignSm>(harness_.fabric(), Port("node0003 mlx5_0"), kPriority,
                                         /*seed=*/1, [this] { return PeersOfForeign(); });
    foreign_ = foreign.get();
    harness_.AddActor(std::move(foreign));
  }

  static constexpr uint8_t kPriority = 10;
  static constexpr char kOwner[] = "node0001 mlx5_0", kWaiting[] = "node0002 mlx5_0";

  PortRef Port(const std::string& host) const {
    const auto port = harness_.fabric().FindHostPort(host);
    EXPECT_TRUE(port.ok()) << port.status();
    return port.value_or(PortRef());
  }
  Guid GuidOf(PortRef port) const {
    return harness_.fabric().device(port.node)->port(port.port).guid;
  }
  size_t Add(const std::string& host, SmMode mode) {
    sweep::CoreOptions options;
    options.sm.mode = mode;
    options.sm.shares_state = true;
    return harness_.Add(options, Port(host));
  }
  std::vector<sim::ForeignSm::Peer> PeersOfForeign() const {
    const sim::Manager& owner = harness_.manager(owner_);
    if (owner.core == nullptr) return {};
    return {{owner.host, GuidOf(owner.host), 0, owner.core->sm_state()}};
  }
  void StartWithForeignMaster() {
    harness_.Start(owner_);
    ASSERT_TRUE(harness_.RunUntilUp(owner_)) << LogOf(harness_.manager(owner_));
    foreign_->Appear(harness_.now());
    ASSERT_TRUE(harness_.RunUntil([&] {
      return foreign_->state() == SmState::kMaster && OwnerState() == SmState::kStandby;
    }));
    if (!knows_partner_) return;
    // Each manager knows its partner.
    const sweep::SharingPorts ports{{GuidOf(Port(kOwner)), GuidOf(Port(kWaiting))}};
    harness_.Post(owner_, ports);
    harness_.Start(waiting_);
    harness_.Post(waiting_, ports);
    ASSERT_TRUE(harness_.RunUntil([&] {
      return harness_.manager(waiting_).view != nullptr &&
             Waiting().watched_master == WatchedMaster::kThere;
    })) << LogOf(harness_.manager(waiting_));
    ASSERT_EQ(Waiting().last_master, GuidOf(foreign_->host()));
  }
  SmState OwnerState() const { return harness_.manager(owner_).core->sm_state(); }
  const sweep::SmStatus& Waiting() const { return harness_.manager(waiting_).view->sm; }
  bool OwnerRises(Duration limit) {
    return harness_.RunUntil([&] { return OwnerState() == SmState::kMaster; }, limit);
  }

  sim::Simulation harness_;
  size_t owner_ = 0, waiting_ = 0;
  sim::ForeignSm* foreign_ = nullptr;  // The simulation owns it.
  bool knows_partner_ = true;
};

TEST_F(CoreForeign, AForeignMasterThatIsBusyKeepsTheSubnet) {
  ASSERT_NO_FATAL_FAILURE(StartWithForeignMaster());
  const uint32_t sweeps = harness_.manager(owner_).core->sweeps_done();
  foreign_->SetBusy(harness_.now() + seconds(40));
  EXPECT_FALSE(harness_.RunUntil(
      [&] {
        return OwnerState() != SmState::kStandby ||
               Waiting().watched_master == WatchedMaster::kUnresponsive ||
               Waiting().watched_master == WatchedMaster::kNone;
      },
      seconds(50)))
      << LogOf(harness_.manager(owner_));
  EXPECT_EQ(harness_.manager(owner_).core->sweeps_done(), sweeps) << "it need not look";
  EXPECT_EQ(Waiting().watched_master, WatchedMaster::kThere) << "it has answered again";
}

TEST_F(CoreForeign, ASweepDuringWhichTheForeignMasterIsBusyLeavesItTheSubnet) {
  ASSERT_NO_FATAL_FAILURE(StartWithForeignMaster());
  foreign_->SetBusy(harness_.now() + seconds(40));
  // The switch of the path to it is away for a moment, so that a sweep is needed to find another.
  const PortRef leaf = harness_.fabric().LinkedPeer(foreign_->host());
  ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), leaf).ok());
  ASSERT_TRUE(harness_.RunUntil([&] { return OwnerState() != SmState::kStandby; }, seconds(10)));
  ASSERT_TRUE(harness_.fabric().Link(harness_.now(), leaf).ok());
  EXPECT_TRUE(harness_.RunUntil([&] { return OwnerState() == SmState::kStandby; }, seconds(10)))
      << LogOf(harness_.manager(owner_));
  EXPECT_FALSE(OwnerRises(seconds(20)));
}

TEST_F(CoreForeign, AForeignMasterThatHangsForAMinuteLosesTheSubnet) {
  ASSERT_NO_FATAL_FAILURE(StartWithForeignMaster());
  foreign_->SetBusy(harness_.now() + seconds(1000));
  EXPECT_FALSE(OwnerRises(seconds(59)));
  EXPECT_TRUE(OwnerRises(seconds(10))) << LogOf(harness_.manager(owner_));
  EXPECT_TRUE(harness_.RunUntil(
      [&] {
        return Waiting().watched_master == WatchedMaster::kThere &&
               Waiting().last_master == GuidOf(Port(kOwner));
      },
      seconds(60)))
      << "the waiting node follows the new master";
}

TEST_F(CoreForeign, AForeignMasterThatHasEndedLosesTheSubnetAtOnce) {
  ASSERT_NO_FATAL_FAILURE(StartWithForeignMaster());
  foreign_->Leave(harness_.now());
  EXPECT_TRUE(OwnerRises(seconds(4))) << LogOf(harness_.manager(owner_));
}

TEST_F(CoreForeign, AForeignMasterWhoseHostHasNoLinkLosesTheSubnetAtOnce) {
  ASSERT_NO_FATAL_FAILURE(StartWithForeignMaster());
  ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), foreign_->host()).ok());
  EXPECT_TRUE(OwnerRises(seconds(5))) << LogOf(harness_.manager(owner_));
}

TEST_F(CoreForeign, WithoutKnowingItsPartnersAManagerTakesAnUnresponsiveMasterForOne) {
  knows_partner_ = false;
  ASSERT_NO_FATAL_FAILURE(StartWithForeignMaster());
  foreign_->SetBusy(harness_.now() + seconds(40));
  EXPECT_TRUE(OwnerRises(seconds(10))) << LogOf(harness_.manager(owner_));
}

// The foreign SM may have taken the handover, and be master.
TEST_F(CoreForeign, AMasterWhoseHandoverIsNotAnsweredWritesNothingForAMinute) {
  SetWatch watch;
  harness_.fabric().SetObserver(&watch);
  harness_.Start(owner_);
  ASSERT_TRUE(harness_.RunUntilUp(owner_)) << LogOf(harness_.manager(owner_));
  harness_.Post(owner_, sweep::SharingPorts{{GuidOf(Port(kWaiting))}});
  foreign_->Appear(harness_.now());
  ASSERT_TRUE(harness_.RunUntil([&] {
    return LogOf(harness_.manager(owner_)).find("handing over to SM") != std::string::npos;
  }));
  foreign_->SetBusy(harness_.now() + seconds(1000));
  ASSERT_EQ(foreign_->state(), SmState::kStandby) << "it has the handover already";
  // Its traps make the master sweep, and find what to write.
  const PortRef host = Port("node0004 mlx5_0");
  ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), host).ok());
  harness_.RunFor(seconds(15));
  EXPECT_EQ(OwnerState(), SmState::kMaster);
  watch = SetWatch();
  ASSERT_TRUE(harness_.fabric().Link(harness_.now(), host).ok());
  harness_.RunFor(seconds(30));
  EXPECT_TRUE(watch.others.empty()) << watch.others.front() << LogOf(harness_.manager(owner_));
  EXPECT_TRUE(harness_.RunUntilUp(owner_, seconds(60))) << LogOf(harness_.manager(owner_));
  EXPECT_FALSE(watch.others.empty());
}

// Starts on the waiting node while the foreign master is busy, with the owner dead.
class CoreForeignAtStart : public CoreForeign {
 protected:
  void StartBesideBusyMaster(Guid last_master) {
    ASSERT_NO_FATAL_FAILURE(StartWithForeignMaster());
    foreign_->SetBusy(harness_.now() + seconds(40));
    harness_.Kill(waiting_);
    harness_.Kill(owner_);
    sweep::CoreOptions options;
    options.sm.shares_state = true;
    options.sm.last_master = last_master;
    options.sm.sharing_ports = std::vector{GuidOf(Port(kOwner))};
    started_ = harness_.Add(options, Port(kWaiting));
    GiveState(harness_.manager(owner_), harness_.manager(started_));
    harness_.Start(started_);
  }
  SmState State() const { return harness_.manager(started_).core->sm_state(); }
  bool Rises(Duration limit) {
    return harness_.RunUntil([&] { return State() == SmState::kMaster; }, limit);
  }

  size_t started_ = 0;
};

TEST_F(CoreForeignAtStart, AManagerThatKnowsOfTheForeignMasterWaitsForIt) {
  ASSERT_NO_FATAL_FAILURE(StartBesideBusyMaster(GuidOf(foreign_->host())));
  EXPECT_FALSE(Rises(seconds(30)));
  EXPECT_EQ(State(), SmState::kStandby) << LogOf(harness_.manager(started_));
}

TEST_F(CoreForeignAtStart, AManagerThatKnowsOfNoMasterWaitsForAnUnresponsiveForeignSm) {
  ASSERT_NO_FATAL_FAILURE(StartBesideBusyMaster(Guid()));
  EXPECT_FALSE(Rises(seconds(30)));
  EXPECT_EQ(State(), SmState::kStandby) << LogOf(harness_.manager(started_));
}

// Another SM that hangs delays no takeover.
TEST_F(CoreForeignAtStart, AManagerThatKnowsOfAnotherMasterWaitsForNoUnresponsiveSm) {
  ASSERT_NO_FATAL_FAILURE(StartBesideBusyMaster(GuidOf(Port(kOwner))));
  EXPECT_TRUE(Rises(seconds(10))) << LogOf(harness_.manager(started_));
}

}  // namespace
}  // namespace fabricd::test
