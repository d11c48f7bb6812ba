// SPDX-License-Identifier: Apache-2.0
// Tables that another program has written: found by reading them back, told of, and repaired.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mad/wire/tables.h"
#include "sim/checkers/checkers.h"
#include "sim/faults/directed_path.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using wire::AttributeId;

class ForeignWrites : public testing::Test {
 protected:
  explicit ForeignWrites(const char* fabric = "superpod:sus=1,hosts=4,rails=2",
                         sweep::CoreOptions options = {})
      : harness_(**sim::Generate(fabric)) {
    sm_ = harness_.Add(std::move(options));
    harness_.Start(sm_);
    EXPECT_TRUE(harness_.RunUntilUp(sm_)) << LogOf(harness_.manager(sm_));
    harness_.RunFor(seconds(15));  // What is settled, and a light sweep.
  }
  NodeIndex Node(const std::string& name) { return harness_.fabric().FindNode(name).value(); }
  // One SMP of a host that is not the SM's.
  wire::Smp Ask(wire::Method method, NodeIndex node, AttributeId attribute, uint32_t modifier,
                const wire::SmpData& data = {}) {
    const PortRef host = *harness_.fabric().FindHostPort("node0002 mlx5_0");
    wire::Smp smp;
    smp.method = method;
    smp.attribute = attribute;
    smp.modifier = modifier;
    smp.data = data;
    smp.tid = TransactionId(++tid_);
    smp.path = sim::FindPath(harness_.fabric(), host, node);
    mad::OutgoingMad mad;
    mad.timeout = seconds(1);
    mad.payload.resize(wire::kMadBytes);
    smp.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
    harness_.fabric().Attach(host);
    const auto answer = harness_.fabric().Exchange(harness_.now(), host, std::move(mad)).back();
    EXPECT_EQ(answer.kind, mad::IncomingMad::Kind::kReceived);
    return *wire::Smp::Decode(
        std::span<const uint8_t, wire::kMadBytes>(answer.payload.data(), wire::kMadBytes));
  }
  wire::SmpData Read(NodeIndex node, AttributeId attribute, uint32_t modifier) {
    return Ask(wire::Method::kGet, node, attribute, modifier).data;
  }
  // All LIDs of a leaf's block 0 leave by port 1.
  void CorruptForwarding(NodeIndex node) {
    wire::SmpData data;
    data.fill(1);
    EXPECT_EQ(Ask(wire::Method::kSet, node, AttributeId::kLinearForwardingTable, 0, data).status,
              wire::kStatusOk);
    EXPECT_THAT(Unlike(), testing::Not(IsEmpty()));
  }
  std::vector<std::string> Unlike() {
    const auto& view = *harness_.manager(sm_).view;
    return sim::TablesUnlikePlan(harness_.fabric(), *view.snapshot, *view.plan);
  }
  std::vector<const fabric::FabricEvent*> Findings() {
    std::vector<const fabric::FabricEvent*> found;
    for (const auto& event : harness_.manager(sm_).events)
      if (event.type == "TableDiffers") found.push_back(&event);
    return found;
  }
  uint64_t Sets() { return harness_.fabric().stats().sets(); }
  // True: it ends.
  bool HeavySweep() {
    harness_.manager(sm_).finished.clear();
    harness_.Post(sm_, sweep::SweepCommand{7, true});
    return harness_.RunUntil([&] { return !harness_.manager(sm_).finished.empty(); });
  }

  sim::Simulation harness_;
  size_t sm_ = 0;
  uint32_t tid_ = 0;
};

TEST_F(ForeignWrites, AreFoundByLightSweeps) {
  CorruptForwarding(Node("su1-rail0-leaf"));
  const uint64_t sets = Sets();
  harness_.RunFor(seconds(11));
  EXPECT_THAT(Unlike(), IsEmpty()) << LogOf(harness_.manager(sm_));
  EXPECT_EQ(Sets() - sets, 1u);
}

TEST_F(ForeignWrites, AreReportedWithDeviceTableAndEntries) {
  const NodeIndex leaf = Node("su1-rail0-leaf");
  const auto before =
      wire::LinearForwardingTable::Decode(Read(leaf, AttributeId::kLinearForwardingTable, 0));
  CorruptForwarding(leaf);
  harness_.RunFor(seconds(11));
  ASSERT_EQ(Findings().size(), 1u);
  const fabric::FabricEvent& event = *Findings().front();
  EXPECT_EQ(event.subject, "su1-rail0-leaf");
  EXPECT_EQ(event.node, harness_.fabric().device(leaf)->guid());
  EXPECT_EQ(event.severity, fabric::Severity::kWarning);
  const auto differing =
      std::count_if(before.port.begin(), before.port.end(), [](uint8_t port) { return port != 1; });
  std::string held, shown;
  for (const uint8_t port : before.port) held += fmt::format("{:02x}", port);
  for (size_t i = 0; i < before.port.size(); ++i) shown += "01";
  EXPECT_THAT(
      event.facts,
      ElementsAre(Pair("table", "LinearForwardingTable"), Pair("port", "0"), Pair("block", "0"),
                  Pair("held", held), Pair("shown", shown), Pair("blocks", "1"),
                  Pair("entries", fmt::format("{}", differing)), Pair("times", "1")));
}

TEST_F(ForeignWrites, AreRepairedByARequestedHeavySweep) {
  CorruptForwarding(Node("su1-rail0-leaf"));
  CorruptForwarding(Node("spine1"));
  ASSERT_TRUE(HeavySweep());
  EXPECT_THAT(Unlike(), IsEmpty()) << LogOf(harness_.manager(sm_));
  EXPECT_EQ(Findings().size(), 2u);
  const uint64_t sets = Sets();
  ASSERT_TRUE(HeavySweep());
  EXPECT_EQ(Sets(), sets);
}

TEST_F(ForeignWrites, AreRepairedByAReload) {
  CorruptForwarding(Node("su1-rail0-leaf"));
  harness_.Post(sm_, sweep::OptionsChanged{harness_.manager(sm_).options});
  harness_.RunFor(seconds(2));
  EXPECT_THAT(Unlike(), IsEmpty()) << LogOf(harness_.manager(sm_));
}

TEST_F(ForeignWrites, OfOtherTablesAreFoundByLightSweepsToo) {
  const NodeIndex host = Node("node0003 mlx5_0"), leaf = Node("su1-rail0-leaf");
  const auto keys = Read(host, AttributeId::kPKeyTable, 0);
  Ask(wire::Method::kSet, host, AttributeId::kPKeyTable, 0);
  auto info = wire::PortInfo::Decode(Read(host, AttributeId::kPortInfo, 1));
  const auto lid = std::exchange(info.lid, Lid(99));
  info.master_sm_lid = Lid(98);
  info.port_state = wire::PortState::kNoChange;
  info.port_physical_state = wire::PortPhysicalState::kNoChange;
  wire::SmpData data{};
  info.Encode(data);
  Ask(wire::Method::kSet, host, AttributeId::kPortInfo, 1, data);
  data.fill(0x11);
  Ask(wire::Method::kSet, leaf, AttributeId::kMulticastForwardingTable, 0, data);
  harness_.RunFor(seconds(60));
  EXPECT_EQ(Read(host, AttributeId::kPKeyTable, 0), keys) << LogOf(harness_.manager(sm_));
  EXPECT_EQ(wire::PortInfo::Decode(Read(host, AttributeId::kPortInfo, 1)).lid, lid);
  EXPECT_EQ(Read(leaf, AttributeId::kMulticastForwardingTable, 0), wire::SmpData{});
  EXPECT_EQ(Findings().size(), 3u);
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
}

// Answers each Get of a forwarding table with other bytes, and each Set with what was set.
class Liar : public sim::SimObserver {
 public:
  explicit Liar(NodeIndex node) : node_(node) {}
  void OnServed(const sim::SimObserver::Served& served) override {
    if (served.ingress.node == node_ && served.request.method == wire::Method::kGet &&
        served.request.attribute == AttributeId::kLinearForwardingTable)
      gets_.insert(served.request.tid);
  }
  bool Tamper(mad::IncomingMad& mad) {
    const std::span<uint8_t, wire::kMadBytes> bytes(mad.payload.data(), wire::kMadBytes);
    auto smp = wire::Smp::Decode(bytes);
    if (!smp || gets_.erase(smp->tid) == 0) return true;
    smp->data.fill(++noise_);
    smp->Encode(bytes);
    return true;
  }

 private:
  const NodeIndex node_;
  std::set<TransactionId> gets_;
  uint8_t noise_ = 0;
};

TEST_F(ForeignWrites, OfADeviceWithWrongResponsesAreRepairedAtGrowingIntervals) {
  Liar liar(Node("su1-rail0-leaf"));
  harness_.fabric().SetObserver(&liar);
  harness_.manager(sm_).tamper = [&](mad::IncomingMad& mad) { return liar.Tamper(mad); };
  const uint64_t sets = Sets();
  harness_.RunFor(hours(6));
  EXPECT_THAT(Findings(), testing::SizeIs(testing::AllOf(testing::Ge(8u), testing::Le(16u))));
  EXPECT_LE(Sets() - sets, 16u);
  EXPECT_THAT(Unlike(), IsEmpty());
  harness_.fabric().SetObserver(nullptr);
}

class SlowAudit : public ForeignWrites {
 protected:
  SlowAudit() : ForeignWrites("fat-tree:radix=4,levels=3", Options()) {}
  static sweep::CoreOptions Options() {
    sweep::CoreOptions options;
    options.audit.rate = 4;  // One sample takes seconds.
    return options;
  }
};

TEST_F(SlowAudit, ReadsNothingWhileAChangeIsFollowedUp) {
  sim::Manager& manager = harness_.manager(sm_);
  const auto is_idle = [&] { return manager.view->phase == sweep::Phase::kIdle; };
  size_t idle = 0, urgent = 0;
  manager.tamper = [&](mad::IncomingMad& mad) {
    const auto smp = wire::Smp::Decode(
        std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
    if (smp && smp->method == wire::Method::kGetResp &&
        smp->attribute == AttributeId::kLinearForwardingTable)
      ++(is_idle() ? idle : urgent);
    return true;
  };
  ASSERT_TRUE(harness_.RunUntil([&] { return idle >= 6; }));
  // A host that comes back and does not respond makes the survey last.
  const PortRef host = *harness_.fabric().FindHostPort("node0003 mlx5_0");
  ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), host).ok());
  harness_.fabric().SetLinkLoss(host, 1);
  ASSERT_TRUE(harness_.fabric().Link(harness_.now(), host).ok());
  ASSERT_TRUE(harness_.RunUntil([&] { return !is_idle(); }));
  const Instant begin = harness_.now();
  ASSERT_TRUE(harness_.RunUntil(is_idle));
  EXPECT_GE(harness_.now() - begin, seconds(1));
  EXPECT_EQ(urgent, 0u);
  idle = 0;
  harness_.RunFor(seconds(20));
  EXPECT_GT(idle, 0u) << "it goes on";
}

class WithoutAudit : public ForeignWrites {
 protected:
  WithoutAudit() : ForeignWrites("superpod:sus=1,hosts=4,rails=2", Options()) {}
  static sweep::CoreOptions Options() {
    sweep::CoreOptions options;
    options.audit.enabled = false;
    return options;
  }
};

TEST_F(WithoutAudit, ARequestedSweepFindsThemAlsoWhereAnotherOneInterruptsItsReadBack) {
  CorruptForwarding(Node("su1-rail0-leaf"));
  harness_.RunFor(seconds(30));
  ASSERT_THAT(Unlike(), testing::Not(IsEmpty()));
  sim::Manager& manager = harness_.manager(sm_);
  const uint32_t sweeps = manager.core->sweeps_done();
  harness_.Post(sm_, sweep::SweepCommand{7, true});
  ASSERT_TRUE(harness_.RunUntil([&] { return manager.core->sweeps_done() > sweeps; }));
  ASSERT_THAT(manager.finished, IsEmpty());
  harness_.Post(sm_, mad::LocalPortEvent{mad::LocalPortEvent::Kind::kPortDown});
  ASSERT_TRUE(harness_.RunUntil([&] { return !manager.finished.empty(); })) << LogOf(manager);
  EXPECT_EQ(manager.core->sweeps_done(), sweeps + 2);
  EXPECT_THAT(Unlike(), IsEmpty()) << LogOf(manager);
}

class ForeignLanes : public ForeignWrites {
 protected:
  ForeignLanes() : ForeignWrites("torus:dims=5x5,hosts=1", Options()) {}
  static sweep::CoreOptions Options() {
    sweep::CoreOptions options;
    options.routing.chain = {"layered"};
    options.routing.lanes_max = 8;
    return options;
  }
};

TEST_F(ForeignLanes, AreFoundByLightSweepsAndByHeavyOnes) {
  const NodeIndex node = harness_.manager(sm_).host.node;
  const NodeIndex at = harness_.fabric().LinkedPeer(harness_.manager(sm_).host).node;
  ASSERT_NE(at, node);
  const uint32_t map = wire::SlToVlMappingTable::Modifier(PortNum(1), PortNum(2));
  const auto before = Read(at, AttributeId::kSlToVlMappingTable, map);
  ASSERT_NE(before, wire::SmpData{});
  Ask(wire::Method::kSet, at, AttributeId::kSlToVlMappingTable, map);
  ASSERT_TRUE(HeavySweep());
  EXPECT_EQ(Read(at, AttributeId::kSlToVlMappingTable, map), before)
      << LogOf(harness_.manager(sm_));
  Ask(wire::Method::kSet, at, AttributeId::kSlToVlMappingTable, map);
  EXPECT_TRUE(harness_.RunUntil([&] { return Findings().size() == 2; }, std::chrono::minutes(10)));
  harness_.RunFor(seconds(1));
  EXPECT_EQ(Read(at, AttributeId::kSlToVlMappingTable, map), before)
      << LogOf(harness_.manager(sm_));
}

}  // namespace
}  // namespace fabricd::test
