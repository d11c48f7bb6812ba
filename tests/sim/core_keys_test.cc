// SPDX-License-Identifier: Apache-2.0
// M_Keys: devices that check them take part in all that a manager does, and their traps end.
#include <memory>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mad/wire/sa_header.h"
#include "mad/wire/smp.h"
#include "mad/wire/tables.h"
#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "sweep/device/m_keys.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using std::chrono::seconds;
using testing::IsEmpty;

const std::string kSecret = "the first secret of this subnet!", kNextSecret = "and the second one";

class CoreKeys : public testing::Test {
 protected:
  CoreKeys() { MakeFabric(); }

  void MakeFabric() {
    simulation_ =
        std::make_unique<sim::Simulation>(**sim::Generate("superpod:sus=2,hosts=2,rails=2"));
  }

  static sweep::CoreOptions WithKey(uint64_t key, uint8_t protect, uint16_t lease = 0) {
    sweep::CoreOptions options;
    options.sm.m_key = MKey(key);
    options.sm.m_key_protect_bits = protect;
    options.sm.m_key_lease_period = lease;
    return options;
  }
  static sweep::CoreOptions WithSecret(const std::string& secret, uint8_t protect = 2) {
    sweep::CoreOptions options = WithKey(0, protect);
    options.sm.m_key_secret = secret;
    return options;
  }
  static void Replace(sweep::SmOptions& sm, const std::string& secret) {
    sm.former_m_key_secrets = {sm.m_key_secret};
    sm.m_key_secret = secret;
  }
  static bool IsHeld(const sim::Manager& manager) {
    return manager.view->sm.is_held && manager.view->takeover != nullptr;
  }
  // Starts a manager with a store of its own. A takeover that is held is accepted: the one before
  // had other settings.
  size_t StartAndAccept(sweep::CoreOptions options) {
    const size_t sm = simulation_->Add(std::move(options));
    const sim::Manager& manager = simulation_->manager(sm);
    simulation_->Start(sm);
    simulation_->RunUntil([&] { return manager.view->sm.Manages() || IsHeld(manager); });
    if (IsHeld(manager))
      simulation_->Post(sm, sweep::AcceptTakeover{1, manager.view->takeover->id});
    return sm;
  }
  // To be ended by Kill().
  size_t Manage(sweep::CoreOptions options) {
    const size_t sm = StartAndAccept(std::move(options));
    EXPECT_TRUE(simulation_->RunUntilUp(sm)) << LogOf(simulation_->manager(sm));
    EXPECT_THAT(sim::PortsNotActive(simulation_->fabric()), IsEmpty());
    EXPECT_THAT(sim::BrokenPairs(simulation_->fabric()), IsEmpty());
    return sm;
  }
  void Kill(size_t sm) {
    simulation_->Kill(sm);
    simulation_->RunFor(seconds(1));
  }
  // visit(GUID, PortInfo) for each end port.
  template <typename Visit>
  void ForEachEndPort(Visit visit) {
    for (uint32_t index = 0; simulation_->fabric().device(NodeIndex(index)) != nullptr; ++index) {
      const sim::SimDevice& device = *simulation_->fabric().device(NodeIndex(index));
      const bool is_switch = device.IsSwitch();
      for (uint8_t port = is_switch ? 0 : 1; port <= (is_switch ? 0 : device.last_port().value());
           ++port)
        visit(device.port(PortNum(port)).guid, device.port(PortNum(port)).info);
    }
  }
  void ExpectKeys(const sweep::SmOptions& sm) {
    ForEachEndPort([&](Guid guid, const wire::PortInfo& info) {
      EXPECT_EQ(info.m_key, sweep::WantedMKey(sm, guid));
      EXPECT_EQ(info.m_key_protect_bits, sm.m_key_protect_bits);
      EXPECT_EQ(info.m_key_lease_period, sm.m_key_lease_period);
      EXPECT_EQ(info.m_key_violations, 0) << fmt::format("{}", guid);
    });
  }
  size_t CountKeysOf(const std::string& secret) {
    size_t count = 0;
    ForEachEndPort([&](Guid guid, const wire::PortInfo& info) {
      count += info.m_key == sweep::DeriveMKey(secret, guid);
    });
    return count;
  }
  PortRef Host(const std::string& name) { return *simulation_->fabric().FindHostPort(name); }

  // A host sends with a P_Key that the receiver has not: trap 257.
  void SendWithForeignPKey(PortRef from, PortRef to) {
    auto& fabric = simulation_->fabric();
    fabric.Attach(from);
    wire::Smp set;
    set.method = wire::Method::kSet;
    set.attribute = wire::AttributeId::kPKeyTable;
    set.tid = TransactionId(77);
    set.path = wire::DirectedPath{};
    set.m_key = fabric.device(from.node)->port(from.port).info.m_key;
    wire::PKeyTable table;
    table.keys[0] = PKey(0xFFFF);
    table.keys[1] = PKey(0x8123);
    table.Encode(set.data);
    mad::OutgoingMad mad;
    mad.agent = mad::Agent::kSmpDirected;
    mad.timeout = seconds(1);
    mad.payload.resize(wire::kMadBytes);
    set.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
    ASSERT_TRUE(fabric.Send(simulation_->now(), from, std::move(mad)).ok());
    simulation_->RunFor(std::chrono::milliseconds(1));
    wire::SaHeader header;
    header.mad.management_class = wire::ManagementClass::kSubnAdm;
    header.mad.class_version = 2;
    header.mad.method = wire::Method::kGet;
    header.mad.transaction_id = 1;
    mad::OutgoingMad query;
    query.agent = mad::Agent::kSubnAdm;
    query.to.lid = fabric.device(to.node)->port(to.port).info.lid;
    query.to.qpn = 1;
    query.to.pkey_index = 1;
    query.timeout = seconds(1);
    query.payload.resize(wire::kMadBytes);
    header.Encode(std::span<uint8_t, wire::kMadBytes>(query.payload.data(), wire::kMadBytes));
    ASSERT_TRUE(fabric.Send(simulation_->now(), from, std::move(query)).ok());
  }

  std::unique_ptr<sim::Simulation> simulation_;
};

// Traps 128, 144 and 257 are repressed at each level, with one key and with a key for each port,
// and a lease does not run out by what the manager sends.
TEST_F(CoreKeys, TrapsEndWithTheirFirstRepress) {
  for (const bool derived : {false, true}) {
    for (const uint8_t protect : {0, 1, 2, 3}) {
      for (const uint16_t lease : {0, 3}) {
        SCOPED_TRACE(fmt::format("derived {} protect {} lease {}", derived, protect, lease));
        MakeFabric();
        sweep::CoreOptions options = WithKey(derived ? 0 : 0x5EC2E7, protect, lease);
        if (derived) options.sm.m_key_secret = kSecret;
        Manage(options);
        simulation_->RunFor(seconds(5));
        simulation_->fabric().ResetStats();
        const PortRef host = Host("node0002 mlx5_0");
        ASSERT_TRUE(simulation_->fabric().Unlink(simulation_->now(), host).ok());
        simulation_->RunFor(seconds(5));
        ASSERT_TRUE(simulation_->fabric().Link(simulation_->now(), host).ok());
        simulation_->RunFor(seconds(5));
        simulation_->fabric().SetScriptedSm(simulation_->now(), Host("node0003 mlx5_0"),
                                            wire::SmInfo{.guid = Guid(1)});
        SendWithForeignPKey(Host("node0003 mlx5_1"), Host("node0002 mlx5_1"));
        simulation_->RunFor(seconds(20));
        const sim::SimStats& stats = simulation_->fabric().stats();
        EXPECT_EQ(stats.lost_p_key, 1u);
        EXPECT_GE(stats.traps_sent, 4u);
        EXPECT_LE(stats.traps_sent, 6u) << "they were not repressed";
        EXPECT_EQ(stats.lost_m_key, 0u);
        ExpectKeys(options.sm);
      }
    }
  }
}

// A guess would be a violation, start the lease, and stop no trap.
TEST_F(CoreKeys, ATrapOfAPortThatIsNotKnownYetIsRepressedLater) {
  sweep::CoreOptions options = WithSecret(kSecret);
  options.sm.m_key_lease_period = 3;
  const size_t first = Manage(options);
  options.sm.neighbors = fabric::NeighborsOf(*simulation_->manager(first).view->snapshot);
  SendWithForeignPKey(Host("node0003 mlx5_1"), Host("node0002 mlx5_1"));
  simulation_->Kill(first);
  simulation_->fabric().ResetStats();
  Manage(options);
  simulation_->RunFor(seconds(20));
  const sim::SimStats& stats = simulation_->fabric().stats();
  EXPECT_GT(stats.traps_sent, 0u);
  EXPECT_EQ(stats.lost_m_key, 0u);
  ExpectKeys(options.sm);
  const auto sent = stats.traps_sent;
  simulation_->RunFor(seconds(20));
  EXPECT_EQ(stats.traps_sent, sent) << "it was not repressed";
}

// Somebody tries a key at a host: the lease begins, and ends the protection unless the manager
// shows the key in time, or else writes the settings again.
TEST_F(CoreKeys, ALeaseThatAForeignSetHasStartedEndsNoProtectionForLong) {
  sweep::CoreOptions options = WithSecret(kSecret);
  options.sm.m_key_lease_period = 15;
  Manage(options);
  const PortRef victim = Host("node0002 mlx5_1");
  auto& fabric = simulation_->fabric();
  fabric.Attach(victim);
  wire::Smp set;
  set.method = wire::Method::kSet;
  set.attribute = wire::AttributeId::kPortInfo;
  set.tid = TransactionId(78);
  set.path = wire::DirectedPath{};
  set.m_key = MKey(0xBAD);
  mad::OutgoingMad mad;
  mad.agent = mad::Agent::kSmpDirected;
  mad.timeout = seconds(1);
  mad.payload.resize(wire::kMadBytes);
  set.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  ASSERT_TRUE(fabric.Send(simulation_->now(), victim, std::move(mad)).ok());
  simulation_->RunFor(seconds(1));
  const auto info = [&] { return fabric.device(victim.node)->port(victim.port).info; };
  ASSERT_EQ(info().m_key_violations, 1);
  simulation_->RunFor(std::chrono::minutes(5));
  EXPECT_EQ(info().m_key_protect_bits, 2);
  EXPECT_EQ(info().m_key,
            sweep::WantedMKey(options.sm, fabric.device(victim.node)->port(victim.port).guid));
}

TEST_F(CoreKeys, EachPortHasAKeyOfItsOwnAndARestartKnowsThemByItsNeighbors) {
  sweep::CoreOptions options = WithSecret(kSecret);
  const size_t first = Manage(options);
  ExpectKeys(options.sm);
  options.sm.neighbors = fabric::NeighborsOf(*simulation_->manager(first).view->snapshot);
  Kill(first);
  simulation_->fabric().ResetStats();
  Manage(options);
  EXPECT_EQ(simulation_->fabric().stats().lost_m_key, 0u) << "no key was tried";
  EXPECT_EQ(simulation_->fabric().stats().sets(), 8u) << "ClientReregister of each host";
}

TEST_F(CoreKeys, ASecretIsReplacedWithoutAPortThatIsLockedOut) {
  for (const uint8_t protect : {0, 1, 2, 3}) {
    SCOPED_TRACE(fmt::format("protect {}", protect));
    sweep::CoreOptions options = WithSecret(kSecret, protect);
    const size_t first = Manage(options);
    options.sm.neighbors = fabric::NeighborsOf(*simulation_->manager(first).view->snapshot);
    Kill(first);
    Replace(options.sm, kNextSecret);
    sweep::CoreOptions slow = options;
    slow.smp.window_initial = slow.smp.window_max = slow.smp.window_floor = 2;
    const size_t dying = StartAndAccept(slow);
    simulation_->manager(dying).tamper = [this, dying](mad::IncomingMad&) {
      sim::Manager& manager = simulation_->manager(dying);
      if (!manager.kill_at && CountKeysOf(kNextSecret) > 0) manager.kill_at = manager.mads_sent + 1;
      return true;
    };
    simulation_->RunFor(seconds(5));
    ASSERT_EQ(simulation_->manager(dying).core, nullptr);
    ASSERT_GT(CountKeysOf(kSecret), 0u) << "it dies while some have the former key";
    const size_t last = Manage(options);
    ForEachEndPort([&](Guid guid, const wire::PortInfo& info) {
      EXPECT_EQ(info.m_key, sweep::DeriveMKey(kNextSecret, guid));
    });
    Kill(last);
    options.sm.m_key_protect_bits = 0;  // So that the next round reads the keys.
    Kill(Manage(options));
  }
}

TEST_F(CoreKeys, ALostAnswerToTheSetOfAKeyLosesNoPort) {
  sweep::CoreOptions options = WithSecret(kSecret);
  const size_t first = Manage(options);
  options.sm.neighbors = fabric::NeighborsOf(*simulation_->manager(first).view->snapshot);
  Kill(first);
  Replace(options.sm, kNextSecret);
  const size_t sm = simulation_->Add(options);
  std::set<MKey> former;
  ForEachEndPort(
      [&](Guid guid, const wire::PortInfo&) { former.insert(sweep::DeriveMKey(kSecret, guid)); });
  auto lost = std::make_shared<std::set<std::string>>();
  simulation_->manager(sm).tamper = [lost, former](mad::IncomingMad& mad) {
    const auto smp = wire::Smp::Decode(
        std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
    const bool is_set = smp && smp->method == wire::Method::kGetResp &&
                        smp->attribute == wire::AttributeId::kPortInfo && smp->path &&
                        mad.kind == mad::IncomingMad::Kind::kReceived &&
                        wire::PortInfo::Decode(smp->data).m_key_protect_bits == 2 &&
                        !former.contains(wire::PortInfo::Decode(smp->data).m_key);
    return !is_set || !lost->insert(smp->path->ToString()).second;
  };
  simulation_->Start(sm);
  ASSERT_TRUE(simulation_->RunUntilUp(sm)) << LogOf(simulation_->manager(sm));
  EXPECT_GE(lost->size(), 8u);
  ForEachEndPort([&](Guid guid, const wire::PortInfo& info) {
    EXPECT_EQ(info.m_key, sweep::DeriveMKey(kNextSecret, guid));
  });
  EXPECT_THAT(sim::BrokenPairs(simulation_->fabric()), IsEmpty());
}

TEST_F(CoreKeys, TheKeysOfAnotherManagerAreTakenOver) {
  sweep::CoreOptions before = WithKey(0, 2);
  std::vector<Guid> ports;
  ForEachEndPort([&](Guid guid, const wire::PortInfo&) { ports.push_back(guid); });
  for (const Guid guid : ports) before.sm.m_key_by_guid[guid] = MKey(guid.value() * 3 + 1);
  const size_t other = Manage(before);
  sweep::CoreOptions options = WithSecret(kSecret);
  options.sm.m_key_by_guid = before.sm.m_key_by_guid;  // From its guid2mkey,
  options.sm.neighbors =
      fabric::NeighborsOf(*simulation_->manager(other).view->snapshot);  // and neighbors.
  Kill(other);
  const size_t sm = simulation_->Add(options);
  const sim::Manager& manager = simulation_->manager(sm);
  simulation_->Start(sm);
  ASSERT_TRUE(simulation_->RunUntil([&] { return IsHeld(manager); }))
      << "keys of another manager are replaced only by permission";
  simulation_->Post(sm, sweep::AcceptTakeover{1, manager.view->takeover->id});
  ASSERT_TRUE(simulation_->RunUntilUp(sm)) << LogOf(manager);
  ForEachEndPort([&](Guid guid, const wire::PortInfo& info) {
    EXPECT_EQ(info.m_key, sweep::DeriveMKey(kSecret, guid));
  });
}

TEST_F(CoreKeys, AProtectedHostThatWasMovedIsFound) {
  sweep::CoreOptions options = WithSecret(kSecret);
  const size_t sm = Manage(options);
  const PortRef a = Host("node0002 mlx5_0"), b = Host("node0004 mlx5_1");
  auto& fabric = simulation_->fabric();
  const PortRef at_a = fabric.LinkedPeer(a), at_b = fabric.LinkedPeer(b);
  ASSERT_TRUE(fabric.Unlink(simulation_->now(), a).ok());
  ASSERT_TRUE(fabric.Unlink(simulation_->now(), b).ok());
  simulation_->RunFor(seconds(5));
  ASSERT_TRUE(fabric.Connect(simulation_->now(), a, at_b).ok());
  ASSERT_TRUE(fabric.Connect(simulation_->now(), b, at_a).ok());
  simulation_->RunFor(seconds(60));
  EXPECT_TRUE(simulation_->manager(sm).core->subnet_up());
  EXPECT_THAT(sim::PortsNotActive(fabric), IsEmpty()) << LogOf(simulation_->manager(sm));
  EXPECT_THAT(sim::BrokenPairs(fabric), IsEmpty());
}

TEST_F(CoreKeys, AFormerKeyOfTheWholeSubnetIsTried) {
  Kill(Manage(WithKey(0xAAAA, 3)));
  sweep::CoreOptions options = WithKey(0xBBBB, 3);
  options.sm.former_m_keys = {MKey(0xCCCC), MKey(0xAAAA)};
  Manage(options);
  ForEachEndPort([&](Guid, const wire::PortInfo& info) { EXPECT_EQ(info.m_key, MKey(0xBBBB)); });
}

}  // namespace
}  // namespace fabricd::test
