// SPDX-License-Identifier: Apache-2.0
// Windows, priorities and adaptation. FakeWire checks on every send that no limit is exceeded; here
// is what the limits are for.
#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <set>

#include "common/rng.h"
#include "tests/unit/mad/fake_wire.h"

namespace fabricd::mad {
namespace {

using testing::ElementsAre;

// Ways to 256 * 64 devices behind a first switch with 64 ports.
wire::DirectedPath PathOf(DeviceId device) {
  return {1, static_cast<uint8_t>(device % 64 + 1), static_cast<uint8_t>(device / 64 % 255 + 1)};
}

SmpRequest GetAt(DeviceId device, uint32_t number) {
  SmpRequest request = FakeWire::Get(device, number);
  request.path = PathOf(device);
  return request;
}

std::vector<uint32_t> Modifiers(const std::vector<FakeWire::Sent>& sent) {
  std::vector<uint32_t> modifiers;
  for (const FakeWire::Sent& one : sent) modifiers.push_back(one.smp.modifier);
  return modifiers;
}

TEST(EngineOrder, FirstInFirstOutOverDevicesAndRoundRobinWithin) {
  EngineOptions options;
  options.window_initial = options.window_max = options.window_floor = 1;
  FakeWire wire(options);
  for (uint32_t n = 0; n < 3; ++n) wire.Submit(FakeWire::Get(/*device=*/5, n));
  wire.Submit(FakeWire::Get(/*device=*/2, 3));
  wire.Submit(FakeWire::Get(/*device=*/9, 4));
  wire.Submit(FakeWire::Get(/*device=*/2, 5));
  wire.Run();
  EXPECT_THAT(Modifiers(wire.sent), ElementsAre(0, 3, 4, 1, 5, 2));
}

TEST(EngineOrder, UrgentFirstAlsoAtTheSameDevice) {
  EngineOptions options;
  options.window_initial = options.window_max = options.window_floor = 1;
  FakeWire wire(options);
  wire.Submit(FakeWire::Get(0, 0, /*priority=*/2));
  wire.Submit(FakeWire::Get(1, 1, /*priority=*/1));
  wire.Submit(FakeWire::Get(0, 2, /*priority=*/1));
  wire.Submit(FakeWire::Get(1, 3, /*priority=*/0));
  wire.Submit(FakeWire::Get(0, 4, /*priority=*/0));
  wire.Run();
  EXPECT_THAT(Modifiers(wire.sent), ElementsAre(3, 4, 1, 2, 0));
}

TEST(EngineOrder, UrgentRequestsPassADeviceThatWaitsForItsSubtree) {
  EngineOptions options;
  options.subtree_limit = 1;
  FakeWire wire(options);
  wire.react = [](const FakeWire::Sent&) { return FakeWire::Reaction{.answer = 10ms}; };
  wire.Submit(GetAt(0, 0));
  wire.Submit(GetAt(64, 1));  // The same subtree: waits.
  wire.Pump();
  EXPECT_THAT(Modifiers(wire.sent), ElementsAre(0));
  SmpRequest urgent = FakeWire::Get(64, 2, /*priority=*/0);
  urgent.lid = Lid(3);
  wire.Submit(urgent);
  wire.Pump();
  EXPECT_THAT(Modifiers(wire.sent), ElementsAre(0, 2));
  wire.Run();
  EXPECT_THAT(Modifiers(wire.sent), ElementsAre(0, 2, 1));
}

TEST(EngineLimits, SecondHopMakesTheSubtree) {
  EngineOptions options;
  options.subtree_limit = 3;
  FakeWire wire(options);
  wire.react = [](const FakeWire::Sent&) { return Lost(); };
  uint32_t number = 0;
  for (DeviceId device = 0; device < 10; ++device) {
    SmpRequest same = FakeWire::Get(device, number++);
    same.path = {1, 9, static_cast<uint8_t>(device)};
    wire.Submit(same);
  }
  wire.Pump();
  EXPECT_EQ(wire.sent.size(), 3u);
  for (DeviceId device = 10; device < 20; ++device) {
    SmpRequest near = FakeWire::Get(device, number++);
    near.path = {1};
    wire.Submit(near);
  }
  wire.Pump();
  EXPECT_EQ(wire.sent.size(), 13u) << "the SM's only port is no subtree";
}

TEST(EngineLimits, TwoPerDevice) {
  FakeWire wire;
  wire.react = [](const FakeWire::Sent&) { return FakeWire::Reaction{.answer = 1ms}; };
  for (uint32_t n = 0; n < 10; ++n) wire.Submit(FakeWire::Get(0, n));
  wire.Pump();
  EXPECT_EQ(wire.sent.size(), 2u);
  wire.Run();
  EXPECT_EQ(wire.done.size(), 10u);
  EXPECT_EQ(wire.now, Instant(5ms));
}

TEST(EngineWindow, GrowsToTheMaximumWhileAllIsAnswered) {
  FakeWire wire;
  for (uint32_t n = 0; n < 5000; ++n) wire.Submit(GetAt(n % 1000, n));
  EXPECT_EQ(wire.engine.statistics().window, 32u);
  wire.Run();
  EXPECT_EQ(wire.engine.statistics().window, 128u);
  EXPECT_EQ(wire.done.size(), 5000u);
}

TEST(EngineWindow, DoesNotGrowWhenItIsNotTheLimit) {
  FakeWire wire;
  for (uint32_t n = 0; n < 1000; ++n) wire.Submit(FakeWire::Get(n % 4, n));
  wire.Run();
  EXPECT_EQ(wire.engine.statistics().window, 32u);
}

// The first switch drops MADs that exceed its buffer: the window must converge to about the size of
// the buffer.
TEST(EngineWindow, ShrinksUnderOverload) {
  constexpr size_t kBuffer = 24;
  constexpr Duration kService = 50us;
  FakeWire wire;
  std::deque<Instant> buffer;
  size_t lost = 0;
  wire.react = [&](const FakeWire::Sent& sent) {
    while (!buffer.empty() && buffer.front() <= sent.at) buffer.pop_front();
    if (buffer.size() == kBuffer) {
      ++lost;
      return Lost();
    }
    buffer.push_back(sent.at + kService);
    return FakeWire::Reaction{.answer = kService};
  };
  for (uint32_t n = 0; n < 50000; ++n) wire.Submit(GetAt(n % 1000, n));
  wire.Run();
  EXPECT_EQ(wire.Count(Completion::Outcome::kResponse), 50000u);
  EXPECT_GT(wire.engine.statistics().window_shrinks, 0u);
  EXPECT_LT(lost, 500u);
}

struct Result {
  Duration others_done{};
  uint64_t shrinks = 0;
  uint32_t smallest_window = 0;
};

// 1000 devices with ten requests each; those that `dead` names never answer.
Result RunWithDead(const std::function<bool(DeviceId)>& dead) {
  EngineOptions options;
  options.window_initial = 128;
  FakeWire wire(options);
  Rng rng(1);
  wire.react = [&](const FakeWire::Sent& sent) {
    if (dead(sent.smp.modifier / 16)) return Lost();
    return FakeWire::Reaction{.answer = Duration(20us) + std::chrono::microseconds(rng.Below(20))};
  };
  for (uint32_t n = 0; n < 10; ++n) {
    for (DeviceId device = 0; device < 1000; ++device) wire.Submit(GetAt(device, device * 16 + n));
  }
  Result result;
  result.smallest_window = 128;
  size_t seen = 0;
  wire.Pump();
  while (wire.Step()) {
    for (; seen < wire.done.size(); ++seen) {
      if (!dead(wire.done[seen].device)) result.others_done = wire.now.time_since_epoch();
    }
    result.smallest_window = std::min(result.smallest_window, wire.engine.statistics().window);
  }
  EXPECT_EQ(wire.done.size(), 10000u);
  result.shrinks = wire.engine.statistics().window_shrinks;
  return result;
}

TEST(EngineWindow, OneUnresponsiveDeviceAmongAThousandKeepsTheWindow) {
  const Result none = RunWithDead([](DeviceId) { return false; });
  const Result one = RunWithDead([](DeviceId device) { return device == 500; });
  EXPECT_EQ(one.shrinks, 0u);
  EXPECT_EQ(one.smallest_window, 128u);
  EXPECT_LT(one.others_done, none.others_done * 11 / 10);
}

TEST(EngineWindow, AnUnresponsiveSubtreeOrHalfAFabricKeepsTheWindow) {
  EXPECT_EQ(RunWithDead([](DeviceId device) { return device % 64 == 7; }).shrinks, 0u);
  EXPECT_EQ(RunWithDead([](DeviceId device) { return device % 2 == 0; }).shrinks, 0u);
}

// 200 unresponsive devices would fill the window many times over. Once they are suspects, three
// quarters of it are reserved for the others.
TEST(EngineWindow, SuspectsCannotFillTheWindow) {
  EngineOptions options;
  options.window_initial = 64;
  options.window_max = 64;
  FakeWire wire(options);
  wire.react = [](const FakeWire::Sent& sent) {
    return sent.smp.modifier < 10000 ? Lost() : FakeWire::Reaction{};
  };
  for (uint32_t n = 0; n < 200; ++n) wire.Submit(FakeWire::Get(n, n));
  wire.Pump();
  while (wire.engine.statistics().suspect_devices < 200) ASSERT_TRUE(wire.Step());
  for (uint32_t n = 0; n < 200; ++n) wire.Submit(FakeWire::Get(n, 1000 + n));
  wire.Pump();
  EXPECT_EQ(wire.engine.in_flight(), wire.engine.statistics().window / 4);
  const Instant before = wire.now;
  for (uint32_t n = 0; n < 1000; ++n) wire.Submit(FakeWire::Get(1000 + n, 10000 + n));
  wire.Pump();
  while (wire.Count(Completion::Outcome::kResponse) < 1000) ASSERT_TRUE(wire.Step());
  EXPECT_LT(wire.now - before, Duration(5ms));
  wire.Run();
  EXPECT_EQ(wire.done.size(), 1400u);
}

TEST(EngineWindow, APatientCallerUsesASmallWindow) {
  EngineOptions options;
  options.window_initial = 64;
  options.window_patient = 5;
  FakeWire wire(options);
  Duration under_way{};
  wire.react = [&](const FakeWire::Sent&) {
    return FakeWire::Reaction{.answer = under_way += 1us};
  };
  for (uint32_t n = 0; n < 2000; ++n) wire.Submit(GetAt(n % 1000, n));
  wire.engine.SetPatient(true);
  wire.Pump();
  for (int step = 0; step < 200; ++step) {
    ASSERT_TRUE(wire.Step());
    ASSERT_LE(wire.engine.in_flight(), 5u);
  }
  EXPECT_EQ(wire.engine.statistics().window, 64u) << "it was not what limited";
  wire.engine.SetPatient(false);
  wire.Pump();
  EXPECT_EQ(wire.engine.in_flight(), 64u);
  wire.engine.SetPatient(true);
  const size_t sent = wire.sent.size();
  while (wire.engine.in_flight() > 5) ASSERT_TRUE(wire.Step());
  EXPECT_EQ(wire.sent.size(), sent) << "what is too many lands first";
  wire.Run();
  EXPECT_EQ(wire.done.size(), 2000u);
}

// Eight unresponsive devices fill the small window once.
TEST(EngineWindow, ATimeOutEndsPatience) {
  FakeWire wire;
  wire.react = [](const FakeWire::Sent& sent) {
    return sent.smp.modifier < 200 ? Lost() : FakeWire::Reaction{};
  };
  for (uint32_t n = 0; n < 1200; ++n) wire.Submit(FakeWire::Get(n, n));
  wire.engine.SetPatient(true);
  wire.Pump();
  EXPECT_EQ(wire.engine.in_flight(), 8u);
  while (wire.Count(Completion::Outcome::kResponse) < 1000) ASSERT_TRUE(wire.Step());
  // All 200 have to be found silent, 32 at a time.
  EXPECT_LT(wire.now - Instant(), Duration(2s));
  wire.Run();
  EXPECT_EQ(wire.done.size(), 1200u);
  // Patient anew.
  wire.engine.SetPatient(false);
  wire.engine.SetPatient(true);
  for (uint32_t n = 0; n < 100; ++n) wire.Submit(FakeWire::Get(1000 + n, 2000 + n));
  wire.Pump();
  EXPECT_EQ(wire.engine.in_flight(), 8u);
}

TEST(EngineWindow, SuspectDeviceGetsOneAndItsPlacesBackWhenItAnswers) {
  FakeWire wire;
  bool alive = false;
  wire.react = [&](const FakeWire::Sent&) {
    return alive ? FakeWire::Reaction{.answer = 1ms} : Lost();
  };
  for (uint32_t n = 0; n < 8; ++n) wire.Submit(FakeWire::Get(0, n));
  wire.RunUntil(Instant(250ms));
  EXPECT_EQ(wire.engine.in_flight(), 1u);
  EXPECT_EQ(wire.engine.statistics().suspect_devices, 1u);
  alive = true;
  wire.RunUntil(Instant(502ms));
  EXPECT_EQ(wire.engine.in_flight(), 2u);
  EXPECT_EQ(wire.engine.statistics().suspect_devices, 0u);
  wire.Run();
  EXPECT_EQ(wire.Count(Completion::Outcome::kResponse), 8u);
}

}  // namespace
}  // namespace fabricd::mad
