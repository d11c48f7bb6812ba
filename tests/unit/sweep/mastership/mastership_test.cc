// SPDX-License-Identifier: Apache-2.0
// What operators tell an SM about its place among others (IBA vol 1 §14.4.1): whom a master hands
// over to, and at what priority of its own.
#include "sweep/mastership/mastership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/snapshot_builder.h"
#include "mad/wire/notice.h"
#include "sweep/interface/activity.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using wire::SmState;
using Kind = Mastership::Order::Kind;
using Asked = Mastership::Ask;
using Code = absl::StatusCode;

constexpr Instant kNow{std::chrono::seconds(1)};

class MastershipTest : public testing::Test {
 protected:
  MastershipTest() {
    local_.port_guid = Guid(0x1001);  // The middle one of three hosts.
    snapshot_ = fabric_.builder.Build();
    for (NodeIndex node : fabric_.hosts) devices_.SetPath(node, wire::DirectedPath());
  }
  RemoteSm Other(size_t host, uint8_t priority, SmState state = SmState::kStandby) const {
    return {fabric_.Host(host), Guid(0x1000 + host), priority, state, 0};
  }
  void BeMaster(const std::vector<RemoteSm>& others) {
    sm_.Start();
    ASSERT_EQ(sm_.OnDiscovered(snapshot_, {}, {}, kNow).kind, Kind::kProgram);
    ASSERT_TRUE(sm_.IsMaster());
    sm_.OnLightSweep(others, kNow);
  }
  void BeStandby() {
    sm_.Start();
    ASSERT_EQ(sm_.OnDiscovered(snapshot_, {Other(0, 5, SmState::kMaster)}, {}, kNow).kind,
              Kind::kBeStandby);
  }
  // The sweep that a command has led to finds these.
  Mastership::Order Sweep(const std::vector<RemoteSm>& found) {
    sm_.OnSweepStart();
    return sm_.OnDiscovered(snapshot_, found, {}, kNow);
  }
  mad::Completion Answered(Asked asked, uint32_t number = 0) const {
    mad::Completion completion;
    completion.context = mad::RequestContext::Of(Activity::kMastership, asked);
    completion.context.number = number;
    completion.outcome = mad::Completion::Outcome::kResponse;
    return completion;
  }
  mad::Completion Says(Asked asked, const RemoteSm& sm, uint32_t number = 0) const {
    mad::Completion completion = Answered(asked, number);
    wire::SmInfo info;
    info.guid = sm.guid;
    info.priority = sm.priority;
    info.state = sm.state;
    info.Encode(completion.response.data);
    return completion;
  }
  // A standby's poll at `now` is answered so.
  Mastership::Order Poll(const RemoteSm& answer, Instant now) {
    sm_.OnTimer(now);
    return sm_.OnCompletion(Says(Asked::kPoll, answer), now);
  }
  // What another SM, or anybody, is answered.
  wire::Smp Ask(wire::Method method, wire::SmControl control, SmKey key, Instant now = kNow) {
    wire::Smp request;
    request.method = method;
    request.attribute = wire::AttributeId::kSmInfo;
    request.modifier = method == wire::Method::kSet ? static_cast<uint32_t>(control) : 0;
    request.path = wire::DirectedPath();
    wire::SmInfo info;
    info.guid = Guid(0x1002);
    info.sm_key = key;
    info.Encode(request.data);
    mad::IncomingMad mad;
    mad.payload.resize(wire::kMadBytes);
    request.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
    std::vector<mad::OutgoingMad> sent;
    order_ = sm_.OnRequest(mad, request, now, sent);
    EXPECT_THAT(sent, SizeIs(1));
    return *wire::Smp::Decode(
        std::span<const uint8_t, wire::kMadBytes>(sent.front().payload.data(), wire::kMadBytes));
  }
  SmKey KeyIn(const wire::Smp& answer) { return wire::SmInfo::Decode(answer.data).sm_key; }
  FinishedCommand TakeAnswer() {
    EXPECT_THAT(effects_.finished, SizeIs(1));
    if (effects_.finished.empty()) return {};
    FinishedCommand answer = effects_.finished.front();
    effects_.finished.clear();
    return answer;
  }

  SmallFabric fabric_{3};
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  CoreOptions options_ = [] {
    CoreOptions options;
    options.sm.priority = 5;
    return options;
  }();
  mad::LocalPort local_;
  DeviceTable devices_{options_.sm};
  mad::TransactionEngine engine_{options_.smp};
  Effects effects_;
  OpenQuestions questions_{effects_.questions};
  Mastership sm_{options_, local_, devices_, engine_, questions_, effects_};
  Mastership::Order order_;  // What came of the last of them.
};

TEST_F(MastershipTest, APriorityIsShownAtOnce) {
  BeMaster({Other(0, 5), Other(2, 3)});
  EXPECT_EQ(sm_.On(SetPriority{7, 9, false}).kind, Kind::kNothing);
  EXPECT_EQ(sm_.Own().priority, 9);
  const FinishedCommand answer = TakeAnswer();
  EXPECT_EQ(answer.command, 7u);
  ASSERT_NE(answer.mastership, nullptr);
  EXPECT_EQ(answer.mastership->before, 5);
  EXPECT_EQ(answer.mastership->priority, 9);
  EXPECT_FALSE(answer.mastership->successor);
}

TEST_F(MastershipTest, AMasterHandsOverWhenItsNewPriorityIsBelowAStandbys) {
  struct Case {
    uint8_t priority;
    size_t other;
    uint8_t of_other;
    bool yields;
  };
  // Between equals the lower GUID: host 0's, not host 2's.
  for (const Case& each : {Case{3, 2, 4, true}, Case{4, 2, 4, false}, Case{4, 0, 4, true},
                           Case{5, 0, 4, false}, Case{0, 2, 0, false}}) {
    SCOPED_TRACE(testing::Message() << int{each.priority} << " " << each.other);
    Mastership sm(options_, local_, devices_, engine_, questions_, effects_);
    sm.Start();
    ASSERT_EQ(sm.OnDiscovered(snapshot_, {}, {}, kNow).kind, Kind::kProgram);
    sm.OnLightSweep({Other(each.other, each.of_other)}, kNow);
    for (const bool only_asked : {true, false}) {
      const auto order = sm.On(SetPriority{1, each.priority, only_asked});
      EXPECT_EQ(order.kind, each.yields && !only_asked ? Kind::kLookSoon : Kind::kNothing);
      EXPECT_EQ(TakeAnswer().mastership->successor.has_value(), each.yields);
      EXPECT_EQ(sm.priority(), only_asked ? 5 : each.priority);
    }
  }
}

TEST_F(MastershipTest, StepDownLowersThePriorityJustBelowTheBestStandby) {
  struct Case {
    std::vector<RemoteSm> others;
    std::optional<Guid> successor;
    uint8_t lowered;
  };
  const Guid low(0x1000), high(0x1002);
  for (const Case& each : {
           Case{{Other(0, 3), Other(2, 2)}, low, 3},  // Its lower GUID wins between equals.
           Case{{Other(0, 3), Other(2, 4)}, high, 3},
           Case{{Other(0, 4), Other(2, 4)}, low, 4},
           Case{{Other(2, 5)}, high, 4},
           Case{{Other(2, 9)}, high, 5},  // It is preferred already.
           Case{{Other(0, 0)}, low, 0},
           Case{{Other(2, 3, SmState::kDiscovering)}, high, 2},  // It will see this master.
           Case{{Other(2, 1), Other(0, 9, SmState::kNotActive)}, high, 0},
           Case{{Other(2, 0)}, std::nullopt, 5},  // Nothing is below.
           Case{{}, std::nullopt, 5},
           Case{{Other(0, 9, SmState::kNotActive), Other(2, 9, SmState::kMaster)}, std::nullopt, 5},
       }) {
    Mastership sm(options_, local_, devices_, engine_, questions_, effects_);
    sm.Start();
    ASSERT_EQ(sm.OnDiscovered(snapshot_, {}, {}, kNow).kind, Kind::kProgram);
    sm.OnLightSweep(each.others, kNow);
    EXPECT_EQ(sm.On(StepDown{1, true}).kind, Kind::kNothing);
    EXPECT_EQ(sm.priority(), 5);
    const FinishedCommand asked = TakeAnswer();
    EXPECT_EQ(asked.status.code(), each.successor ? Code::kOk : Code::kNotFound);
    const auto order = sm.On(StepDown{2});
    EXPECT_EQ(sm.priority(), each.lowered);
    if (!each.successor) {
      EXPECT_EQ(order.kind, Kind::kNothing);
      EXPECT_EQ(TakeAnswer().status.code(), Code::kNotFound);
      continue;
    }
    EXPECT_EQ(asked.mastership->successor->guid, *each.successor);
    EXPECT_EQ(asked.mastership->priority, each.lowered);
    EXPECT_EQ(order.kind, Kind::kLookSoon);
    EXPECT_THAT(effects_.finished, IsEmpty()) << "before the other one is master";
    // The election of that sweep agrees with it.
    sm.OnSweepStart();
    std::vector<RemoteSm> now_found = each.others;
    for (RemoteSm& sm_now : now_found)
      if (sm_now.state == SmState::kDiscovering) sm_now.state = SmState::kStandby;
    const auto is_done = sm.OnDiscovered(snapshot_, now_found, {}, kNow);
    EXPECT_EQ(is_done.kind, Kind::kNothing) << "a handover is under way";
    EXPECT_EQ(sm.OnCompletion(Answered(Asked::kHandover), kNow).kind, Kind::kBeStandby);
    sm.OnSweepEnd();
    const FinishedCommand answer = TakeAnswer();
    ASSERT_TRUE(answer.status.ok()) << answer.status;
    EXPECT_EQ(answer.mastership->successor->guid, *each.successor);
  }
}

TEST_F(MastershipTest, OnlyTheMasterStepsDown) {
  BeStandby();
  EXPECT_EQ(sm_.On(StepDown{1}).kind, Kind::kNothing);
  EXPECT_EQ(TakeAnswer().status.code(), Code::kFailedPrecondition);
}

TEST_F(MastershipTest, StepDownWithoutASuccessorRestoresThePriority) {
  BeMaster({Other(2, 3)});
  ASSERT_EQ(sm_.On(StepDown{1}).kind, Kind::kLookSoon);
  ASSERT_EQ(sm_.On(StepDown{2}).kind, Kind::kNothing) << "one is enough";
  EXPECT_EQ(sm_.priority(), 2);
  sm_.OnSweepEnd();  // Of a sweep that was under way before.
  EXPECT_THAT(effects_.finished, IsEmpty());
  EXPECT_EQ(Sweep({}).kind, Kind::kProgram) << "the other has gone meanwhile";
  sm_.OnSweepEnd();
  EXPECT_THAT(effects_.finished, SizeIs(2));
  for (const FinishedCommand& each : effects_.finished)
    EXPECT_EQ(each.status.code(), Code::kAborted);
  EXPECT_EQ(sm_.priority(), 5);
}

TEST_F(MastershipTest, ARepeatedRequestHasTheSameAnswer) {
  BeMaster({Other(2, 3)});
  ASSERT_EQ(sm_.On(StepDown{1, false, "r"}).kind, Kind::kLookSoon);
  Sweep({Other(2, 3)});
  ASSERT_EQ(sm_.OnCompletion(Answered(Asked::kHandover), kNow).kind, Kind::kBeStandby);
  sm_.OnSweepEnd();
  EXPECT_FALSE(TakeAnswer().mastership->existing);
  (void)sm_.On(StepDown{2, false, "r"});
  const FinishedCommand again = TakeAnswer();
  ASSERT_TRUE(again.status.ok()) << again.status;
  EXPECT_TRUE(again.mastership->existing);
  EXPECT_EQ(again.mastership->priority, 2);
  (void)sm_.On(StepDown{3, false, "s"});
  EXPECT_EQ(TakeAnswer().status.code(), Code::kFailedPrecondition);
}

TEST_F(MastershipTest, AStandbySendsATrapToItsMasterAfterAPriorityChange) {
  BeStandby();
  (void)sm_.On(SetPriority{1, 9, false});
  mad::Completion port = Answered(Asked::kOwnPort);
  wire::PortInfo info;
  info.lid = Lid(7);
  info.master_sm_lid = Lid(3);
  info.capability_mask = 0x12345678;
  info.Encode(port.response.data);
  (void)sm_.OnCompletion(port, kNow);
  ASSERT_THAT(effects_.send, SizeIs(1));
  const mad::OutgoingMad& sent = effects_.send.front();
  EXPECT_EQ(sent.to.lid, Lid(3));
  EXPECT_EQ(sent.agent, mad::Agent::kSmpLid);
  const auto smp = wire::Smp::Decode(
      std::span<const uint8_t, wire::kMadBytes>(sent.payload.data(), wire::kMadBytes));
  ASSERT_TRUE(smp);
  EXPECT_EQ(smp->method, wire::Method::kTrap);
  const auto notice = wire::Notice::Decode(smp->data);
  EXPECT_TRUE(notice.changes_sm_priority());
  EXPECT_EQ(notice.issuer_lid, Lid(7));
  // There is nobody to tell while it has no LID.
  effects_.send.clear();
  info.lid = Lid();
  info.Encode(port.response.data);
  (void)sm_.OnCompletion(port, kNow);
  EXPECT_THAT(effects_.send, IsEmpty());
}

TEST_F(MastershipTest, HandsOverToAHigherDiscoveringSmOnceItIsStandby) {
  BeMaster({});
  EXPECT_EQ(Sweep({Other(2, 9, SmState::kDiscovering)}).kind, Kind::kProgram);
  const Instant due = sm_.NextDeadline();
  EXPECT_LE(due, kNow + std::chrono::seconds(1))
      << "what it becomes must not wait for a light sweep";
  sm_.OnTimer(due);
  EXPECT_EQ(sm_.OnCompletion(Says(Asked::kWatch, Other(2, 9, SmState::kDiscovering)), due).kind,
            Kind::kNothing);
  sm_.OnTimer(due + std::chrono::seconds(1));
  EXPECT_EQ(sm_.OnCompletion(Says(Asked::kWatch, Other(2, 9), 1), due).kind, Kind::kLookSoon);
  EXPECT_EQ(sm_.others().front().state, SmState::kStandby);
  EXPECT_EQ(Sweep({Other(2, 9)}).kind, Kind::kNothing) << "a handover is under way";
  EXPECT_EQ(sm_.OnCompletion(Answered(Asked::kHandover), due).kind, Kind::kBeStandby);
}

TEST_F(MastershipTest, AMasterFoundAfterDiscoveryStartsASweepAtOnce) {
  BeMaster({});
  EXPECT_EQ(Sweep({Other(2, 9, SmState::kDiscovering)}).kind, Kind::kProgram);
  sm_.OnTimer(sm_.NextDeadline());
  EXPECT_EQ(sm_.OnCompletion(Says(Asked::kWatch, Other(2, 9, SmState::kMaster)), kNow).kind,
            Kind::kSweep);
}

// An SM takes a few handovers at once and refuses more for a while.
TEST_F(MastershipTest, RepeatsAHandoverAfterABusyResponse) {
  const RemoteSm higher = Other(2, 9, SmState::kMaster);
  BeMaster({});
  EXPECT_EQ(Sweep({higher}).kind, Kind::kNothing) << "a handover is under way";
  mad::Completion refusal = Answered(Asked::kHandover);
  refusal.status = wire::kStatusBusy;
  EXPECT_EQ(sm_.OnCompletion(refusal, kNow).kind, Kind::kProgram);
  const Instant due = sm_.NextDeadline();
  ASSERT_LE(due, kNow + std::chrono::seconds(1));
  sm_.OnTimer(due);
  EXPECT_EQ(sm_.OnCompletion(Says(Asked::kWatch, higher), due).kind, Kind::kSweep);
  EXPECT_EQ(Sweep({higher}).kind, Kind::kNothing);
  refusal.status = wire::kStatusInvalidAttributeValue;
  EXPECT_EQ(sm_.OnCompletion(refusal, due).kind, Kind::kProgram);
  EXPECT_GT(sm_.NextDeadline(), due + std::chrono::seconds(1)) << "it refused for good";
}

TEST_F(MastershipTest, AStandbyThatDoesNotTakeOverIsPassedOverAfterAHandover) {
  sm_.Start();
  const RemoteSm idle = Other(2, 9);
  Instant now = kNow;
  ASSERT_EQ(sm_.OnDiscovered(snapshot_, {idle}, {}, now).kind, Kind::kBeStandby);
  EXPECT_EQ(Poll(idle, now += std::chrono::milliseconds(500)).kind, Kind::kNothing);
  EXPECT_EQ(Poll(idle, now += std::chrono::milliseconds(500)).kind, Kind::kSweep);
  // The last look finds it as it was: this SM rises, and gives the subnet away at once.
  sm_.OnSweepStart();
  EXPECT_EQ(sm_.OnDiscovered(snapshot_, {idle}, {}, now).kind, Kind::kNothing);
  const auto rises = sm_.OnCompletion(Says(Asked::kCheck, idle), now);
  EXPECT_EQ(rises.kind, Kind::kNothing);
  EXPECT_TRUE(rises.rose);
  EXPECT_TRUE(sm_.IsMaster());
  ASSERT_EQ(sm_.OnCompletion(Answered(Asked::kHandover), now).kind, Kind::kBeStandby);
  // It has answered the handover, and still is not master.
  EXPECT_EQ(Poll(idle, now += std::chrono::milliseconds(500)).kind, Kind::kNothing);
  EXPECT_EQ(Poll(idle, now += std::chrono::milliseconds(500)).kind, Kind::kSweep);
  sm_.OnSweepStart();
  EXPECT_EQ(sm_.OnDiscovered(snapshot_, {idle}, {}, now).kind, Kind::kNothing);
  EXPECT_EQ(sm_.OnCompletion(Says(Asked::kCheck, idle), now).kind, Kind::kProgram);
  EXPECT_TRUE(sm_.IsMaster());
  // Later it is tried again.
  sm_.OnSweepStart();
  now += std::chrono::minutes(11);
  EXPECT_EQ(sm_.OnDiscovered(snapshot_, {idle}, {}, now).kind, Kind::kNothing);
  EXPECT_EQ(sm_.OnCompletion(Answered(Asked::kHandover), now).kind, Kind::kBeStandby);
}

TEST_F(MastershipTest, WaitsForAnSmThatDiscoversForLong) {
  sm_.Start();
  const RemoteSm slow = Other(2, 9, SmState::kDiscovering);
  Instant now = kNow;
  ASSERT_EQ(sm_.OnDiscovered(snapshot_, {slow}, {}, now).kind, Kind::kBeStandby);
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(Poll(slow, now += std::chrono::milliseconds(500)).kind, Kind::kNothing);
  EXPECT_EQ(Poll(Other(2, 9, SmState::kMaster), now += std::chrono::milliseconds(500)).kind,
            Kind::kNothing);
  EXPECT_EQ(sm_.state(), SmState::kStandby);
}

TEST_F(MastershipTest, SweepsTwiceMoreWhenAnSmMissesThePreMasterCheck) {
  sm_.Start();
  mad::Completion silence;
  silence.context = mad::RequestContext::Of(Activity::kMastership, Asked::kCheck);
  for (int sweep = 0; sweep < 2; ++sweep) {
    ASSERT_EQ(sm_.OnDiscovered(snapshot_, {Other(2, 3, SmState::kDiscovering)}, {}, kNow).kind,
              Kind::kNothing);
    EXPECT_EQ(sm_.OnCompletion(silence, kNow).kind, Kind::kSweep);
    EXPECT_FALSE(sm_.IsMaster());
    sm_.OnSweepStart();
  }
  ASSERT_EQ(sm_.OnDiscovered(snapshot_, {Other(2, 3, SmState::kDiscovering)}, {}, kNow).kind,
            Kind::kNothing);
  EXPECT_EQ(sm_.OnCompletion(silence, kNow).kind, Kind::kProgram) << "not for ever";
}

TEST_F(MastershipTest, AStandbyThatOutranksItsMasterSendsItATrap) {
  BeStandby();  // Of a master with the same priority and the lower GUID.
  const RemoteSm lower = Other(0, 4, SmState::kMaster);
  Instant now = kNow + std::chrono::seconds(20);
  EXPECT_EQ(Poll(Other(0, 5, SmState::kMaster), now).kind, Kind::kNothing);
  EXPECT_EQ(engine_.size(), 1u) << "the poll";
  EXPECT_EQ(Poll(lower, now += std::chrono::seconds(20)).kind, Kind::kNothing);
  EXPECT_EQ(engine_.size(), 3u) << "a second poll, and its own PortInfo, for the trap";
  EXPECT_EQ(Poll(lower, now += options_.sm.polling_timeout / 2).kind, Kind::kNothing);
  EXPECT_EQ(engine_.size(), 3u) << "no trap, and no poll, so soon";
}

wire::Smp GetSmInfo() {
  wire::Smp request;
  request.method = wire::Method::kGet;
  request.attribute = wire::AttributeId::kSmInfo;
  request.path = wire::DirectedPath().Then(PortNum(1));
  return request;
}

// IBA vol 1 §14.2.5.13: other requesters receive SM_Key 0.
TEST_F(MastershipTest, TheSmKeyIsShownToTheMKeyAndToSmsThatHaveIt) {
  BeMaster({});
  options_.sm.sm_key = SmKey(0x5EC2E7);
  wire::Smp request = GetSmInfo();
  mad::IncomingMad mad;
  mad.payload.resize(wire::kMadBytes);
  request.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  const auto shown = [&](const std::vector<mad::OutgoingMad>& sent) {
    EXPECT_THAT(sent, SizeIs(1));
    return KeyIn(*wire::Smp::Decode(
        std::span<const uint8_t, wire::kMadBytes>(sent.front().payload.data(), wire::kMadBytes)));
  };
  std::vector<mad::OutgoingMad> sent;
  (void)sm_.OnRequest(mad, request, kNow, sent);
  EXPECT_THAT(sent, IsEmpty()) << "the sender is asked first";
  mad::Completion proof = Answered(Asked::kProof);
  wire::SmInfo info;
  info.sm_key = SmKey(0x5EC2E7);
  info.Encode(proof.response.data);
  EXPECT_EQ(sm_.OnCompletion(proof, kNow).kind, Kind::kNothing);
  EXPECT_EQ(shown(effects_.send), SmKey(0x5EC2E7));
  effects_.send.clear();
  (void)sm_.OnRequest(mad, request, kNow, sent);
  EXPECT_EQ(sm_.OnCompletion(Answered(Asked::kProof, 1), kNow).kind, Kind::kNothing);
  EXPECT_FALSE(shown(effects_.send)) << "it shows another one";
  options_.sm.m_key = MKey(0xABC);
  request.m_key = MKey(0xABC);
  (void)sm_.OnRequest(mad, request, kNow, sent);
  EXPECT_EQ(shown(sent), SmKey(0x5EC2E7));
}

TEST_F(MastershipTest, AToolOnItsOwnNodeIsNotShownTheSmKey) {
  BeMaster({});
  EXPECT_FALSE(KeyIn(Ask(wire::Method::kGet, {}, SmKey())));
}

TEST_F(MastershipTest, ARefusedSetIsNotShownTheSmKey) {
  BeMaster({});
  options_.sm.sm_key = SmKey(0x5EC2E7);
  const auto refused = Ask(wire::Method::kSet, wire::SmControl::kHandover, SmKey(1));
  EXPECT_EQ(refused.status, wire::kStatusInvalidAttributeValue);
  EXPECT_FALSE(KeyIn(refused));
}

TEST_F(MastershipTest, ForgedHandoversCostNoMoreThanASweepInTenSeconds) {
  BeMaster({});
  int sweeps = 0;
  Instant now = kNow;
  for (int i = 0; i < 1000; ++i, now += std::chrono::milliseconds(100)) {
    const auto answer = Ask(wire::Method::kSet, wire::SmControl::kHandover, SmKey(1), now);
    const bool taken = order_.kind == Kind::kSweep;
    sweeps += taken ? 1 : 0;
    EXPECT_EQ(answer.status, taken ? wire::kStatusOk : wire::kStatusBusy);
  }
  EXPECT_LE(sweeps, 15) << "in 100 s";
  EXPECT_GE(sweeps, 10);
  EXPECT_TRUE(sm_.IsMaster());
}

TEST_F(MastershipTest, TheHandoverThatAMasterWaitsForIsNotRationed) {
  BeMaster({});
  for (int i = 0; i < 100; ++i) (void)Ask(wire::Method::kSet, wire::SmControl::kHandover, SmKey(1));
  const auto refused = Ask(wire::Method::kSet, wire::SmControl::kHandover, SmKey(1));
  ASSERT_EQ(refused.status, wire::kStatusBusy);
  ASSERT_EQ(Sweep({Other(2, 3, SmState::kMaster)}).kind, Kind::kWait);
  const auto taken = Ask(wire::Method::kSet, wire::SmControl::kHandover, SmKey(1));
  EXPECT_EQ(taken.status, wire::kStatusOk);
}

TEST_F(MastershipTest, UnknownSmsCauseNoMoreThanASweepInTenSeconds) {
  BeMaster({});
  int sweeps = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    const Instant now = kNow + std::chrono::seconds(i);
    (void)Sweep({});
    mad::IncomingMad mad;
    mad.payload.resize(wire::kMadBytes);
    std::vector<mad::OutgoingMad> sent;
    (void)sm_.OnRequest(mad, GetSmInfo(), now, sent);
    sm_.OnTimer(now);
    RemoteSm stranger = Other(2, 3);
    stranger.guid = Guid(0x2000 + i);
    sweeps += sm_.OnCompletion(Says(Asked::kWatch, stranger, i), now).kind == Kind::kLookSoon;
  }
  EXPECT_LE(sweeps, 15) << "in 100 s";
  EXPECT_GE(sweeps, 5);
}

TEST_F(MastershipTest, AMasterThatIsSeenWhileSweepsAreRationedIsNotForgotten) {
  BeMaster({});
  for (int i = 0; i < 5; ++i) (void)Ask(wire::Method::kSet, wire::SmControl::kHandover, SmKey(1));
  EXPECT_EQ(Sweep({Other(2, 9, SmState::kDiscovering)}).kind, Kind::kProgram);
  Instant now = sm_.NextDeadline();
  sm_.OnTimer(now);
  const RemoteSm master = Other(2, 9, SmState::kMaster);
  EXPECT_EQ(sm_.OnCompletion(Says(Asked::kWatch, master), now).kind, Kind::kNothing);
  now += std::chrono::minutes(1);
  sm_.OnTimer(now);
  EXPECT_EQ(sm_.OnCompletion(Says(Asked::kWatch, master, 1), now).kind, Kind::kSweep);
}

}  // namespace
}  // namespace fabricd::sweep
