// SPDX-License-Identifier: Apache-2.0
// Matching, repeats, ids and cancelling. Windows are in engine_window_test.cc.
#include <gmock/gmock.h>

#include <set>

#include "tests/unit/mad/fake_wire.h"

namespace fabricd::mad {
namespace {

using Outcome = Completion::Outcome;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

FakeWire::Reaction Lost() { return {.answer = std::nullopt}; }

// IBA vol 1 §14.2.1.2, and the kernel's rules of DESIGN §3.
TEST(EngineFraming, DirectedGet) {
  FakeWire wire;
  SmpRequest request = FakeWire::Get(7, 0x80000003);
  request.path = {1, 17, 4};
  request.m_key = MKey(0x1122334455667788);
  wire.Submit(request);
  wire.Pump();
  ASSERT_EQ(wire.sent.size(), 1u);
  const OutgoingMad& mad = wire.sent[0].mad;
  EXPECT_EQ(mad.agent, Agent::kSmpDirected);
  EXPECT_EQ(mad.to.lid, kPermissiveLid);
  EXPECT_EQ(mad.to.qpn, 0u);
  EXPECT_EQ(mad.to.qkey, 0u);
  EXPECT_EQ(mad.timeout, Duration(200ms));
  EXPECT_EQ(mad.payload[1], 0x81);
  EXPECT_EQ(mad.payload[3], 0x01);
  const wire::Smp& smp = wire.sent[0].smp;
  EXPECT_EQ(smp.hop_pointer, 0);
  EXPECT_FALSE(smp.returning);
  EXPECT_EQ(smp.path, request.path);
  EXPECT_EQ(smp.modifier, 0x80000003u);
  EXPECT_EQ(smp.m_key, request.m_key);
  EXPECT_EQ(smp.tid_high, 0u);
}

TEST(EngineFraming, LidRoutedSet) {
  FakeWire wire;
  SmpRequest request = FakeWire::Get(7, 1);
  request.method = wire::Method::kSet;
  request.lid = Lid(42);
  request.data[5] = 0x5A;
  wire.Submit(request);
  wire.Run();
  ASSERT_EQ(wire.sent.size(), 1u);
  EXPECT_EQ(wire.sent[0].mad.agent, Agent::kSmpLid);
  EXPECT_EQ(wire.sent[0].mad.to.lid, Lid(42));
  EXPECT_EQ(wire.sent[0].mad.payload[1], 0x01);
  EXPECT_EQ(wire.sent[0].mad.payload[3], 0x02);
  EXPECT_FALSE(wire.sent[0].smp.path.has_value());
  EXPECT_EQ(wire.sent[0].smp.data, request.data);
  ASSERT_EQ(wire.done.size(), 1u);
  EXPECT_EQ(wire.done[0].outcome, Outcome::kResponse);
  EXPECT_EQ(wire.done[0].method, wire::Method::kSet);
}

TEST(EngineMatching, CompletionCarriesTheRequestAndTheResponse) {
  FakeWire wire;
  wire.react = [](const FakeWire::Sent&) { return FakeWire::Reaction{.status = 0x1C}; };
  SmpRequest request = FakeWire::Get(9, 3);
  request.path = {1, 2};
  request.context = {1, 2, 0x0304, 0x0506, PortNum(7), NodeIndex(0x08090A0B), 0x0C0D0E0F};
  wire.Submit(request);
  wire.Run();
  ASSERT_EQ(wire.done.size(), 1u);
  const Completion& completion = wire.done[0];
  EXPECT_EQ(completion.outcome, Outcome::kResponse);
  EXPECT_EQ(completion.context, request.context);
  EXPECT_EQ(completion.device, 9u);
  EXPECT_EQ(completion.attribute, wire::AttributeId::kPortInfo);
  EXPECT_EQ(completion.modifier, 3u);
  EXPECT_EQ(completion.status, 0x1C);
  EXPECT_EQ(completion.path_used, request.path);
  EXPECT_EQ(completion.response.method, wire::Method::kGetResp);
  EXPECT_EQ(wire.engine.statistics().bad_status, 1u);
  EXPECT_EQ(wire.engine.size(), 0u);
}

// Responses of another class, attribute, modifier or transaction ID are dropped; the right response
// still counts.
TEST(EngineMatching, ForeignResponsesAreCountedAndDropped) {
  FakeWire wire;
  wire.react = [](const FakeWire::Sent&) { return Lost(); };
  SmpRequest request = FakeWire::Get(0, 3);
  request.path = {1};
  wire.Submit(request);
  wire.Pump();
  const wire::Smp right = AnswerTo(wire.sent.at(0).smp);
  std::vector<wire::Smp> wrong(5, right);
  wrong[0].tid = TransactionId(right.tid.value() + 1);
  wrong[1].attribute = wire::AttributeId::kNodeInfo;
  wrong[2].modifier = 4;
  wrong[3].path.reset();
  wrong[4].method = wire::Method::kGet;
  for (const wire::Smp& smp : wrong) wire.engine.OnIncoming(Received(smp), wire.now, wire.done);
  IncomingMad cut = Received(right);
  cut.payload.resize(200);
  wire.engine.OnIncoming(cut, wire.now, wire.done);
  EXPECT_TRUE(wire.done.empty());
  EXPECT_EQ(wire.engine.statistics().unmatched, 6u);
  EXPECT_EQ(wire.engine.in_flight(), 1u);
  wire.engine.OnIncoming(Received(right), wire.now, wire.done);
  EXPECT_EQ(wire.done.size(), 1u);
  EXPECT_EQ(wire.engine.in_flight(), 0u);
}

TEST(EngineMatching, DuplicateResponsesCompleteOnce) {
  FakeWire wire;
  wire.react = [](const FakeWire::Sent&) { return FakeWire::Reaction{.copies = 3}; };
  wire.Submit(FakeWire::Get(0, 1));
  wire.Run();
  EXPECT_EQ(wire.done.size(), 1u);
  EXPECT_EQ(wire.engine.statistics().unmatched, 2u);
}

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

TEST(EngineRepeats, ARedirectedRequestInFlightIsSentByTheNewPathAtOnce) {
  FakeWire wire;
  const wire::DirectedPath gone{1, 2, 3}, stays{1, 4, 5}, other{1, 6};
  wire.react = [&](const FakeWire::Sent& sent) {
    return sent.smp.path == gone ? Lost() : FakeWire::Reaction{};
  };
  for (uint32_t i = 1; i <= 4; ++i) {  // Two in flight, two queued behind them.
    SmpRequest request = FakeWire::Get(0, i);
    request.path = gone;
    wire.Submit(request);
  }
  SmpRequest elsewhere = FakeWire::Get(1, 5);
  elsewhere.path = other;
  wire.Submit(elsewhere);
  wire.Pump();
  ASSERT_EQ(wire.sent.size(), 3u);
  wire.Redirect(0, gone, stays);
  wire.Redirect(1, gone, stays);  // Goes another way.
  wire.Redirect(77, gone, stays);
  wire.Pump();
  wire.RunUntil(Instant(1ms));
  EXPECT_EQ(wire.done.size(), 5u);  // Nobody waited for a time-out.
  for (const Completion& completion : wire.done) {
    EXPECT_EQ(completion.outcome, Outcome::kResponse);
    EXPECT_EQ(completion.path_used, completion.device == 0 ? stays : other);
  }
  // The first attempts have ids of their own: the kernel still holds them.
  EXPECT_NE(wire.sent[0].smp.tid, wire.sent[3].smp.tid);
  EXPECT_EQ(wire.engine.statistics().suspect_devices, 0u);
  EXPECT_EQ(wire.engine.size(), 0u);
  wire.Run();
  EXPECT_EQ(wire.done.size(), 5u);
}

// The response was under way when the link was found to be down: the request is not repeated.
TEST(EngineRepeats, AResponseByTheOldPathCompletesARedirectedRequest) {
  const wire::DirectedPath gone{1, 2, 3}, stays{1, 4, 5};
  for (const bool repeated : {false, true}) {
    SCOPED_TRACE(repeated);
    FakeWire wire;
    wire.react = [](const FakeWire::Sent&) { return Lost(); };
    SmpRequest request = FakeWire::Get(0, 1);
    request.method = wire::Method::kSet;
    request.path = gone;
    wire.Submit(request);
    wire.Pump();
    ASSERT_EQ(wire.sent.size(), 1u);
    wire.Redirect(0, gone, stays);
    if (repeated) wire.Pump();
    const wire::Smp answer = AnswerTo(wire.sent[0].smp);
    wire.engine.OnIncoming(Received(answer), wire.now, wire.done);
    wire.engine.OnIncoming(Received(answer), wire.now, wire.done);
    ASSERT_EQ(wire.done.size(), 1u);
    EXPECT_EQ(wire.done[0].outcome, Outcome::kResponse);
    EXPECT_EQ(wire.done[0].path_used, gone);
    EXPECT_EQ(wire.engine.statistics().unmatched, 1u);
    // A repeat that has left is on the wire, and keeps its places.
    EXPECT_EQ(wire.engine.in_flight(), repeated ? 1u : 0u);
    wire.Pump();
    ASSERT_EQ(wire.sent.size(), repeated ? 2u : 1u);
    if (repeated) wire.engine.OnIncoming(Received(AnswerTo(wire.sent[1].smp)), wire.now, wire.done);
    EXPECT_EQ(wire.engine.size(), 0u);
    EXPECT_EQ(wire.done.size(), 1u);
  }
}

// The kernel reports the first attempt of a request whose repeat is under way.
TEST(EngineRepeats, ATimeoutByTheOldPathDoesNotEndTheRedirectedRepeat) {
  FakeWire wire;
  const wire::DirectedPath gone{1, 2, 3}, stays{1, 4, 5};
  wire.react = [](const FakeWire::Sent&) { return Lost(); };
  SmpRequest request = FakeWire::Get(0, 1);
  request.path = gone;
  wire.Submit(request);
  wire.Pump();
  wire.Redirect(0, gone, stays);
  wire.Pump();
  ASSERT_EQ(wire.sent.size(), 2u);
  IncomingMad report;
  report.agent = wire.sent[0].mad.agent;
  report.kind = IncomingMad::Kind::kTimedOut;
  report.payload = wire.sent[0].mad.payload;
  wire.engine.OnIncoming(report, wire.now, wire.done);
  EXPECT_EQ(wire.engine.statistics().unmatched, 1u);
  EXPECT_EQ(wire.engine.statistics().suspect_devices, 0u);
  EXPECT_EQ(wire.engine.in_flight(), 1u);
}

TEST(EngineRepeats, RepeatedRedirectionEndsAfterAllRetries) {
  FakeWire wire;
  wire.react = [](const FakeWire::Sent&) { return Lost(); };
  wire::DirectedPath path{1, 2, 3};
  SmpRequest request = FakeWire::Get(0, 1);
  request.path = path;
  wire.Submit(request);
  for (uint8_t i = 4; i < 40; ++i) {
    wire.Pump();
    const wire::DirectedPath next{1, 2, i};
    wire.Redirect(0, path, next);
    path = next;
  }
  EXPECT_EQ(wire.sent.size(), 1u + EngineOptions().retries);
  wire.Run();
  ASSERT_EQ(wire.done.size(), 1u);
  EXPECT_EQ(wire.done[0].outcome, Outcome::kTimedOut);
}

TEST(EngineRepeats, RequestsThatAreGivenUpTimeOutWithTheNextPump) {
  FakeWire wire;
  const wire::DirectedPath gone{1, 2, 3}, other{1, 6};
  wire.react = [&](const FakeWire::Sent& sent) {
    return sent.smp.path == gone ? Lost() : FakeWire::Reaction{};
  };
  for (uint32_t i = 1; i <= 6; ++i) {  // Two in flight, and queued behind that.
    SmpRequest request = FakeWire::Get(0, i);
    request.path = i == 5 ? other : gone;
    if (i == 6) request.method = wire::Method::kSet;
    wire.Submit(request);
  }
  wire.Pump();
  wire.engine.GiveUp(0, gone);
  wire.engine.GiveUp(77);
  wire.Pump();
  EXPECT_EQ(wire.done.size(), 4u);
  // Those that were sent keep their places until they would have timed out.
  EXPECT_EQ(wire.engine.in_flight(), 2u);
  EXPECT_EQ(wire.engine.queued(), 2u);
  wire.Run();
  ASSERT_EQ(wire.done.size(), 6u);
  for (const Completion& completion : wire.done)
    EXPECT_EQ(completion.outcome,
              completion.modifier == 5 ? Outcome::kResponse : Outcome::kTimedOut);
  const auto& counters = wire.engine.statistics().attributes.begin()->second;
  EXPECT_EQ(counters.get.timeouts, 0u);
  EXPECT_GT(counters.set.timeouts, 0u);
  EXPECT_EQ(wire.engine.size(), 0u);
}

TEST(EngineRepeats, AResponseToARequestThatWasGivenUpIsDropped) {
  FakeWire wire;
  wire.react = [](const FakeWire::Sent&) { return FakeWire::Reaction{.answer = 100ms}; };
  for (uint32_t i = 1; i <= 3; ++i) wire.Submit(FakeWire::Get(0, i));
  wire.RunUntil(Instant(50ms));
  wire.engine.GiveUp(0);
  wire.Run();
  EXPECT_EQ(wire.done.size(), 3u);
  EXPECT_EQ(wire.Count(Outcome::kTimedOut), 3u);
  EXPECT_EQ(wire.engine.size(), 0u);
}

TEST(EngineRepeats, ARequestCancelledAfterItWasGivenUpDoesNotComplete) {
  FakeWire wire;
  wire.Submit(FakeWire::Get(0, 1));
  wire.engine.GiveUp(0);
  wire.engine.CancelAll();
  wire.Submit(FakeWire::Get(1, 2));
  wire.engine.GiveUp(1);
  wire.engine.CancelDevice(1);
  wire.Run();
  EXPECT_TRUE(wire.done.empty());
  EXPECT_EQ(wire.engine.size(), 0u);
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

TEST(EngineIds, WrapBelowTelemetrysAndSkipZero) {
  EngineOptions options;
  options.first_transaction_id = 0x7FFFFFFE;
  FakeWire wire(options);
  for (uint32_t n = 0; n < 4; ++n) wire.Submit(FakeWire::Get(n, n));
  wire.Run();
  std::vector<uint32_t> ids;
  for (const FakeWire::Sent& sent : wire.sent) ids.push_back(sent.smp.tid.value());
  EXPECT_THAT(ids, ElementsAre(0x7FFFFFFE, 0x7FFFFFFF, 1, 2));
  EXPECT_EQ(wire.Count(Outcome::kResponse), 4u);
}

TEST(EngineCancel, DropsQueuedRequestsAndIgnoresResponsesToThoseInFlight) {
  FakeWire wire;
  for (uint32_t n = 0; n < 10; ++n) wire.Submit(FakeWire::Get(/*device=*/n % 2, n));
  wire.Pump();
  EXPECT_EQ(wire.engine.in_flight(), 4u);
  wire.engine.CancelDevice(0);
  EXPECT_EQ(wire.engine.queued(), 3u);
  wire.Run();
  EXPECT_EQ(wire.engine.size(), 0u);
  std::set<uint32_t> numbers;
  for (const Completion& completion : wire.done) numbers.insert(completion.context.number);
  EXPECT_THAT(numbers, ElementsAre(1, 3, 5, 7, 9));
  // The device is usable again.
  wire.Submit(FakeWire::Get(0, 100));
  wire.Run();
  EXPECT_EQ(wire.done.back().context.number, 100u);
}

TEST(EngineCancel, CancelledAttemptsAreNotRepeated) {
  FakeWire wire;
  wire.react = [](const FakeWire::Sent&) { return Lost(); };
  for (uint32_t n = 0; n < 10; ++n) wire.Submit(FakeWire::Get(n, n));
  wire.Pump();
  wire.engine.CancelAll();
  wire.Run();
  EXPECT_EQ(wire.sent.size(), 10u);
  EXPECT_TRUE(wire.done.empty());
  EXPECT_EQ(wire.engine.size(), 0u);
}

enum class TestOwner : uint8_t { kNobody, kOne, kOther };

SmpRequest GetOf(TestOwner owner, DeviceId device, uint32_t number) {
  SmpRequest request = FakeWire::Get(device, number);
  request.context = RequestContext::Of(owner);
  request.context.number = number;
  return request;
}

std::vector<uint32_t> NumbersOf(const std::vector<Completion>& completions) {
  std::vector<uint32_t> numbers;
  for (const Completion& completion : completions) numbers.push_back(completion.context.number);
  return numbers;
}

TEST(EngineCancel, CancellingAnOwnerDropsItsQueueAndCompletesTheRest) {
  FakeWire wire;
  wire.react = [](const FakeWire::Sent&) { return Lost(); };
  for (uint32_t n = 0; n < 8; ++n)
    wire.Submit(GetOf(n % 2 == 0 ? TestOwner::kOne : TestOwner::kOther, /*device=*/0, n));
  wire.Submit(GetOf(TestOwner::kOther, /*device=*/1, 8));
  wire.Pump();
  ASSERT_EQ(wire.engine.in_flight(), 3u);  // 0, 1 and 8.
  std::vector<Completion> dropped;
  wire.engine.CancelQueuedOf(TestOwner::kOther, dropped);
  wire.engine.CancelQueuedOf(TestOwner::kNobody, dropped);
  EXPECT_THAT(NumbersOf(dropped), ElementsAre(3, 5, 7));
  for (const Completion& completion : dropped) EXPECT_EQ(completion.outcome, Outcome::kCancelled);
  wire.react = [](const FakeWire::Sent&) { return FakeWire::Reaction{}; };
  wire.Run();
  EXPECT_THAT(NumbersOf(wire.done), UnorderedElementsAre(0, 1, 2, 4, 6, 8));
  EXPECT_EQ(wire.engine.size(), 0u);
}

TEST(EngineCancel, CancellingAContextDropsOnlyRequestsThatEqualIt) {
  FakeWire wire;
  wire.react = [](const FakeWire::Sent&) { return Lost(); };
  for (uint32_t n = 0; n < 4; ++n) wire.Submit(GetOf(TestOwner::kOne, /*device=*/0, n));
  wire.Submit(GetOf(TestOwner::kOther, /*device=*/0, 3));
  wire.Pump();
  ASSERT_EQ(wire.engine.in_flight(), 2u);  // 0 and 1.
  std::vector<Completion> dropped;
  wire.engine.CancelQueued(GetOf(TestOwner::kOne, 0, 0).context, dropped);
  EXPECT_TRUE(dropped.empty()) << "it was sent";
  wire.engine.CancelQueued(GetOf(TestOwner::kOne, 0, 3).context, dropped);
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].context, GetOf(TestOwner::kOne, 0, 3).context);
  EXPECT_EQ(wire.engine.queued(), 2u);
}

TEST(EngineStatistics, RoundTripsAndCountsByMethod) {
  FakeWire wire;
  wire.react = [](const FakeWire::Sent& sent) {
    return FakeWire::Reaction{.answer = (sent.number + 1) * Duration(10us)};
  };
  for (uint32_t n = 0; n < 3; ++n) {
    SmpRequest request = FakeWire::Get(n, n);
    if (n == 2) request.method = wire::Method::kSet;
    wire.Submit(request);
  }
  wire.Run();
  const EngineStatistics& statistics = wire.engine.statistics();
  EXPECT_EQ(statistics.rtt_min, Duration(10us));
  EXPECT_EQ(statistics.rtt_max, Duration(30us));
  EXPECT_GT(statistics.rtt_average, Duration(10us));
  EXPECT_LT(statistics.rtt_average, Duration(30us));
  const EngineStatistics::Attribute& port_info =
      statistics.attributes.at(wire::AttributeId::kPortInfo);
  EXPECT_EQ(port_info.get, (MethodStatistics{.sent = 2, .received = 2}));
  EXPECT_EQ(port_info.set, (MethodStatistics{.sent = 1, .received = 1}));
  EXPECT_EQ(statistics.total_sent(), 3u);
}

}  // namespace
}  // namespace fabricd::mad
