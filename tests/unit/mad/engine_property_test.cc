// SPDX-License-Identifier: Apache-2.0
// Random traffic over a random wire: losses, duplicates, reordering, late and busy answers, refused
// sends, unreported time-outs, cancelling. FakeWire is the oracle of the windows and of transaction
// ids.
#include <rapidcheck.h>

#include <map>

#include "common/rng.h"
#include "mad/transactions.h"
#include "tests/unit/mad/fake_wire.h"

namespace fabricd::mad {
namespace {

EngineOptions RandomOptions(Rng& rng) {
  EngineOptions options;
  options.first_transaction_id = static_cast<uint32_t>(kTelemetryTransactionBit - rng.Below(50));
  options.window_floor = 1 + static_cast<uint32_t>(rng.Below(4));
  options.window_max = options.window_floor + static_cast<uint32_t>(rng.Below(60));
  options.window_initial = 1 + static_cast<uint32_t>(rng.Below(80));
  options.window_patient = 1 + static_cast<uint32_t>(rng.Below(8));
  options.device_limit = 1 + static_cast<uint32_t>(rng.Below(4));
  options.subtree_limit = 1 + static_cast<uint32_t>(rng.Below(10));
  options.retries = static_cast<uint32_t>(rng.Below(4));
  return options;
}

SmpRequest RandomRequest(Rng& rng, uint32_t number, uint64_t devices) {
  SmpRequest request = FakeWire::Get(static_cast<DeviceId>(rng.Below(devices)), number,
                                     static_cast<uint8_t>(rng.Below(3)));
  if (rng.Chance(0.3)) request.method = wire::Method::kSet;
  if (rng.Chance(0.1)) request.lid = Lid(static_cast<uint16_t>(1 + request.device));
  for (uint64_t hops = rng.Below(5); hops > 0; --hops) {
    request.path = request.path.Then(PortNum(static_cast<uint8_t>(1 + rng.Below(2))));
  }
  if (rng.Chance(0.3)) request.alternative = wire::DirectedPath{1, 3, 1};
  return request;
}

FakeWire::Reaction RandomReaction(Rng& rng, double trouble) {
  FakeWire::Reaction reaction;
  reaction.answer = std::chrono::microseconds(1 + rng.Below(500));
  if (!rng.Chance(trouble)) return reaction;
  switch (rng.Below(6)) {
    case 0: reaction.answer.reset(); break;
    case 1:
      reaction.answer = std::chrono::milliseconds(150 + rng.Below(400));  // Often too late.
      break;
    case 2: reaction.copies = 3; break;
    case 3: reaction.refuse = true; break;
    case 4:
      reaction.answer.reset();
      reaction.report = false;
      break;
    default:
      reaction.status = rng.Chance(0.5) ? wire::kStatusBusy : wire::kStatusInvalidAttributeValue;
  }
  return reaction;
}

bool EveryRequestCompletesOnce(uint64_t seed) {
  Rng rng(seed);
  const EngineOptions options = RandomOptions(rng);
  const double trouble = static_cast<double>(rng.Below(4)) * 0.2;
  const uint64_t devices = 1 + rng.Below(30);
  const uint32_t total = static_cast<uint32_t>(rng.Below(400));
  FakeWire wire(options);
  wire.react = [&](const FakeWire::Sent&) { return RandomReaction(rng, trouble); };
  uint32_t submitted = 0;
  while (submitted < total) {
    for (uint64_t burst = rng.Below(60); burst > 0 && submitted < total; --burst, ++submitted) {
      wire.Submit(RandomRequest(rng, submitted, devices));
    }
    wire.engine.SetPatient(rng.Chance(0.5));
    wire.Pump();
    for (uint64_t steps = rng.Below(40); steps > 0 && wire.Step(); --steps) {
    }
  }
  wire.Run();
  std::map<uint32_t, int> completed;
  for (const Completion& completion : wire.done) ++completed[completion.context.number];
  std::map<uint64_t, uint32_t> attempts;
  for (const FakeWire::Sent& sent : wire.sent) ++attempts[sent.smp.modifier];
  RC_ASSERT(completed.size() == total);
  for (const auto& [number, times] : completed) RC_ASSERT(times == 1);
  for (const auto& [number, times] : attempts) RC_ASSERT(times <= options.retries + 1);
  RC_ASSERT(wire.engine.size() == 0u);
  RC_ASSERT(wire.engine.NextDeadline() == kNever);
  RC_ASSERT(wire.engine.statistics().total_sent() == wire.sent.size());
  RC_ASSERT(wire.engine.statistics().window >= options.window_floor);
  RC_ASSERT(wire.engine.statistics().window <= options.window_max);
  return !testing::Test::HasFailure();
}

TEST(EngineProperty, EveryRequestCompletesOnceWithinTheWindows) {
  EXPECT_TRUE(rc::check("every request completes once", EveryRequestCompletesOnce));
}

// Without losses the first attempts of a device and priority leave in the order they came.
bool OrderIsKept(uint64_t seed) {
  Rng rng(seed);
  FakeWire wire(RandomOptions(rng));
  wire.react = [&](const FakeWire::Sent&) { return RandomReaction(rng, 0); };
  const uint32_t total = static_cast<uint32_t>(rng.Below(300));
  std::map<uint32_t, std::pair<DeviceId, uint8_t>> queue_of;
  for (uint32_t number = 0; number < total; ++number) {
    const SmpRequest request = RandomRequest(rng, number, 12);
    queue_of[number] = {request.device, request.priority};
    wire.Submit(request);
    if (rng.Chance(0.1)) wire.Step();
    if (rng.Chance(0.1)) wire.Pump();
  }
  wire.Run();
  RC_ASSERT(wire.sent.size() == total);
  std::map<std::pair<DeviceId, uint8_t>, uint32_t> last;
  for (const FakeWire::Sent& sent : wire.sent) {
    const auto [at, first] = last.emplace(queue_of.at(sent.smp.modifier), sent.smp.modifier);
    RC_ASSERT(first || at->second < sent.smp.modifier);
    at->second = sent.smp.modifier;
  }
  return !testing::Test::HasFailure();
}

TEST(EngineProperty, FirstInFirstOutPerDeviceAndPriority) {
  EXPECT_TRUE(rc::check("first in, first out per device and priority", OrderIsKept));
}

// Cancelling at any moment: nothing cancelled completes, everything else does, nothing is left
// over.
bool CancelLeavesNothing(uint64_t seed) {
  Rng rng(seed);
  FakeWire wire(RandomOptions(rng));
  const double trouble = static_cast<double>(rng.Below(3)) * 0.2;
  wire.react = [&](const FakeWire::Sent&) { return RandomReaction(rng, trouble); };
  std::map<uint32_t, DeviceId> open;  // Submitted, neither completed nor cancelled.
  size_t seen = 0;
  const auto account = [&] {
    for (; seen < wire.done.size(); ++seen)
      RC_ASSERT(open.erase(wire.done[seen].context.number) == 1u);
  };
  const uint32_t total = static_cast<uint32_t>(rng.Below(300));
  for (uint32_t number = 0; number < total; ++number) {
    const SmpRequest request = RandomRequest(rng, number, 8);
    open[request.context.number] = request.device;
    wire.Submit(request);
    if (rng.Chance(0.2)) wire.Pump();
    if (rng.Chance(0.2)) wire.Step();
    account();
    if (rng.Chance(0.03)) {
      const DeviceId device = static_cast<DeviceId>(rng.Below(9));
      wire.engine.CancelDevice(device);
      std::erase_if(open, [&](const auto& entry) { return entry.second == device; });
    } else if (rng.Chance(0.005)) {
      wire.engine.CancelAll();
      open.clear();
    }
  }
  wire.Run();
  account();
  RC_ASSERT(open.empty());
  RC_ASSERT(wire.engine.size() == 0u);
  return !testing::Test::HasFailure();
}

TEST(EngineProperty, CancelLeavesNothingBehind) {
  EXPECT_TRUE(rc::check("cancelling leaves nothing behind", CancelLeavesNothing));
}

}  // namespace
}  // namespace fabricd::mad
