// SPDX-License-Identifier: Apache-2.0
// Framing, matching, ids and cancelling. Repeats are in engine_repeats_test.cc, other paths in
// engine_redirect_test.cc, windows in engine_window_test.cc.
#include <gmock/gmock.h>

#include <set>

#include "tests/unit/mad/fake_wire.h"

namespace fabricd::mad {
namespace {

using Outcome = Completion::Outcome;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

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
