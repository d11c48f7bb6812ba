// SPDX-License-Identifier: Apache-2.0
// Fabrics that another manager has configured: what a fabricd that only reads shows of them, and
// what one that is to manage them does before anybody has accepted it.
#include <cstdlib>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rng.h"
#include "policy/partitions_text.h"
#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/join.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using std::chrono::seconds;
using sweep::TakeoverRisk;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;
using wire::SmState;

constexpr char kFabric[] = "superpod:sus=1,hosts=4,rails=2";
constexpr uint64_t kOtherPrefix = 0xFEC0'0000'0000'0001;

std::set<TakeoverRisk> RisksIn(const sweep::TakeoverReport& report) {
  std::set<TakeoverRisk> risks;
  for (const sweep::TakeoverChange& change : report.risks) risks.insert(change.risk);
  return risks;
}

// How the fabric was left.
struct Legacy {
  sweep::CoreOptions options;
  std::string partitions;  // partitions.conf; empty: none.
  bool has_groups = false;
  friend void PrintTo(const Legacy& of, std::ostream* out) {
    *out << "prefix " << std::hex << of.options.sm.gid_prefix << " lmc " << int{of.options.lmc}
         << " protect " << int{of.options.sm.m_key_protect_bits} << " partitions '" << of.partitions
         << "' groups " << of.has_groups;
  }
};

class TakeoverGuardTest : public testing::Test {
 protected:
  TakeoverGuardTest() : harness_(**sim::Generate(kFabric)) {}

  // Another manager configures the fabric, and dies.
  void Leave(const Legacy& legacy) {
    const PortRef host = *harness_.fabric().FindHostPort("node0001 mlx5_0");
    other_ = harness_.Add(legacy.options, host);
    sim::Manager& other = harness_.manager(other_);
    if (legacy.has_groups) other.groups = SomeGroups();
    if (!legacy.partitions.empty()) {
      const auto applied =
          policy::Apply({.all = policy::ParsePartitions(legacy.partitions).partitions},
                        std::make_shared<policy::PartitionState>());
      ASSERT_TRUE(applied.ok()) << applied.status();
      ASSERT_TRUE(other.store.ChangeRows(policy::PartitionRows({}, *applied->after)).ok());
    }
    harness_.Start(other_);
    ASSERT_TRUE(harness_.RunUntilUp(other_)) << LogOf(other);
    harness_.RunFor(seconds(5));
    lids_ = Lids();
    harness_.Kill(other_);
    harness_.fabric().ResetStats();
  }
  std::shared_ptr<const fabric::MulticastGroups> SomeGroups() {
    fabric::MulticastGroup group{.mlid = Lid(0xC003)};
    for (const char* name : {"node0002 mlx5_0", "node0003 mlx5_0"}) {
      const PortRef port = *harness_.fabric().FindHostPort(name);
      group.members.push_back({harness_.fabric().device(port.node)->port(port.port).guid, true});
    }
    std::sort(group.members.begin(), group.members.end());
    return std::make_shared<const fabric::MulticastGroups>(fabric::MulticastGroups{{group}});
  }
  size_t JoinOurs(const sweep::CoreOptions& options) {
    return Join(harness_, "node0002 mlx5_0", options);
  }
  const sweep::FabricView& View(size_t sm) { return *harness_.manager(sm).view; }
  sweep::TakeoverReport Report(size_t sm) {
    EXPECT_NE(View(sm).takeover, nullptr) << LogOf(harness_.manager(sm));
    return View(sm).takeover == nullptr ? sweep::TakeoverReport() : *View(sm).takeover;
  }
  bool HasReport(size_t sm) {
    return View(sm).takeover != nullptr && View(sm).phase == sweep::Phase::kIdle;
  }
  // Until the first sweep has led to a report, or the subnet is up.
  void UntilDecided(size_t sm) {
    ASSERT_TRUE(harness_.RunUntil([&] {
      return HasReport(sm) || harness_.manager(sm).core->subnet_up();
    })) << LogOf(harness_.manager(sm));
  }
  absl::Status Accept(size_t sm, const std::string& id) {
    sim::Manager& manager = harness_.manager(sm);
    manager.finished.clear();
    harness_.Post(sm, sweep::AcceptTakeover{9, id});
    EXPECT_TRUE(harness_.RunUntil([&] { return !manager.finished.empty(); }));
    return manager.finished.front().status;
  }
  uint64_t Sets() { return harness_.fabric().stats().sets(); }
  std::map<PortRef, Lid> Lids() {
    std::map<PortRef, Lid> lids;
    for (uint32_t i = 0; i < harness_.fabric().node_index_end(); ++i) {
      const sim::SimDevice* device = harness_.fabric().device(NodeIndex(i));
      for (uint8_t num = 0; device != nullptr && device->HasPort(PortNum(num)); ++num)
        lids[{NodeIndex(i), PortNum(num)}] = device->port(PortNum(num)).info.lid;
    }
    return lids;
  }
  // Attributes whose Sets have reached devices, but those of multicast, which a report only counts
  // by MLID.
  std::set<std::string> AttributesSet() {
    std::set<std::string> names;
    for (const auto& [attribute, counts] : harness_.fabric().stats().smps)
      if (counts.sets > 0 && attribute != wire::AttributeId::kMulticastForwardingTable)
        names.insert(std::string(wire::AttributeName(attribute)));
    return names;
  }

  sim::Simulation harness_;
  size_t other_ = 0;
  std::map<PortRef, Lid> lids_;
};

// ---- only reading

TEST_F(TakeoverGuardTest, AnObserverReportsAndChangesNothing) {
  Legacy legacy;
  legacy.options.sm.gid_prefix = kOtherPrefix;
  legacy.has_groups = true;
  Leave(legacy);
  sweep::CoreOptions options;
  options.sm.mode = SmMode::kObserve;
  const size_t sm = JoinOurs(options);
  UntilDecided(sm);
  const sweep::TakeoverReport& report = Report(sm);
  EXPECT_EQ(RisksIn(report), std::set{TakeoverRisk::kSubnetPrefix});
  EXPECT_NE(report.id, "");
  EXPECT_EQ(report.lids_changed, 0u);
  EXPECT_EQ(report.mlids_forwarded, 1u);
  EXPECT_EQ(report.mlids_unknown, 1u);
  EXPECT_EQ(report.unresponsive_ports, 0u);
  EXPECT_GT(report.active_ports, 16u);
  EXPECT_GT(report.sets.at("PortInfo").fields.at("GidPrefix"), 8u);
  EXPECT_EQ(View(sm).sm.state, SmState::kNotActive);
  EXPECT_EQ(View(sm).sm.mode, SmMode::kObserve);
  EXPECT_FALSE(View(sm).sm.is_held);
  EXPECT_FALSE(View(sm).subnet_up);
  EXPECT_EQ(View(sm).plan, nullptr);
  // What its readers see is what the ports have.
  EXPECT_EQ(View(sm).lids->Of({NodeIndex(0), PortNum(1)}).base,
            View(sm).snapshot->port({NodeIndex(0), PortNum(1)})->info.lid);
  harness_.RunFor(std::chrono::minutes(10));
  EXPECT_EQ(Sets(), 0u);
  EXPECT_GE(View(sm).sweeps_done, 9u) << "it goes on watching";
  EXPECT_LE(View(sm).sweeps_done, 12u);
  // Nor is it asked for: it takes no command.
  EXPECT_EQ(Accept(sm, report.id).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(TakeoverGuardTest, ARunningMasterKeepsTheSubnetBesideReadersOfTheHighestPriority) {
  const size_t master = Join(harness_, "node0001 mlx5_0", {});
  ASSERT_TRUE(harness_.RunUntilUp(master));
  sweep::CoreOptions options;
  options.sm.priority = 15;
  options.sm.mode = SmMode::kStandby;
  const size_t standby = JoinOurs(options);
  options.sm.mode = SmMode::kObserve;
  const size_t observer = Join(harness_, "node0003 mlx5_0", options);
  harness_.RunFor(std::chrono::minutes(3));
  EXPECT_EQ(harness_.manager(master).core->sm_state(), SmState::kMaster);
  EXPECT_TRUE(harness_.manager(master).core->subnet_up());
  // The master sees the one, as what no master hands over to, and not the other.
  ASSERT_EQ(View(master).sm.remote.size(), 1u);
  EXPECT_EQ(View(master).sm.remote[0].state, SmState::kNotActive);
  for (const size_t reader : {standby, observer}) {
    ASSERT_NE(View(reader).takeover, nullptr);
    EXPECT_THAT(Report(reader).risks, IsEmpty());
    EXPECT_EQ(Report(reader).lids_changed, 0u);
  }
  // Neither becomes master when there is none.
  harness_.Kill(master);
  harness_.fabric().ResetStats();
  harness_.RunFor(std::chrono::minutes(3));
  EXPECT_EQ(harness_.manager(standby).core->sm_state(), SmState::kNotActive);
  EXPECT_EQ(Sets(), 0u);
}

// ---- held and accepted

TEST_F(TakeoverGuardTest, NothingIsWrittenBeforeTheReportIsAccepted) {
  Legacy legacy;
  legacy.options.sm.gid_prefix = kOtherPrefix;
  Leave(legacy);
  const size_t sm = JoinOurs({});
  UntilDecided(sm);
  EXPECT_EQ(View(sm).sm.state, SmState::kMaster);
  EXPECT_TRUE(View(sm).sm.is_held);
  EXPECT_THAT(View(sm).problems,
              Contains(testing::Field(&sweep::Problem::kind, sweep::ProblemKind::kTakeoverHeld)));
  harness_.RunFor(std::chrono::minutes(3));
  EXPECT_EQ(Sets(), 0u);
  const std::string id = Report(sm).id;
  EXPECT_EQ(Accept(sm, "0000000000000000").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Sets(), 0u);
  ASSERT_TRUE(Accept(sm, id).ok());
  ASSERT_TRUE(harness_.RunUntilUp(sm)) << LogOf(harness_.manager(sm));
  EXPECT_FALSE(View(sm).sm.is_held);
  EXPECT_EQ(Lids(), lids_);
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
  size_t held = 0;
  for (const fabric::FabricEvent& event : harness_.manager(sm).events)
    held += event.type == "TakeoverHeld";
  EXPECT_EQ(held, 1u);
}

TEST_F(TakeoverGuardTest, AnIdOfTheCommandLineIsAcceptance) {
  Legacy legacy;
  legacy.options.sm.gid_prefix = kOtherPrefix;
  Leave(legacy);
  sweep::CoreOptions options;
  options.sm.mode = SmMode::kObserve;
  const size_t observer = Join(harness_, "node0003 mlx5_0", options);
  UntilDecided(observer);
  options.sm.mode = SmMode::kManage;
  options.takeover.accept = Report(observer).id;
  const size_t sm = JoinOurs(options);
  EXPECT_TRUE(harness_.RunUntilUp(sm)) << LogOf(harness_.manager(sm));
}

TEST_F(TakeoverGuardTest, AcceptanceLastsOverAKillInTheMiddleOfTheTakeover) {
  Legacy legacy;
  legacy.options.sm.gid_prefix = kOtherPrefix;
  Leave(legacy);
  const size_t sm = JoinOurs({});
  UntilDecided(sm);
  ASSERT_TRUE(Accept(sm, Report(sm).id).ok());
  ASSERT_TRUE(harness_.RunUntil([&] { return Sets() > 5; }));
  harness_.Kill(sm);
  harness_.Start(sm);
  EXPECT_TRUE(harness_.RunUntilUp(sm)) << LogOf(harness_.manager(sm));
}

TEST_F(TakeoverGuardTest, AcceptanceIsDurableWhenItIsAcknowledged) {
  Legacy legacy;
  legacy.options.sm.gid_prefix = kOtherPrefix;
  legacy.options.lmc = 1;
  Leave(legacy);
  const size_t sm = JoinOurs({});
  UntilDecided(sm);
  sim::Manager& manager = harness_.manager(sm);
  manager.executor.store_time = seconds(1);
  const std::string id = Report(sm).id;
  harness_.Post(sm, sweep::AcceptTakeover{9, id});
  harness_.RunFor(std::chrono::milliseconds(500));
  EXPECT_THAT(manager.finished, IsEmpty());
  harness_.Kill(sm);
  harness_.Start(sm);
  UntilDecided(sm);
  EXPECT_TRUE(View(sm).sm.is_held) << "no answer has said that it is accepted";
  ASSERT_TRUE(Accept(sm, id).ok());
  harness_.Kill(sm);
  EXPECT_EQ(Sets(), 0u);
  harness_.Start(sm);
  EXPECT_TRUE(harness_.RunUntilUp(sm)) << LogOf(manager);
}

// ---- what the store vouches for

TEST_F(TakeoverGuardTest, ARestartIsNeverStopped) {
  const size_t sm = JoinOurs({});
  ASSERT_TRUE(harness_.RunUntilUp(sm));
  harness_.Kill(sm);
  // Its operator wants something else from now on.
  sim::Manager& manager = harness_.manager(sm);
  manager.options.sm.gid_prefix = kOtherPrefix;
  manager.options.lmc = 1;
  manager.options.sm.m_key = MKey(0x1234);
  harness_.Start(sm);
  EXPECT_TRUE(harness_.RunUntilUp(sm)) << LogOf(manager);
  // In the middle of that, too, and in another place.
  harness_.Kill(sm);
  manager.options.sm.gid_prefix = 0xFEC0'0000'0000'0002;
  manager.options.lmc = 2;
  manager.host = *harness_.fabric().FindHostPort("node0004 mlx5_0");
  harness_.fabric().ResetStats();
  harness_.Start(sm);
  ASSERT_TRUE(harness_.RunUntil([&] { return Sets() > 5; }));
  harness_.Kill(sm);
  harness_.Start(sm);
  EXPECT_TRUE(harness_.RunUntilUp(sm)) << LogOf(manager);
}

TEST_F(TakeoverGuardTest, ASecondFabricdOfTheSameConfigurationTakesOver) {
  Legacy legacy;
  legacy.options.sm.gid_prefix = kOtherPrefix;
  legacy.options.lmc = 1;
  Leave(legacy);
  const size_t sm = JoinOurs(legacy.options);
  EXPECT_TRUE(harness_.RunUntilUp(sm)) << LogOf(harness_.manager(sm));
  EXPECT_EQ(Lids(), lids_);
}

// A third of the fabric becomes unresponsive with its links up, and the master dies.
TEST_F(TakeoverGuardTest, SilenceHoldsNoFailoverToAStandbyThatHasReadTheFabric) {
  sweep::CoreOptions options;
  options.sm.priority = 5;
  const size_t master = Join(harness_, "node0001 mlx5_0", options);
  ASSERT_TRUE(harness_.RunUntilUp(master));
  options.sm.priority = 1;
  options.takeover.unresponsive_percent = 5;
  const size_t standby = JoinOurs(options);
  harness_.RunFor(seconds(5));
  ASSERT_EQ(harness_.manager(standby).core->sm_state(), SmState::kStandby);
  std::vector<PortRef> hosts;
  for (const char* name :
       {"node0003 mlx5_0", "node0003 mlx5_1", "node0004 mlx5_0", "node0004 mlx5_1"})
    hosts.push_back(*harness_.fabric().FindHostPort(name));
  const auto set_loss = [&](double loss) {
    for (const PortRef port : hosts) harness_.fabric().SetLinkLoss(port, loss);
  };
  set_loss(1);
  harness_.Kill(master);
  ASSERT_TRUE(harness_.RunUntilUp(standby)) << LogOf(harness_.manager(standby));
  harness_.Kill(standby);
  // One that has never seen them is held, until they speak.
  const size_t unaware = Join(harness_, "node0002 mlx5_1", options);
  UntilDecided(unaware);
  EXPECT_TRUE(View(unaware).sm.is_held);
  EXPECT_EQ(RisksIn(Report(unaware)), std::set{TakeoverRisk::kUnresponsivePorts});
  set_loss(0);
  EXPECT_TRUE(harness_.RunUntilUp(unaware)) << LogOf(harness_.manager(unaware));
}

TEST_F(TakeoverGuardTest, AnotherManagerOnTheSamePortIsNoticedByItsSettings) {
  const size_t sm = Join(harness_, "node0001 mlx5_0", {});
  ASSERT_TRUE(harness_.RunUntilUp(sm));
  harness_.Kill(sm);
  Legacy legacy;
  legacy.options.sm.gid_prefix = kOtherPrefix;
  legacy.options.takeover.accept = "";
  // It has no store of ours, and is made to take the fabric.
  const PortRef host = *harness_.fabric().FindHostPort("node0001 mlx5_0");
  const size_t other = harness_.Add(legacy.options, host);
  harness_.Start(other);
  UntilDecided(other);
  ASSERT_TRUE(Accept(other, Report(other).id).ok());
  ASSERT_TRUE(harness_.RunUntilUp(other));
  harness_.Kill(other);
  harness_.Start(sm);
  UntilDecided(sm);
  EXPECT_TRUE(View(sm).sm.is_held);
  EXPECT_EQ(RisksIn(Report(sm)), std::set{TakeoverRisk::kSubnetPrefix});
}

TEST_F(TakeoverGuardTest, DevicesBehindUnknownMKeysAreUnresponsivePorts) {
  Legacy legacy;
  legacy.options.sm.m_key_protect_bits = 2;
  for (const char* name :
       {"node0003 mlx5_0", "node0003 mlx5_1", "node0004 mlx5_0", "node0004 mlx5_1"}) {
    const PortRef port = *harness_.fabric().FindHostPort(name);
    legacy.options.sm.m_key_by_guid[harness_.fabric().device(port.node)->port(port.port).guid] =
        MKey(0xABCD);
  }
  Leave(legacy);
  sweep::CoreOptions options;
  options.sm.m_key_protect_bits = 2;
  options.takeover.unresponsive_percent = 5;
  const size_t sm = JoinOurs(options);
  UntilDecided(sm);
  EXPECT_TRUE(View(sm).sm.is_held);
  EXPECT_EQ(Report(sm).unresponsive_ports, 4u);
  EXPECT_EQ(RisksIn(Report(sm)), std::set{TakeoverRisk::kUnresponsivePorts});
  EXPECT_EQ(Sets(), 0u);
}

TEST_F(TakeoverGuardTest, EnforcementThatAnotherManagerHasSwitchedOnStaysOn) {
  Legacy legacy;
  legacy.partitions = "Default=0x7fff: ALL=full; A=1: ALL_CAS=limited;";
  legacy.options.policy.partitions.enforce_inbound = true;
  Leave(legacy);
  // Each has the table of the host behind it, or would drop its packets.
  const auto& fabric = harness_.fabric();
  const auto enforcing = [&] {
    size_t ports = 0;
    for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
      const sim::SimDevice* device = fabric.device(NodeIndex(i));
      const bool is_switch = device != nullptr && device->IsSwitch();
      for (uint8_t num = 1; is_switch && device->HasPort(PortNum(num)); ++num) {
        if (!device->port(PortNum(num)).info.partition_enforcement_inbound) continue;
        const auto [node, port] = fabric.LinkedPeer({NodeIndex(i), PortNum(num)});
        EXPECT_EQ(device->PKeyBlock(PortNum(num), 0), fabric.device(node)->PKeyBlock(port, 0));
        ++ports;
      }
    }
    return ports;
  };
  ASSERT_EQ(enforcing(), 8u);
  sweep::CoreOptions options;
  options.policy.partitions.enforce_inbound = options.policy.partitions.enforce_outbound = false;
  const size_t sm = JoinOurs(options);
  UntilDecided(sm);
  ASSERT_TRUE(!View(sm).sm.is_held || Accept(sm, Report(sm).id).ok());
  ASSERT_TRUE(harness_.RunUntilUp(sm)) << LogOf(harness_.manager(sm));
  EXPECT_EQ(enforcing(), 8u);
  // Not only in the first sweep, and with other keys.
  auto other = policy::ParsePartitions("Default=0x7fff: ALL=full; B=2: ALL_CAS=full;").partitions;
  harness_.Post(sm, sweep::ChangePartitions{1, {.all = std::move(other)}});
  harness_.Post(sm, sweep::SweepCommand{2, true});
  harness_.RunFor(seconds(30));
  EXPECT_EQ(enforcing(), 8u);
  EXPECT_THAT(fabric.device(NodeIndex(0))->PKeyBlock(PortNum(1), 0).keys, Contains(PKey(0x8002)));
}

// ---- the corpus

struct Scene {
  Legacy legacy;
  sweep::CoreOptions ours;
  std::set<TakeoverRisk> expected;
};

// How a fabric was left, how it is to be managed, and what of that needs acceptance.
Scene DrawScene(uint64_t seed) {
  Rng rng(Rng(seed).Next());
  Scene scene;
  sweep::CoreOptions& theirs = scene.legacy.options;
  sweep::CoreOptions& ours = scene.ours;
  constexpr uint64_t kPrefixes[] = {0xFE80'0000'0000'0000, kOtherPrefix, 0xFEC0'0000'0000'00FF};
  theirs.sm.gid_prefix = kPrefixes[rng.Below(3)];
  ours.sm.gid_prefix = rng.Chance(0.5) ? theirs.sm.gid_prefix : kPrefixes[rng.Below(3)];
  theirs.lmc = static_cast<uint8_t>(rng.Below(3));
  ours.lmc = rng.Chance(0.5) ? theirs.lmc : static_cast<uint8_t>(rng.Below(3));
  if (rng.Chance(0.3)) ours.sm.m_key = MKey(0x77);
  if (rng.Chance(0.5)) theirs.sm.m_key = ours.sm.m_key;
  if (ours.sm.m_key) {
    ours.sm.m_key_protect_bits = static_cast<uint8_t>(rng.Below(2));
    if (theirs.sm.m_key) theirs.sm.m_key_protect_bits = static_cast<uint8_t>(rng.Below(2));
  }
  if (rng.Chance(0.3)) scene.legacy.partitions = "Default=0x7fff: ALL=limited, SELF=full;";
  theirs.policy.partitions.enforce_inbound = rng.Chance(0.5);
  scene.legacy.has_groups = rng.Chance(0.5);
  theirs.sm.priority = static_cast<uint8_t>(rng.Below(16));
  if (theirs.sm.gid_prefix != ours.sm.gid_prefix)
    scene.expected.insert(TakeoverRisk::kSubnetPrefix);
  if (theirs.lmc != ours.lmc) scene.expected.insert(TakeoverRisk::kLmc);
  if (theirs.sm.m_key != ours.sm.m_key) scene.expected.insert(TakeoverRisk::kMKey);
  if (theirs.sm.m_key_protect_bits != ours.sm.m_key_protect_bits)
    scene.expected.insert(TakeoverRisk::kMKeyProtect);
  if (!scene.legacy.partitions.empty()) scene.expected.insert(TakeoverRisk::kPKeys);
  return scene;
}

class TakeoverCorpus : public TakeoverGuardTest, public testing::WithParamInterface<uint64_t> {};

TEST_P(TakeoverCorpus, IsHeldUntilAcceptedAndSetsReportedAttributesOnly) {
  const Scene scene = DrawScene(GetParam());
  SCOPED_TRACE(testing::PrintToString(scene.legacy));
  Leave(scene.legacy);
  const size_t sm = JoinOurs(scene.ours);
  // The report of an observer is what the guard will say.
  sweep::CoreOptions options = scene.ours;
  options.sm.mode = SmMode::kObserve;
  const size_t observer = Join(harness_, "node0003 mlx5_0", options);
  if (scene.expected.empty()) {
    ASSERT_TRUE(harness_.RunUntilUp(sm)) << LogOf(harness_.manager(sm));
    EXPECT_EQ(View(sm).takeover, nullptr);
    return;
  }
  UntilDecided(sm);
  UntilDecided(observer);
  ASSERT_TRUE(View(sm).sm.is_held) << LogOf(harness_.manager(sm));
  const sweep::TakeoverReport report = Report(sm);
  EXPECT_EQ(RisksIn(report), scene.expected);
  EXPECT_EQ(Report(observer).id, report.id);
  EXPECT_EQ(Sets(), 0u);
  EXPECT_EQ(report.mlids_unknown, scene.legacy.has_groups ? 1u : 0u);
  ASSERT_TRUE(Accept(sm, report.id).ok());
  ASSERT_TRUE(harness_.RunUntilUp(sm)) << LogOf(harness_.manager(sm));
  for (const std::string& attribute : AttributesSet())
    EXPECT_TRUE(report.sets.contains(attribute)) << attribute;
  if (report.lids_changed == 0 && scene.ours.lmc == scene.legacy.options.lmc) {
    EXPECT_EQ(Lids(), lids_);
  }
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
  EXPECT_THAT(sim::LidFaults(harness_.fabric()), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Some, TakeoverCorpus,
                         testing::Range(uint64_t{1},
                                        uint64_t{std::getenv("FABRICD_NIGHTLY") ? 501u : 21u}));

}  // namespace
}  // namespace fabricd::test
