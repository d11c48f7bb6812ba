// SPDX-License-Identifier: Apache-2.0
// The Watch, which judges every MAD as it happens: what it must find, and what it must not take for
// a fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checkers/mad_watch.h"
#include "tests/unit/sim/test_client.h"

namespace fabricd::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::AttributeId;
using wire::DirectedPath;

// Two programs on hosts of one fabric, each with a switch at port 1.
class WatchTest : public ::testing::Test {
 protected:
  explicit WatchTest(WatchOptions options = {}) : watch_(fabric_, options) {
    fabric_.SetObserver(&watch_);
    watch_.OnRestart(host_a_);
    watch_.OnRestart(host_b_);
    a_.now = b_.now = Instant(seconds(1));
  }
  static SimOptions Options() {
    SimOptions options;
    options.link_latency = std::chrono::microseconds(1);
    return options;
  }
  PortRef HostOf(const char* name) { return *fabric_.FindHostPort(name); }
  const std::vector<std::string>& faults() const { return watch_.faults(); }

  SimFabric fabric_{**Generate("superpod:sus=1,hosts=4,rails=2"), Options()};
  Watch watch_;
  const PortRef host_a_ = HostOf("node0001 mlx5_0");
  const PortRef host_b_ = HostOf("node0002 mlx5_0");
  TestClient a_{fabric_, host_a_};
  TestClient b_{fabric_, host_b_};
  const DirectedPath to_switch_{1};
};

// ---- window

class WatchWindow : public WatchTest {
 protected:
  WatchWindow() : WatchTest({.device_limit = 2, .window_max = 3}) {}
  void Ask(const DirectedPath& path, AttributeId attribute = AttributeId::kNodeDescription) {
    wire::Smp smp;
    smp.attribute = attribute;
    smp.path = path;
    smp.tid = TransactionId(++tid_);
    ASSERT_TRUE(fabric_.Send(now_, host_a_, EncodeSmp(smp, kTestTimeout)).ok());
  }
  void AwaitAll() {
    std::vector<Delivery> arrived;
    now_ += seconds(1);
    fabric_.Advance(now_, arrived);
  }
  Instant now_{seconds(1)};
  uint32_t tid_ = 0;
};

TEST_F(WatchWindow, MoreRequestsToADeviceThanItsLimit) {
  Ask(to_switch_);
  Ask(to_switch_);
  EXPECT_THAT(faults(), IsEmpty());
  Ask(to_switch_);
  EXPECT_THAT(faults(), ElementsAre(ContainsRegex("^window: 3 requests in flight to ")));
}

TEST_F(WatchWindow, MoreRequestsThanTheWindow) {
  const DirectedPath to_host{1, fabric_.LinkedPeer(host_b_).port.value()};
  for (const DirectedPath& path : {to_host, to_switch_, to_host}) Ask(path);
  EXPECT_THAT(faults(), IsEmpty());
  Ask(to_switch_);
  EXPECT_THAT(faults(), ElementsAre("window: 4 requests in flight"));
}

TEST_F(WatchWindow, AnswersMakeRoom) {
  for (int round = 0; round < 3; ++round) {
    Ask(to_switch_);
    Ask(to_switch_);
    AwaitAll();
  }
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(WatchWindow, TimeOutsMakeRoom) {
  fabric_.SetLinkLoss(host_a_, 1);
  for (int round = 0; round < 3; ++round) {
    Ask(to_switch_);
    Ask(to_switch_);
    AwaitAll();
  }
  EXPECT_EQ(fabric_.stats().timed_out, 6u);
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(WatchWindow, ProbesOfUnknownNeighboursCountForTheWindowOnly) {
  for (int i = 0; i < 3; ++i) Ask(to_switch_, AttributeId::kNodeInfo);
  EXPECT_THAT(faults(), IsEmpty());
  Ask(to_switch_, AttributeId::kNodeInfo);
  EXPECT_THAT(faults(), ElementsAre("window: 4 requests in flight"));
}

TEST_F(WatchWindow, ANewProgramHasNothingInFlight) {
  Ask(to_switch_);
  Ask(to_switch_);
  watch_.OnRestart(host_a_);
  Ask(to_switch_);
  Ask(to_switch_);
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(WatchWindow, AProgramOfAnotherKindIsNotChecked) {
  const PortRef host = HostOf("node0003 mlx5_0");
  const TestClient other(fabric_, host);
  for (uint32_t i = 1; i <= 5; ++i) {
    wire::Smp smp;
    smp.attribute = AttributeId::kNodeDescription;
    smp.path = to_switch_;
    smp.tid = TransactionId(i);
    ASSERT_TRUE(fabric_.Send(now_, host, EncodeSmp(smp, kTestTimeout)).ok());
  }
  AwaitAll();
  EXPECT_THAT(faults(), IsEmpty());
}

// ---- idle Sets

class WatchIdle : public WatchTest {
 protected:
  static wire::LinearForwardingTable Block(uint8_t port) {
    wire::LinearForwardingTable block;
    block.port.fill(port);
    return block;
  }
};

TEST_F(WatchIdle, ASetOfTheValueThatWasReadIsIdle) {
  const auto block =
      a_.Get(to_switch_, AttributeId::kLinearForwardingTable).As<wire::LinearForwardingTable>();
  EXPECT_TRUE(a_.Set(to_switch_, block).ok());
  EXPECT_THAT(faults(),
              ElementsAre(ContainsRegex("^idle Set: LinearForwardingTable 0 of .* nothing, at ")));
}

TEST_F(WatchIdle, ASetOfTheValueThatWasSetIsIdle) {
  EXPECT_TRUE(a_.Set(to_switch_, Block(1)).ok());
  EXPECT_THAT(faults(), IsEmpty());
  EXPECT_TRUE(a_.Set(to_switch_, Block(1)).ok());
  EXPECT_THAT(faults(), SizeIs(1));
}

TEST_F(WatchIdle, ASetWithoutAnEarlierResponseIsNotIdle) {
  EXPECT_TRUE(a_.Set(to_switch_, Block(255)).ok());
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(WatchIdle, ASetOfANewProgramIsNotIdle) {
  EXPECT_TRUE(a_.Set(to_switch_, Block(1)).ok());
  watch_.OnRestart(host_a_);
  EXPECT_TRUE(a_.Set(to_switch_, Block(1)).ok());
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(WatchIdle, ASetWhoseAnswerWasLostMayBeRepeated) {
  // Half of the MADs are lost: sooner or later an answer is.
  fabric_.SetLinkLoss(host_a_, 0.5);
  bool repeated = false;
  for (uint8_t port = 1; port < 30; ++port) {
    const uint64_t sets = watch_.sets();
    while (!a_.Set(to_switch_, Block(port)).ok()) continue;
    repeated |= watch_.sets() - sets > 1;
  }
  EXPECT_TRUE(repeated);
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(WatchIdle, ASetAfterAnUnansweredGetIsNotIdle) {
  EXPECT_TRUE(a_.Get(to_switch_, AttributeId::kLinearForwardingTable).ok());
  fabric_.SetLinkLoss(host_a_, 1);
  EXPECT_FALSE(a_.Get(to_switch_, AttributeId::kLinearForwardingTable).ok());
  fabric_.SetLinkLoss(host_a_, 0);
  EXPECT_TRUE(a_.Set(to_switch_, Block(255)).ok());
  EXPECT_THAT(faults(), IsEmpty());
  EXPECT_TRUE(a_.Set(to_switch_, Block(255)).ok());
  EXPECT_THAT(faults(), SizeIs(1));
}

// The response to the first Set is lost with the link. A Get that returns its value completes
// first, but the repeat is not idle: its sender has no response.
TEST_F(WatchIdle, ASetInFlightMayBeRepeatedByAnotherPath) {
  const NodeIndex leaf = fabric_.LinkedPeer(host_a_).node;
  PortRef up, spine;
  for (PortNum port(1); spine.IsNone(); port = PortNum(static_cast<uint8_t>(port.value() + 1))) {
    up = {leaf, port};
    spine = fabric_.LinkedPeer(up);
    if (!spine.IsNone() && !fabric_.device(spine.node)->IsSwitch()) spine = {};
  }
  wire::Smp first;
  first.method = wire::Method::kSet;
  first.attribute = AttributeId::kLinearForwardingTable;
  first.path = DirectedPath{1, up.port.value(), spine.port.value()};
  first.tid = TransactionId(1000);
  Block(1).Encode(first.data);
  ASSERT_TRUE(fabric_.Send(a_.now, host_a_, EncodeSmp(first, seconds(1))).ok());
  while (watch_.sets() == 0) a_.Wait(a_.now + std::chrono::microseconds(1));
  ASSERT_TRUE(fabric_.Unlink(a_.now, up).ok());
  const auto held = a_.Get(to_switch_, AttributeId::kLinearForwardingTable);
  ASSERT_EQ(held.As<wire::LinearForwardingTable>().port, Block(1).port);
  EXPECT_TRUE(a_.Set(to_switch_, Block(1)).ok());
  EXPECT_EQ(watch_.sets(), 2u);
  EXPECT_THAT(faults(), IsEmpty());
  // It has timed out now: what was read since counts.
  a_.Wait(a_.now + seconds(2));
  a_.Get(to_switch_, AttributeId::kLinearForwardingTable);
  EXPECT_TRUE(a_.Set(to_switch_, Block(1)).ok());
  EXPECT_THAT(faults(), SizeIs(1));
}

TEST_F(WatchIdle, ASecondCopyOfASetIsNotIdle) {
  MadFaults faults_of_mads;
  faults_of_mads.duplicate = 1;
  faults_of_mads.jitter = milliseconds(1);
  fabric_.SetMadFaults(faults_of_mads);
  EXPECT_TRUE(a_.Set(to_switch_, Block(1)).ok());
  a_.Wait(a_.now + seconds(1));
  EXPECT_EQ(watch_.sets(), 2u);
  EXPECT_THAT(faults(), IsEmpty());
}

// The network duplicates a Get. The device answers the second copy with another value, after a Set;
// the response to the first copy is the one that arrives.
TEST_F(WatchIdle, TheArrivedResponseCountsNotTheLastServedOne) {
  const PortRef leaf = fabric_.LinkedPeer(host_a_);
  wire::Smp get;
  get.attribute = AttributeId::kLinearForwardingTable;
  get.path = to_switch_;
  get.tid = TransactionId(7);
  wire::Smp before = get, after = get, set = get;
  before.method = after.method = wire::Method::kGetResp;
  Block(1).Encode(before.data);
  Block(2).Encode(after.data);
  watch_.OnSend(a_.now, host_a_, EncodeSmp(get, kTestTimeout));
  watch_.OnServed({a_.now, host_a_, leaf, get, before, false});
  watch_.OnServed({a_.now, host_a_, leaf, get, after, false});
  Delivery delivery;
  delivery.host = host_a_;
  delivery.at = a_.now;
  mad::IncomingMad mad;
  mad.agent = mad::Agent::kSmpDirected;
  mad.payload = EncodeSmp(before, kTestTimeout).payload;
  delivery.what = mad;
  watch_.OnDelivery(delivery);
  set.method = wire::Method::kSet;
  set.tid = TransactionId(8);
  const auto set_to = [&](const wire::Smp& held) {
    set.data = held.data;
    set.tid = TransactionId(set.tid.value() + 1);
    watch_.OnSend(a_.now, host_a_, EncodeSmp(set, kTestTimeout));
    watch_.OnServed({a_.now, host_a_, leaf, set, held, false});
  };
  set_to(after);
  EXPECT_THAT(faults(), IsEmpty());
  set_to(before);
  EXPECT_THAT(faults(), SizeIs(1));
}

TEST_F(WatchIdle, ASetAfterAChangeByAnotherProgramIsNotIdle) {
  EXPECT_TRUE(a_.Set(to_switch_, Block(1)).ok());
  // The same switch, seen from the other host.
  const PortRef peer = fabric_.LinkedPeer(host_a_);
  ASSERT_EQ(fabric_.LinkedPeer(host_b_).node, peer.node);
  EXPECT_TRUE(b_.Set(to_switch_, Block(2)).ok());
  EXPECT_TRUE(b_.Set(to_switch_, Block(1)).ok());
  a_.now += seconds(5);  // Two masters would be another fault.
  EXPECT_TRUE(a_.Set(to_switch_, Block(1)).ok());
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(WatchIdle, ASetAfterAChangeByTheDeviceIsNotIdle) {
  const PortNum port = fabric_.LinkedPeer(host_b_).port;
  auto info = a_.PortInfoOf(to_switch_, port.value());
  ASSERT_TRUE(fabric_.Unlink(a_.now, host_b_).ok());
  info.port_state = wire::PortState::kNoChange;
  info.port_physical_state = wire::PortPhysicalState::kNoChange;
  EXPECT_TRUE(a_.Set(to_switch_, info, port.value()).ok());
  EXPECT_EQ(fabric_.stats().smps.at(AttributeId::kPortInfo).idle_sets, 1u);
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(WatchIdle, ATableWithoutATopMayBeWrittenAgain) {
  EXPECT_TRUE(a_.Set(to_switch_, Block(1)).ok());
  const auto info = a_.Get(to_switch_, AttributeId::kSwitchInfo).As<wire::SwitchInfo>();
  ASSERT_EQ(info.linear_fdb_top, 0);
  EXPECT_TRUE(a_.Set(to_switch_, Block(1)).ok());
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(WatchIdle, BlocksAboveTheTableTopMayBeWrittenAgain) {
  auto info = a_.Get(to_switch_, AttributeId::kSwitchInfo).As<wire::SwitchInfo>();
  info.linear_fdb_top = 63;
  ASSERT_TRUE(a_.Set(to_switch_, info).ok());
  ASSERT_TRUE(a_.Set(to_switch_, Block(1), 1).ok());
  a_.Get(to_switch_, AttributeId::kSwitchInfo);
  ASSERT_TRUE(a_.Set(to_switch_, Block(1), 1).ok());
  EXPECT_THAT(faults(), IsEmpty());
  ASSERT_TRUE(a_.Set(to_switch_, Block(1), 0).ok());
  a_.Get(to_switch_, AttributeId::kSwitchInfo);
  ASSERT_TRUE(a_.Set(to_switch_, Block(1), 0).ok());
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("idle Set: LinearForwardingTable 0")));
}

// ---- LIDs

class WatchLids : public WatchTest {
 protected:
  explicit WatchLids(WatchOptions options = {}) : WatchTest(options) {}
  static void GiveLid(TestClient& to, uint16_t lid, uint8_t lmc = 0) {
    const auto change = [&](wire::PortInfo& info) {
      info.lid = Lid(lid);
      info.master_sm_lid = Lid(1);
      info.lmc = lmc;
      info.subnet_timeout ^= 1;  // No Set is idle.
    };
    ASSERT_TRUE(to.ChangePort(DirectedPath(), 1, change).ok());
  }
};

TEST_F(WatchLids, APortThatGetsAnotherLid) {
  GiveLid(a_, 5);
  EXPECT_THAT(faults(), IsEmpty());
  GiveLid(a_, 6);
  EXPECT_THAT(faults(), ElementsAre(ContainsRegex("^LIDs: .* had LID 5 and gets 6$")));
}

TEST_F(WatchLids, ALidThatWasAnothers) {
  GiveLid(a_, 5);
  GiveLid(b_, 5);
  EXPECT_THAT(faults(), ElementsAre(ContainsRegex("^LIDs: 5 was that of port .* is given to ")));
}

TEST_F(WatchLids, ALidOfAnothersRange) {
  GiveLid(a_, 8, 2);
  GiveLid(b_, 11);
  EXPECT_THAT(faults(), ElementsAre(ContainsRegex("^LIDs: 11 was that of port ")));
}

TEST_F(WatchLids, RestartedProgramsKeepThem) {
  GiveLid(a_, 5);
  watch_.OnRestart(host_a_);
  GiveLid(a_, 5);
  EXPECT_THAT(faults(), IsEmpty());
}

class WatchUnstableLids : public WatchLids {
 protected:
  WatchUnstableLids() : WatchLids({.lids_are_stable = false}) {}
};

TEST_F(WatchUnstableLids, AreNotChecked) {
  GiveLid(a_, 5);
  GiveLid(a_, 6);
  GiveLid(b_, 5);
  EXPECT_THAT(faults(), IsEmpty());
}

// ---- masters

class WatchMasters : public WatchTest {
 protected:
  // A Set that is never idle, at this time.
  void Write(TestClient& by, Instant at) {
    by.now = at;
    wire::LinearForwardingTable block;
    block.port.fill(++port_);
    EXPECT_TRUE(by.Set(to_switch_, block).ok());
  }
  static Instant At(int64_t count) { return Instant(milliseconds(count)); }
  uint8_t port_ = 0;
};

TEST_F(WatchMasters, TwoThatWriteByTurns) {
  Write(a_, At(1000));
  Write(b_, At(1100));
  EXPECT_THAT(faults(), IsEmpty());  // A takeover may look so.
  Write(a_, At(1200));
  EXPECT_THAT(faults(), ElementsAre(ContainsRegex("^two writers: .* write at the same time, at ")));
}

TEST_F(WatchMasters, OneThatTakesTheSubnetBackLater) {
  Write(a_, At(1000));
  Write(b_, At(1100));
  Write(a_, At(3100));  // Later than takeover_min.
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(WatchMasters, ThoseThatCannotReachEachOtherMayWrite) {
  watch_.SetApart(At(1000), true);
  Write(a_, At(1100));
  Write(b_, At(1200));
  Write(a_, At(1300));
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(WatchMasters, AfterTheSubnetsJoinOneMustStop) {
  watch_.SetApart(At(1000), true);
  watch_.SetApart(At(2000), false);
  Write(a_, At(2100));
  Write(b_, At(2200));
  Write(a_, At(2300));
  EXPECT_THAT(faults(), IsEmpty());
  Write(a_, At(40000));
  Write(b_, At(40100));
  Write(a_, At(40200));
  EXPECT_THAT(faults(), SizeIs(1));
}

TEST_F(WatchMasters, SmInfoSetsAreNoWrites) {
  wire::Smp handover;
  handover.method = wire::Method::kSet;
  handover.attribute = AttributeId::kSmInfo;
  handover.path = to_switch_;
  Write(a_, At(1000));
  b_.now = At(1100);
  b_.Exchange(handover);
  Write(a_, At(1200));
  EXPECT_THAT(faults(), IsEmpty());
}

// ---- all of it

TEST_F(WatchTest, TheDigestDiffersBetweenRuns) {
  const auto digest_of = [](auto&& act) {
    SimFabric fabric(**Generate("superpod:sus=1,hosts=4,rails=2"));
    Watch watch(fabric, {});
    fabric.SetObserver(&watch);
    TestClient client(fabric, fabric.DefaultHostPort());
    client.now = Instant(seconds(1));
    act(client);
    return watch.digest();
  };
  const auto asks = [](AttributeId attribute, int64_t at) {
    return [=](TestClient& client) {
      client.now = Instant(milliseconds(at));
      client.Get({1}, attribute);
    };
  };
  const uint64_t digest = digest_of(asks(AttributeId::kNodeInfo, 1000));
  EXPECT_EQ(digest, digest_of(asks(AttributeId::kNodeInfo, 1000)));
  EXPECT_NE(digest, digest_of(asks(AttributeId::kNodeInfo, 1001)));
  EXPECT_NE(digest, digest_of(asks(AttributeId::kSwitchInfo, 1000)));
}

TEST_F(WatchIdle, KeepsAHundredFaultsAtMost) {
  for (int i = 0; i < 150; ++i) EXPECT_TRUE(a_.Set(to_switch_, Block(1)).ok());
  EXPECT_THAT(faults(), SizeIs(100));
}

}  // namespace
}  // namespace fabricd::sim
