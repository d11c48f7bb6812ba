// SPDX-License-Identifier: Apache-2.0
// The core on four hosts whose devices answer by a script: every event and effect, no simulator.
#include "sweep/core.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sweep/plan/computing.h"
#include "tests/unit/sweep/scripted_fabric.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Sent = ScriptedDevices::Sent;
using Reaction = ScriptedDevices::Reaction;

class CoreTest : public testing::Test {
 protected:
  CoreTest() {
    for (NodeIndex node : fabric_.switches) {
      wire::SwitchInfo info;
      info.linear_fdb_cap = 1024;
      info.multicast_fdb_cap = 64;
      fabric_.builder.SetSwitchInfo(node, info);
      wire::PortInfo down = SmallFabric::Up();
      down.port_state = wire::PortState::kDown;
      down.port_physical_state = wire::PortPhysicalState::kPolling;
      for (uint8_t port = 4; port < 36; ++port)
        fabric_.builder.SetPortInfo({node, PortNum(port)}, down);
    }
    options_.sweep.settle_after = Duration::zero();
  }
  void Start() {
    const fabric::Node& own = *fabric_.builder.node(fabric_.hosts[0]);
    mad::LocalPort local;
    local.device = "script";
    local.port = PortNum(1);
    local.node_guid = own.guid();
    local.port_guid = own.port(PortNum(1)).guid;
    core_.emplace(options_, local, lids_, policy::StoredHolds(), nullptr, policy::PartitionState(),
                  nullptr);
    core_->Step(StartEvent{}, now_);
  }
  // Answers everything, up to this time.
  void RunFor(Duration time) {
    const Instant end = now_ + time;
    while (true) {
      if (Carry(core_->TakeEffects(now_))) continue;
      if (core_->NextDeadline() > end) break;
      now_ = std::max(now_, core_->NextDeadline());
      core_->Step(TimerEvent{}, now_);
    }
    now_ = end;
  }
  // False: there was nothing to do.
  bool Carry(Effects effects) {
    if (effects.publish) view_ = effects.publish;
    for (const FinishedCommand& each : effects.finished) finished_.push_back(each.command);
    for (const mad::OutgoingMad& mad : effects.send)
      if (auto answer = devices_.Answer(mad)) core_->Step(*std::move(answer), now_);
    for (const Question& question : effects.questions)
      std::visit([&](const auto& what) { Resolve(question.id, what); }, question.what);
    return !effects.send.empty() || !effects.questions.empty();
  }
  template <typename What>
  void Resolve(QuestionId id, const What& what) {
    if constexpr (std::is_same_v<What, PersistLids>)
      for (const fabric::LidRecord& record : what.records) lids_.push_back(record);
    if (std::is_same_v<What, PersistTakeover> && keeps_takeover_)
      takeover_ = id;
    else if constexpr (std::is_same_v<typename What::Answer, Persisted>)
      core_->Step(Answer{id, Persisted{absl::OkStatus()}}, now_);
    else if constexpr (std::is_same_v<What, ClaimMastership>)
      core_->Step(Answer{id, MastershipClaimed{absl::OkStatus()}}, now_);
    else
      core_->Step(Answer{id, CarryOut(what)}, now_);
  }
  wire::PortState StateOf(PortRef port) {
    return devices_.registers.Read<wire::PortInfo>(port.node, port.port.value()).port_state;
  }
  void Silence(uint64_t guid) {
    devices_.react = [this, guid](const Sent& sent) {
      return Reaction{.is_lost = !sent.at.IsNone() &&
                                 fabric_.builder.node(sent.at.node)->guid() == Guid(guid)};
    };
  }

  CoreOptions options_;
  SmallFabric fabric_{4};
  ScriptedDevices devices_{fabric_.builder, fabric_.Host(0)};
  std::optional<Core> core_;
  std::shared_ptr<const FabricView> view_;
  std::vector<uint64_t> finished_;
  std::vector<fabric::LidRecord> lids_;  // Stored.
  bool keeps_takeover_ = false;          // PersistTakeover is not answered, but kept in takeover_.
  std::optional<QuestionId> takeover_;
  Instant now_{1s};
};

TEST_F(CoreTest, BringsTheSubnetUp) {
  Start();
  RunFor(5s);
  ASSERT_NE(view_, nullptr);
  EXPECT_TRUE(view_->subnet_up);
  EXPECT_EQ(view_->sm.state, wire::SmState::kMaster);
  EXPECT_EQ(view_->snapshot->node_count(), 6u);
  EXPECT_THAT(view_->problems, IsEmpty());
  std::set<Lid> lids;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(StateOf(fabric_.Host(i)), wire::PortState::kActive);
    lids.insert(devices_.registers.Read<wire::PortInfo>(fabric_.hosts[i], 1).lid);
  }
  EXPECT_EQ(lids.size(), 4u);
  EXPECT_FALSE(lids.contains(Lid(0)));
  EXPECT_EQ(StateOf({fabric_.switches[0], PortNum(36)}), wire::PortState::kActive);
}

TEST_F(CoreTest, ReadsBeforeItWrites) {
  Start();
  RunFor(5s);
  const auto texts = devices_.Texts();
  const auto first_set = std::find_if(texts.begin(), texts.end(), [](const std::string& text) {
    return text.compare(0, 3, "Set") == 0;
  });
  ASSERT_NE(first_set, texts.end());
  EXPECT_GE(std::count_if(texts.begin(), first_set,
                          [](const std::string& text) {
                            return text.find("Get NodeInfo") != std::string::npos;
                          }),
            6)
      << "the whole subnet is known by then";
}

TEST_F(CoreTest, ASweepThatIsAskedForFindsNothingToWrite) {
  Start();
  RunFor(30s);
  devices_.sent.clear();
  core_->Step(SweepCommand{7, /*heavy=*/true}, now_);
  RunFor(10s);
  EXPECT_THAT(finished_, testing::ElementsAre(7u));
  EXPECT_THAT(devices_.Texts(), testing::AllOf(Not(IsEmpty()), Each(StartsWith("Get "))));
}

TEST_F(CoreTest, AHostThatDoesNotAnswerIsAProblemAndTheOthersComeUp) {
  Silence(0x103);
  Start();
  RunFor(60s);
  ASSERT_NE(view_, nullptr);
  EXPECT_EQ(view_->snapshot->node_count(), 5u);
  EXPECT_FALSE(view_->problems.empty());
  EXPECT_EQ(StateOf(fabric_.Host(1)), wire::PortState::kActive);
  EXPECT_EQ(StateOf(fabric_.Host(3)), wire::PortState::kInit);
}

TEST_F(CoreTest, WithoutAnAnswerOfItsOwnPortNothingIsWritten) {
  Silence(0x100);
  Start();
  RunFor(30s);
  EXPECT_THAT(devices_.Texts(), Each(StartsWith("Get ")));
  EXPECT_TRUE(view_ == nullptr || !view_->subnet_up);
}

TEST_F(CoreTest, IsStandbyBesideAMasterAndWritesNothing) {
  wire::PortInfo info = fabric_.builder.node(fabric_.hosts[3])->port(PortNum(1)).info;
  info.capability_mask |= wire::kCapIsSm;
  devices_.registers.Put(fabric_.hosts[3], 1, info);
  devices_.managers[fabric_.hosts[3]] = {Guid(0x1003), {}, 1, 9, wire::SmState::kMaster};
  Start();
  RunFor(20s);
  ASSERT_NE(view_, nullptr);
  EXPECT_EQ(view_->sm.state, wire::SmState::kStandby);
  EXPECT_THAT(devices_.Texts(), Each(StartsWith("Get ")));
}

// All LIDs are stored. Another record would take what this SM writes for another SM's.
TEST_F(CoreTest, ASetFromANewPortWaitsUntilTheMastershipIsStored) {
  Start();
  RunFor(5s);
  ASSERT_FALSE(lids_.empty());
  keeps_takeover_ = true;
  for (const bool stored : {true, false}) {
    devices_.registers.Reset();
    devices_.sent.clear();
    Start();
    RunFor(5s);
    EXPECT_THAT(devices_.Texts(), Each(StartsWith("Get ")));
    ASSERT_TRUE(takeover_);
    core_->Step(Answer{*std::exchange(takeover_, {}),
                       Persisted{stored ? absl::OkStatus() : absl::UnavailableError("disk")}},
                now_);
    RunFor(5s);
    EXPECT_TRUE(view_->subnet_up) << stored;
  }
}

// Any other SM leaves the trap to be repeated until the master has heard of it.
TEST_F(CoreTest, OnlyTheMasterRepressesATrap) {
  mad::IncomingMad trap;
  trap.agent = mad::Agent::kSmpLid;
  trap.from.lid = Lid(7);
  trap.payload.resize(wire::kMadBytes);
  wire::Smp smp;
  smp.method = wire::Method::kTrap;
  smp.attribute = wire::AttributeId::kNotice;
  smp.Encode(std::span<uint8_t, wire::kMadBytes>(trap.payload.data(), wire::kMadBytes));
  const auto answers = [&] {
    core_->Step(trap, now_);
    return core_->TakeEffects(now_).send.size();
  };
  for (const SmMode mode : {SmMode::kObserve, SmMode::kStandby, SmMode::kManage}) {
    SCOPED_TRACE(static_cast<int>(mode));
    options_.sm.mode = mode;
    Start();
    core_->TakeEffects(now_);  // Of the start.
    EXPECT_EQ(answers(), 0u);
  }
  Start();
  RunFor(5s);
  ASSERT_EQ(view_->sm.state, wire::SmState::kMaster);
  EXPECT_EQ(answers(), 1u);
}

}  // namespace
}  // namespace fabricd::sweep
