// SPDX-License-Identifier: Apache-2.0
// The comparison of a running fabric with the configuration, and the guard that decides by it. On
// a whole core: tests/sim/core_takeover_guard_test.cc.
#include "sweep/takeover/takeover_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sweep/interface/takeover.h"
#include "sweep/takeover/fabric_compare.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class TakeoverGuardTest : public testing::Test {
 protected:
  using Verdict = TakeoverGuard::Verdict;
  TakeoverGuardTest() {
    for (size_t i = 0; i < fabric_.hosts.size(); ++i) {
      Change(fabric_.Host(i), [&](wire::PortInfo& info) {
        info.lid = Lid(static_cast<uint16_t>(10 + i));
        info.master_sm_lid = Lid(10);
        info.gid_prefix = options_.sm.gid_prefix;
        info.port_state = wire::PortState::kActive;
      });
    }
  }
  template <typename Edit>
  void Change(PortRef port, Edit edit) {
    wire::PortInfo info = fabric_.builder.node(port.node)->port(port.port).info;
    edit(info);
    fabric_.builder.SetPortInfo(port, info);
  }
  DesiredState Desired() {
    auto snapshot = fabric_.builder.Build();
    auto lids = std::make_shared<const fabric::LidTable>(lids_.Preview(*snapshot));
    DesiredInputs inputs{snapshot, lids, intent_, index_};
    inputs.aliases = std::make_shared<const fabric::AliasGuids>();
    inputs.local = fabric_.Host(0);
    return Derive(inputs, nullptr);
  }
  std::vector<TakeoverChange> Risks() {
    const DesiredState desired = Desired();
    return FindRisks({desired, applied_, options_, record_, record_.WasMaster(), own_lids_});
  }
  TakeoverGuard Guard() { return {options_, questions_, record_}; }
  bool Stops(TakeoverGuard& guard) {
    guard.OnBecameMaster();
    return StopsNow(guard);
  }
  bool StopsNow(TakeoverGuard& guard) { return Decide(guard) == Verdict::kStop; }
  Verdict Decide(TakeoverGuard& guard) {
    return guard.Decide(Desired(), applied_, lids_, Guid(0x1000), now_);
  }

  // What was stored last is what the next one starts with.
  void Restart() {
    StoredRows rows;
    for (const auto& [key, value] : std::get<PersistTakeover>(asked_.back().what).rows)
      rows[key] = *value;
    record_ = *LoadTakeover(rows);
    asked_.clear();
  }

  SmallFabric fabric_{4};
  CoreOptions options_;
  AppliedState applied_;
  std::vector<Question> asked_;
  OpenQuestions questions_{asked_};
  LidManager lids_{options_, questions_, {}};
  fabric::Intent intent_;
  std::shared_ptr<const policy::PartitionIndex> index_ = std::make_shared<policy::PartitionIndex>(
      policy::Partitions::BuiltIn(), policy::PartitionSet(), false);
  TakeoverRecord record_;
  std::vector<Lid> own_lids_;
  policy::WallMs now_ = 1'800'000'000'000;
};

TEST_F(TakeoverGuardTest, AFabricThatRunsAsConfiguredHasNoRisk) {
  EXPECT_THAT(Risks(), IsEmpty());
  EXPECT_EQ(DigestOf(Risks()), "");
  TakeoverGuard guard = Guard();
  EXPECT_FALSE(Stops(guard));
  EXPECT_FALSE(guard.IsArmed());
}

TEST_F(TakeoverGuardTest, PortsWithEqualChangesAreOneRisk) {
  options_.sm.gid_prefix = 0xFEC0'0000'0000'0000;
  const auto risks = Risks();
  ASSERT_THAT(risks, SizeIs(1));
  EXPECT_EQ(risks[0].risk, TakeoverRisk::kSubnetPrefix);
  EXPECT_EQ(risks[0].from, "0xfe80000000000000");
  EXPECT_EQ(risks[0].to, "0xfec0000000000000");
  EXPECT_EQ(risks[0].ports, 4u);
  EXPECT_EQ(risks[0].node, Guid(0x100));
}

TEST_F(TakeoverGuardTest, EachGuardedSettingIsNamed) {
  options_.lmc = 1;
  options_.sm.m_key = MKey(0x5EC2E7);
  options_.sm.m_key_protect_bits = 1;
  std::vector<TakeoverRisk> kinds;
  for (const TakeoverChange& risk : Risks()) {
    kinds.push_back(risk.risk);
    for (const std::string& text : {risk.from, risk.to})
      EXPECT_EQ(text.find("5ec2e7"), std::string::npos) << "a secret is shown";
  }
  EXPECT_THAT(kinds,
              ElementsAre(TakeoverRisk::kLmc, TakeoverRisk::kMKey, TakeoverRisk::kMKeyProtect));
}

TEST_F(TakeoverGuardTest, PortsWithoutConnectionsAreNoRisk) {
  options_.sm.gid_prefix = 0xFEC0'0000'0000'0000;
  for (size_t i = 0; i < fabric_.hosts.size(); ++i)
    Change(fabric_.Host(i), [&](wire::PortInfo& info) {
      if (i % 2 == 0)
        info.port_state = wire::PortState::kInit;
      else
        info.lid = Lid(0);
    });
  EXPECT_THAT(Risks(), IsEmpty()) << "as after a power failure";
}

TEST_F(TakeoverGuardTest, TheRecordVouchesForValuesThatThisSmHasWrittenAtItsPorts) {
  options_.sm.gid_prefix = 0xFEC0'0000'0000'0000;
  options_.sm.m_key = MKey(7);
  record_.sm_ports = {Guid(0x1000)};
  record_.prefixes = {0xFE80'0000'0000'0000};
  EXPECT_THAT(Risks(), SizeIs(2)) << "the ports name another SM";
  own_lids_ = {Lid(10)};
  EXPECT_THAT(Risks(), IsEmpty());
  record_.prefixes = {0};
  EXPECT_THAT(Risks(), SizeIs(1)) << "another SM has used this port since";
}

TEST_F(TakeoverGuardTest, TheDigestDependsOnTheChangesAndNotOnTheirNumber) {
  options_.sm.gid_prefix = 0xFEC0'0000'0000'0000;
  const std::string all = DigestOf(Risks());
  EXPECT_THAT(all, SizeIs(16));
  Change(fabric_.Host(0), [](wire::PortInfo& info) { info.port_state = wire::PortState::kInit; });
  EXPECT_EQ(DigestOf(Risks()), all);
  options_.sm.gid_prefix += 1;
  EXPECT_NE(DigestOf(Risks()), all);
}

TEST_F(TakeoverGuardTest, IsHeldUntilTheReportThatWasReadIsAccepted) {
  options_.sm.gid_prefix = 0xFEC0'0000'0000'0000;
  TakeoverGuard guard = Guard();
  EXPECT_EQ(guard.Accept("x", 1).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(Stops(guard));
  EXPECT_TRUE(guard.is_held());
  EXPECT_THAT(asked_, IsEmpty()) << "nothing of this mastership is recorded";
  const DesiredState desired = Desired();
  const std::string id = guard.MakeReport(desired, applied_, lids_, {}).id;
  const absl::Status wrong = guard.Accept("0000000000000000", 2);
  EXPECT_EQ(wrong.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(wrong.message()), testing::HasSubstr(id));
  ASSERT_TRUE(guard.Accept(id, 3).ok());
  EXPECT_THAT(asked_, SizeIs(1));
  EXPECT_TRUE(StopsNow(guard)) << "it is not durable yet";
  EXPECT_THAT(guard.OnStored(absl::UnavailableError("disk full")), ElementsAre(3));
  EXPECT_TRUE(StopsNow(guard)) << "it was not stored";
  ASSERT_TRUE(guard.Accept(id, 4).ok());
  EXPECT_THAT(guard.OnStored(absl::OkStatus()), ElementsAre(4));
  EXPECT_FALSE(StopsNow(guard));
  EXPECT_FALSE(guard.is_held());
  EXPECT_FALSE(guard.IsArmed());
}

TEST_F(TakeoverGuardTest, AnIdOfTheCommandLineIsAcceptanceAndItsRestNeedsNoOtherOne) {
  options_.sm.gid_prefix = 0xFEC0'0000'0000'0000;
  options_.lmc = 1;
  options_.takeover.accept = DigestOf(Risks());
  TakeoverGuard guard = Guard();
  EXPECT_FALSE(Stops(guard));
  // Killed when one of the two changes was made at all ports, and started without the option.
  Restart();
  options_.takeover.accept = "";
  for (size_t i = 0; i < fabric_.hosts.size(); ++i)
    Change(fabric_.Host(i), [](wire::PortInfo& info) { info.lmc = 1; });
  ASSERT_THAT(Risks(), SizeIs(1));
  TakeoverGuard next = Guard();
  EXPECT_FALSE(Stops(next));
  options_.sm.gid_prefix += 1;
  TakeoverGuard other = Guard();
  EXPECT_TRUE(Stops(other)) << "another change was not accepted";
}

TEST_F(TakeoverGuardTest, AMastershipThatCouldNotBeStoredIsStoredAgain) {
  TakeoverGuard guard = Guard();
  ASSERT_FALSE(Stops(guard));
  asked_.clear();
  guard.StoreAgain();
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_THAT(guard.OnStored(absl::UnavailableError("disk full")), IsEmpty());
  guard.StoreAgain();
  EXPECT_THAT(asked_, SizeIs(1));
}

TEST_F(TakeoverGuardTest, MastershipIsRecordedOnce) {
  TakeoverGuard guard = Guard();
  ASSERT_FALSE(Stops(guard));
  ASSERT_THAT(asked_, SizeIs(1));
  Restart();
  EXPECT_THAT(record_.sm_ports, ElementsAre(Guid(0x1000)));
  EXPECT_THAT(record_.prefixes, ElementsAre(options_.sm.gid_prefix));
  TakeoverGuard next = Guard();
  EXPECT_FALSE(Stops(next));
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(TakeoverGuardTest, SilenceIsARiskOnlyToOneThatHasNotSeenTheFabricAnswer) {
  for (const NodeIndex sw : fabric_.switches)
    for (const uint8_t port : {1, 2})
      Change({sw, PortNum(port)},
             [](wire::PortInfo& info) { info.port_state = wire::PortState::kActive; });
  const auto whole = fabric_.builder.Build();
  fabric_.builder.RemoveNode(fabric_.Host(2).node);
  fabric_.builder.RemoveNode(fabric_.Host(3).node);
  const auto half = fabric_.builder.Build();
  const NeighborCount count = CountNeighbors(*half);
  ASSERT_GT(count.unresponsive * 100, count.up * options_.takeover.unresponsive_percent);
  TakeoverGuard unaware = Guard();
  unaware.OnReadAsStandby(*half);
  EXPECT_TRUE(Stops(unaware));
  TakeoverGuard standby = Guard();
  standby.OnReadAsStandby(*whole);
  EXPECT_FALSE(Stops(standby));
  record_.sm_ports = {Guid(0x1000)};
  TakeoverGuard former = Guard();
  EXPECT_FALSE(Stops(former));
}

TEST_F(TakeoverGuardTest, ALossOfMastershipEndsTheHold) {
  options_.sm.gid_prefix = 0xFEC0'0000'0000'0000;
  TakeoverGuard guard = Guard();
  ASSERT_TRUE(Stops(guard));
  guard.OnNotMaster(/*on_purpose=*/false);
  EXPECT_FALSE(guard.is_held());
  EXPECT_FALSE(guard.IsArmed());
}

// Whose tables a new master finds.
class OwnTablesTest : public TakeoverGuardTest {
 protected:
  OwnTablesTest() {
    lids_.Update(fabric_.builder.Build(), problems_);
    record_.sm_ports = {Guid(1), PortGuid(1)};
    Switch(lids_.RecordedLid(PortGuid(1)), 12);
  }
  Guid PortGuid(size_t host) {
    const PortRef port = fabric_.Host(host);
    return fabric_.builder.node(port.node)->port(port.port).guid;
  }
  void Switch(Lid master, uint16_t top) {
    const PortRef port{fabric_.switches[0], PortNum(0)};
    Change(port, [&](wire::PortInfo& info) { info.master_sm_lid = master; });
    wire::SwitchInfo info;
    info.linear_fdb_top = top;
    fabric_.builder.SetSwitchInfo(port.node, info);
  }
  bool Owns() { return Guard().OwnsTables(lids_, *fabric_.builder.Build()); }

  ProblemList problems_;
};

TEST_F(OwnTablesTest, AreThoseOfSwitchesThatNameOneOfItsPorts) {
  ASSERT_TRUE(lids_.RecordedLid(PortGuid(1)));
  EXPECT_TRUE(Owns());
  Switch(Lid(99), 12);
  EXPECT_FALSE(Owns()) << "another manager has written";
  Switch(Lid(99), 0);
  EXPECT_FALSE(Owns()) << "no switch forwards";
}

TEST_F(OwnTablesTest, AreNoneOfOneThatWasNeverMaster) {
  record_.sm_ports.clear();
  EXPECT_FALSE(Owns());
  Switch(Lid(), 12);
  EXPECT_FALSE(Owns());
}

TEST_F(OwnTablesTest, AreByTheOptionsOfTheLastSweep) {
  TakeoverGuard guard = Guard();
  EXPECT_TRUE(Owns()) << "an old record does not tell";
  ASSERT_FALSE(Stops(guard));
  guard.OnStored(absl::OkStatus());
  Restart();
  EXPECT_TRUE(Owns());
  options_.routing.chain = {"up_down"};
  EXPECT_FALSE(Owns());
  guard.OnSwept(now_, /*routes_by_options=*/false);
  EXPECT_THAT(asked_, IsEmpty()) << "the plan is still the one before";
  guard.OnSwept(now_, true);
  Restart();
  EXPECT_TRUE(Owns());
  guard.OnSwept(now_, true);
  EXPECT_THAT(asked_, IsEmpty());
}

// As after a crash when its ports were set, and no table.
TEST_F(OwnTablesTest, AreNotThoseOfAnotherSmThatItBeganToReplace) {
  Switch(Lid(99), 12);
  TakeoverGuard guard = Guard();
  ASSERT_FALSE(Stops(guard));
  guard.OnStored(absl::OkStatus());
  Restart();
  Switch(lids_.RecordedLid(PortGuid(1)), 12);
  EXPECT_FALSE(Owns());
  guard.OnSwept(now_, true);
  Restart();
  EXPECT_TRUE(Owns());
}

// This SM has been master, then another one, which has changed a prefix; now this one is again.
class TakeBackTest : public TakeoverGuardTest {
 protected:
  static constexpr policy::WallMs kSecond = 1000;

  void BeMaster(TakeoverGuard& guard) {
    ASSERT_FALSE(Stops(guard));
    guard.OnStored(absl::OkStatus());
    guard.OnSwept(now_, true);
  }
  void LetAnotherOneIn(TakeoverGuard& guard, bool on_purpose = false) {
    guard.OnNotMaster(on_purpose);
    guard.OnStored(absl::OkStatus());
    guard.OnNotMaster(false);  // It looks, and is STANDBY again.
    Change(fabric_.Host(1), [](wire::PortInfo& info) { info.gid_prefix = 0xFEC0'0000'0000'0000; });
  }
  Verdict After(TakeoverGuard& guard, policy::WallMs away) {
    now_ += away;
    guard.OnBecameMaster();
    return Decide(guard);
  }

  TakeoverGuard guard_ = Guard();
  const policy::WallMs limit_ = options_.takeover.return_within / std::chrono::milliseconds(1);
};

TEST_F(TakeBackTest, SoonAfterwardsItNeedsNoOperator) {
  BeMaster(guard_);
  LetAnotherOneIn(guard_);
  EXPECT_EQ(After(guard_, limit_ - 1), Verdict::kTakeBack);
  EXPECT_FALSE(guard_.IsArmed());
}

TEST_F(TakeBackTest, LaterItIsHeldAndAHoldIsNoMastership) {
  BeMaster(guard_);
  LetAnotherOneIn(guard_);
  EXPECT_EQ(After(guard_, limit_), Verdict::kStop);
  guard_.OnSwept(now_, true);
  LetAnotherOneIn(guard_);
  EXPECT_EQ(After(guard_, kSecond), Verdict::kStop);
}

// The time counts from its last sweep: a master without its port does not notice who manages.
TEST_F(TakeBackTest, AMasterThatWasCutOffForLongIsHeld) {
  BeMaster(guard_);
  now_ += limit_;
  LetAnotherOneIn(guard_);
  EXPECT_EQ(After(guard_, kSecond), Verdict::kStop);
}

TEST_F(TakeBackTest, AFabricThatWasGivenAwayOnPurposeIsHeld) {
  BeMaster(guard_);
  LetAnotherOneIn(guard_, /*on_purpose=*/true);
  EXPECT_EQ(After(guard_, kSecond), Verdict::kStop);
}

TEST_F(TakeBackTest, OneThatWasNeverMasterIsStopped) {
  LetAnotherOneIn(guard_);
  EXPECT_EQ(After(guard_, kSecond), Verdict::kStop);
}

TEST_F(TakeBackTest, TheConfigurationCanForbidIt) {
  options_.takeover.return_within = {};
  BeMaster(guard_);
  LetAnotherOneIn(guard_);
  EXPECT_EQ(After(guard_, 0), Verdict::kStop);
}

// As the second node of two, and as after a crash in the middle of it.
TEST_F(TakeBackTest, OneWithTheSameStateTakesItBackToo) {
  BeMaster(guard_);
  LetAnotherOneIn(guard_);
  Restart();
  TakeoverGuard second = Guard();
  EXPECT_EQ(After(second, kSecond), Verdict::kTakeBack);
  TakeoverGuard third = Guard();
  EXPECT_EQ(After(third, kSecond), Verdict::kTakeBack);
  // Done: what another SM changes from now on is another matter.
  third.OnSwept(now_, true);
  Restart();
  TakeoverGuard fourth = Guard();
  EXPECT_EQ(After(fourth, kSecond), Verdict::kStop);
}

TEST_F(TakeBackTest, ItIsHeldWhereTheLossCouldNotBeStored) {
  BeMaster(guard_);
  guard_.OnNotMaster(false);
  guard_.OnStored(absl::UnavailableError("etcd"));
  Change(fabric_.Host(1), [](wire::PortInfo& info) { info.gid_prefix = 0xFEC0'0000'0000'0000; });
  EXPECT_EQ(After(guard_, kSecond), Verdict::kStop);
}

TEST_F(TakeoverGuardTest, TheReportCountsSetsByFieldAndLids) {
  Change(fabric_.Host(3), [](wire::PortInfo& info) { info.lid = Lid(10); });  // As host 0.
  options_.sm.gid_prefix = 0xFEC0'0000'0000'0000;
  TakeoverGuard guard = Guard();
  const TakeoverReport& report = guard.MakeReport(Desired(), applied_, lids_, {});
  EXPECT_EQ(report.lids_changed, 3u) << "one host, and two switches without one";
  EXPECT_EQ(report.sets.at("PortInfo").fields.at("GidPrefix"), 6u);
  EXPECT_EQ(report.active_ports, 4u);
  EXPECT_NE(report.no_plan, "");
}

TEST(TakeoverRiskNames, AreDifferent) {
  EXPECT_EQ(TakeoverRiskName(TakeoverRisk::kPKeys), "P_Keys");
  EXPECT_NE(TakeoverRiskName(TakeoverRisk::kLmc), TakeoverRiskName(TakeoverRisk::kMKey));
}

}  // namespace
}  // namespace fabricd::sweep
