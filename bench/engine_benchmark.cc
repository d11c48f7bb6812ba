// SPDX-License-Identifier: Apache-2.0
// The transaction engine's own cost per SMP: submit, send, match, complete, with the wire answering
// at once. Arguments: requests queued, devices.
#include <benchmark/benchmark.h>

#include "mad/transaction_engine.h"

namespace fabricd::mad {
namespace {

SmpRequest RequestOf(uint32_t number, uint32_t devices) {
  SmpRequest request;
  request.attribute = wire::AttributeId::kPortInfo;
  request.modifier = number;
  request.device = number % devices;
  request.path = {1, static_cast<uint8_t>(1 + request.device % 64),
                  static_cast<uint8_t>(1 + request.device / 64 % 64)};
  request.context.number = number;
  return request;
}

// What a device makes of a request, in place: the method and the direction bit.
IncomingMad AnswerTo(OutgoingMad& mad) {
  IncomingMad answer;
  answer.agent = mad.agent;
  answer.payload = std::move(mad.payload);
  answer.payload[3] = static_cast<uint8_t>(wire::Method::kGetResp);
  answer.payload[4] = 0x80;
  return answer;
}

void BM_SubmitSendMatchComplete(benchmark::State& state) {
  const uint32_t total = static_cast<uint32_t>(state.range(0));
  const uint32_t devices = static_cast<uint32_t>(state.range(1));
  std::vector<OutgoingMad> out;
  std::vector<Completion> done;
  for (auto unused : state) {
    TransactionEngine engine((EngineOptions()));
    Instant now{};
    for (uint32_t number = 0; number < total; ++number) engine.Submit(RequestOf(number, devices));
    uint64_t completed = 0;
    while (completed < total) {
      now += std::chrono::microseconds(100);
      out.clear();
      engine.Pump(now, out, done);
      for (OutgoingMad& mad : out) engine.OnIncoming(AnswerTo(mad), now, done);
      completed += done.size();
      done.clear();
    }
  }
  state.SetItemsProcessed(state.iterations() * total);
}
BENCHMARK(BM_SubmitSendMatchComplete)
    ->Args({1000, 100})
    ->Args({100000, 100})
    ->Args({100000, 10000})
    ->Unit(benchmark::kMillisecond);

// A hundred silent devices among ten thousand: the others must not pay.
void BM_WithSilentDevices(benchmark::State& state) {
  constexpr uint32_t kTotal = 100000, kDevices = 10000;
  std::vector<OutgoingMad> out;
  std::vector<Completion> done;
  for (auto unused : state) {
    TransactionEngine engine((EngineOptions()));
    Instant now{};
    for (uint32_t number = 0; number < kTotal; ++number) engine.Submit(RequestOf(number, kDevices));
    uint64_t completed = 0;
    std::vector<std::pair<Instant, IncomingMad>> reports;  // As they were sent.
    size_t reported = 0;
    while (completed < kTotal) {
      now += std::chrono::microseconds(100);
      out.clear();
      engine.Pump(now, out, done);
      for (OutgoingMad& mad : out) {
        // Bytes 130 and 131 of a directed SMP: the second and third hop.
        if (mad.payload[130] == 7 && mad.payload[131] < 40) {
          reports.emplace_back(
              now + mad.timeout,
              IncomingMad{IncomingMad::Kind::kTimedOut, mad.agent, mad.to, std::move(mad.payload)});
        } else {
          engine.OnIncoming(AnswerTo(mad), now, done);
        }
      }
      if (out.empty() && reported < reports.size()) now = std::max(now, reports[reported].first);
      for (; reported < reports.size() && reports[reported].first <= now; ++reported) {
        engine.OnIncoming(reports[reported].second, now, done);
      }
      completed += done.size();
      done.clear();
    }
  }
  state.SetItemsProcessed(state.iterations() * kTotal);
}
BENCHMARK(BM_WithSilentDevices)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fabricd::mad

BENCHMARK_MAIN();
