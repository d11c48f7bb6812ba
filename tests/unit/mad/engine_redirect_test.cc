// SPDX-License-Identifier: Apache-2.0
// Requests that are sent by another path or given up.
#include <gmock/gmock.h>

#include "tests/unit/mad/fake_wire.h"

namespace fabricd::mad {
namespace {

using Outcome = Completion::Outcome;

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

}  // namespace
}  // namespace fabricd::mad
