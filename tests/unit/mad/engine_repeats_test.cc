// SPDX-License-Identifier: Apache-2.0
// Requests that are sent again, and those that time out at last.
#include <gmock/gmock.h>

#include "tests/unit/mad/fake_wire.h"

namespace fabricd::mad {
namespace {

using Outcome = Completion::Outcome;
using testing::ElementsAre;

TEST(EngineRepeats, TimeoutsGrowToTheCapAndKeepTheId) {
  EngineOptions options;
  options.first_timeout = 200ms;
  options.timeout_factor = 1.5;
  options.timeout_cap = 500ms;
  options.retries = 3;
  FakeWire wire(options);
  wire.react = [](const FakeWire::Sent&) { return Lost(); };
  wire.Submit(FakeWire::Get(0, 1));
  wire.Run();
  ASSERT_EQ(wire.sent.size(), 4u);
  std::vector<Duration> timeouts, times;
  for (const FakeWire::Sent& sent : wire.sent) {
    timeouts.push_back(sent.mad.timeout);
    times.push_back(sent.at.time_since_epoch());
    EXPECT_EQ(sent.smp.tid, wire.sent[0].smp.tid);
  }
  EXPECT_THAT(timeouts, ElementsAre(200ms, 300ms, 450ms, 500ms));
  EXPECT_THAT(times, ElementsAre(0ms, 200ms, 500ms, 950ms));
  ASSERT_EQ(wire.done.size(), 1u);
  EXPECT_EQ(wire.done[0].outcome, Outcome::kTimedOut);
  EXPECT_EQ(wire.now, Instant(1450ms));
  const MethodStatistics& gets =
      wire.engine.statistics().attributes.at(wire::AttributeId::kPortInfo).get;
  EXPECT_EQ(gets, (MethodStatistics{.sent = 4, .received = 0, .timeouts = 4, .retries = 3}));
}

TEST(EngineRepeats, EachPossibleKeyIsTriedAndTheResponseNamesTheOneThatGotIt) {
  EngineOptions options;
  options.retries = 1;
  FakeWire wire(options);
  wire.react = [](const FakeWire::Sent& sent) {
    return sent.smp.m_key == MKey(7) ? FakeWire::Reaction{} : Lost();
  };
  SmpRequest get = FakeWire::Get(0, 1);
  get.m_key = MKey(5);
  get.other_keys = {MKey(6), MKey(7)};
  wire.Submit(get);
  wire.Run();
  std::vector<MKey> keys;
  std::set<TransactionId> ids;
  for (const FakeWire::Sent& sent : wire.sent) {
    keys.push_back(sent.smp.m_key);
    ids.insert(sent.smp.tid);
  }
  EXPECT_THAT(keys, ElementsAre(MKey(5), MKey(6), MKey(7)));
  EXPECT_EQ(ids.size(), 3u) << "a late response must not name another key";
  ASSERT_EQ(wire.done.size(), 1u);
  EXPECT_EQ(wire.done[0].outcome, Outcome::kResponse);
  EXPECT_EQ(wire.done[0].found_key, MKey(7));
  get.other_keys.clear();
  get.m_key = MKey(7);
  wire.Submit(get);
  wire.Run();
  EXPECT_EQ(wire.done.at(1).found_key, std::nullopt);
}

TEST(EngineRepeats, LateResponseToTheFirstAttemptEndsTheSecond) {
  FakeWire wire;
  wire.react = [](const FakeWire::Sent& sent) {
    return sent.number == 0 ? FakeWire::Reaction{.answer = 250ms} : Lost();
  };
  wire.Submit(FakeWire::Get(0, 1));
  wire.RunUntil(Instant(250ms));
  EXPECT_EQ(wire.sent.size(), 2u);
  ASSERT_EQ(wire.done.size(), 1u);
  EXPECT_EQ(wire.done[0].outcome, Outcome::kResponse);
  EXPECT_EQ(wire.engine.statistics().rtt_max, Duration::zero())
      << "which attempt was answered is unknown";
}

TEST(EngineRepeats, LateResponseWhileTheRepeatWaitsForAPlace) {
  EngineOptions options;
  options.window_initial = options.window_max = options.window_floor = 1;
  FakeWire wire(options);
  wire.react = [](const FakeWire::Sent& sent) {
    return sent.smp.modifier == 2 ? FakeWire::Reaction{.answer = 100ms} : Lost();
  };
  wire.Submit(FakeWire::Get(0, 1));
  wire.Pump();
  wire.Submit(FakeWire::Get(1, 2, /*priority=*/0));
  wire.RunUntil(Instant(250ms));
  ASSERT_EQ(wire.sent.size(), 2u);
  EXPECT_EQ(wire.sent[1].smp.modifier, 2u);
  EXPECT_EQ(wire.engine.queued(), 1u);
  wire.engine.OnIncoming(Received(AnswerTo(wire.sent[0].smp)), wire.now, wire.done);
  ASSERT_EQ(wire.done.size(), 1u);
  EXPECT_EQ(wire.done[0].context.number, 1u);
  EXPECT_EQ(wire.engine.queued(), 0u);
  wire.Run();
  EXPECT_EQ(wire.sent.size(), 2u);
  EXPECT_EQ(wire.done.size(), 2u);
}

TEST(EngineRepeats, AlternativePathAfterTwoTimeouts) {
  FakeWire wire;
  const wire::DirectedPath bad{1, 2, 3}, good{1, 4, 5};
  wire.react = [&](const FakeWire::Sent& sent) {
    return sent.smp.path == good ? FakeWire::Reaction{} : Lost();
  };
  SmpRequest request = FakeWire::Get(0, 1);
  request.path = bad;
  request.alternative = good;
  wire.Submit(request);
  wire.Run();
  ASSERT_EQ(wire.sent.size(), 3u);
  EXPECT_EQ(wire.sent[1].smp.path, bad);
  EXPECT_EQ(wire.sent[2].smp.path, good);
  ASSERT_EQ(wire.done.size(), 1u);
  EXPECT_EQ(wire.done[0].outcome, Outcome::kResponse);
  EXPECT_EQ(wire.done[0].path_used, good);
}

TEST(EngineRepeats, ReportsADeviceAsSuspectOnceUntilItResponds) {
  FakeWire wire;
  bool silent = true;
  wire.react = [&](const FakeWire::Sent&) { return silent ? Lost() : FakeWire::Reaction{}; };
  wire.Submit(FakeWire::Get(3, 1));
  wire.Submit(FakeWire::Get(3, 2));
  wire.RunUntil(wire.now + 250ms);
  EXPECT_EQ(wire.engine.TakeSuspects(), std::vector<DeviceId>{3});
  wire.RunUntil(wire.now + 250ms);
  EXPECT_TRUE(wire.engine.TakeSuspects().empty()) << "not again for another time-out";
  silent = false;
  wire.Run();
  silent = true;
  wire.Submit(FakeWire::Get(3, 3));
  wire.RunUntil(wire.now + 250ms);
  silent = false;
  wire.Run();
  EXPECT_TRUE(wire.engine.TakeSuspects().empty()) << "it has answered since";
}

// §13.4.7: busy says that the MAD was dropped.
TEST(EngineRepeats, BusyIsRepeatedLaterAndReportedAtLast) {
  EngineOptions options;
  options.retries = 1;
  FakeWire wire(options);
  wire.react = [](const FakeWire::Sent&) {
    return FakeWire::Reaction{.status = wire::kStatusBusy};
  };
  wire.Submit(FakeWire::Get(0, 1));
  wire.Run();
  ASSERT_EQ(wire.sent.size(), 2u);
  EXPECT_GE(wire.sent[1].at - wire.sent[0].at, options.first_timeout);
  ASSERT_EQ(wire.done.size(), 1u);
  EXPECT_EQ(wire.done[0].outcome, Outcome::kResponse);
  EXPECT_EQ(wire.done[0].status, wire::kStatusBusy);
}

TEST(EngineRepeats, ATransportThatReportsNoTimeoutIsCaughtByADeadline) {
  EngineOptions options;
  options.retries = 1;
  FakeWire wire(options);
  wire.react = [](const FakeWire::Sent&) {
    return FakeWire::Reaction{.answer = std::nullopt, .report = false};
  };
  wire.Submit(FakeWire::Get(0, 1));
  wire.Pump();
  EXPECT_EQ(wire.engine.NextDeadline(), Instant(1200ms));
  wire.Run();
  ASSERT_EQ(wire.sent.size(), 2u);
  EXPECT_EQ(wire.sent[1].at, Instant(1200ms));
  EXPECT_NE(wire.sent[1].smp.tid, wire.sent[0].smp.tid) << "the kernel may still hold the first";
  EXPECT_EQ(wire.now, Instant(2500ms));
  EXPECT_EQ(wire.Count(Outcome::kTimedOut), 1u);
  // The report that never came arrives after all.
  const IncomingMad report{
      IncomingMad::Kind::kTimedOut, Agent::kSmpDirected, {}, wire.sent[0].mad.payload};
  wire.engine.OnIncoming(report, wire.now, wire.done);
  EXPECT_EQ(wire.done.size(), 1u);
  EXPECT_EQ(wire.engine.statistics().unmatched, 1u);
}

TEST(EngineRepeats, RefusedSendsWaitAndEndAsSendFailed) {
  EngineOptions options;
  options.retries = 2;
  options.window_initial = options.window_max = 8;
  FakeWire wire(options);
  wire.react = [](const FakeWire::Sent&) { return FakeWire::Reaction{.refuse = true}; };
  for (uint32_t n = 0; n < 20; ++n) wire.Submit(FakeWire::Get(n, n));
  wire.Pump();
  EXPECT_EQ(wire.sent.size(), 8u) << "a refusing transport must not be flooded";
  wire.Run();
  EXPECT_EQ(wire.sent.size(), 60u);
  EXPECT_EQ(wire.Count(Outcome::kSendFailed), 20u);
  EXPECT_EQ(wire.engine.statistics().send_failures, 60u);
  EXPECT_EQ(wire.engine.statistics().window, 8u);
}

TEST(EngineDeadDevice, TimesOutAllItsQueuedRequestsTogether) {
  FakeWire wire;
  wire.react = [](const FakeWire::Sent& sent) {
    return sent.smp.path == wire::DirectedPath{1, 3} ? Lost() : FakeWire::Reaction{};
  };
  for (uint32_t number = 1; number <= 64; ++number) {
    SmpRequest request = FakeWire::Get(7, number);
    request.path = {1, 3};
    wire.Submit(request);
  }
  SmpRequest elsewhere = FakeWire::Get(7, 65);  // Shares the device's number, not its route.
  elsewhere.path = {1, 4};
  wire.Submit(elsewhere);
  wire.Run();
  ASSERT_EQ(wire.done.size(), 65u);
  for (const Completion& completion : wire.done)
    EXPECT_EQ(completion.outcome,
              completion.context.number == 65 ? Outcome::kResponse : Outcome::kTimedOut);
  EXPECT_LE(wire.sent.size(), 2u * 4 + 1) << "two in flight, four attempts each";
}

TEST(EngineDeadDevice, OneThatAnswersOtherRequestsKeepsItsQueue) {
  FakeWire wire;
  wire.react = [](const FakeWire::Sent& sent) {
    return sent.smp.modifier == 1 ? Lost() : FakeWire::Reaction{};
  };
  for (uint32_t number = 1; number <= 8; ++number) wire.Submit(FakeWire::Get(7, number));
  wire.Run();
  ASSERT_EQ(wire.done.size(), 8u);
  for (const Completion& completion : wire.done)
    EXPECT_EQ(completion.outcome,
              completion.context.number == 1 ? Outcome::kTimedOut : Outcome::kResponse);
}

// ibsim reports the timeouts of what it does not know at once, so that four pass before anything
// else is answered.
TEST(EngineDeadDevice, OneThatDropsAnUnknownRequestKeepsItsQueueAndIsNoSuspect) {
  for (const bool may_be_unknown : {false, true}) {
    SCOPED_TRACE(may_be_unknown);
    EngineOptions options;
    options.device_limit = 1;
    FakeWire wire(options);
    wire.react = [](const FakeWire::Sent& sent) {
      return sent.smp.modifier == 1 ? Lost() : FakeWire::Reaction{};
    };
    SmpRequest unknown = FakeWire::Get(7, 1);
    unknown.may_be_unknown = may_be_unknown;
    wire.Submit(unknown);
    for (uint32_t number = 2; number <= 8; ++number) wire.Submit(FakeWire::Get(7, number));
    wire.RunUntil(Instant(400ms));  // Two attempts.
    EXPECT_EQ(wire.engine.TakeSuspects().empty(), may_be_unknown);
    wire.Run();
    EXPECT_EQ(wire.Count(Outcome::kTimedOut), may_be_unknown ? 1u : 8u);
    EXPECT_EQ(wire.Count(Outcome::kResponse), may_be_unknown ? 7u : 0u);
  }
}

}  // namespace
}  // namespace fabricd::mad
