// SPDX-License-Identifier: Apache-2.0
#include "mad/engine_statistics.h"

#include <algorithm>

namespace fabricd::mad {
namespace {

constexpr uint32_t kRttWeightDivisor = 16;

}  // namespace

uint64_t EngineStatistics::total_sent() const {
  uint64_t total = 0;
  for (const auto& [id, attribute] : attributes) total += attribute.get.sent + attribute.set.sent;
  return total;
}

MethodStatistics* StatisticsRecorder::CountersOf(wire::AttributeId attribute, wire::Method method) {
  EngineStatistics::Attribute& counters = statistics_.attributes[attribute];
  return method == wire::Method::kSet ? &counters.set : &counters.get;
}

void StatisticsRecorder::CountAttempt(MethodStatistics& counters, bool is_repeat) {
  ++counters.sent;
  if (is_repeat) ++counters.retries;
}

void StatisticsRecorder::CountResponse(MethodStatistics& counters, uint16_t status) {
  ++counters.received;
  if (status != wire::kStatusOk) ++statistics_.bad_status;
}

void StatisticsRecorder::CountRoundTrip(Duration time) {
  EngineStatistics& all = statistics_;
  const bool first = all.rtt_max == Duration::zero();
  all.rtt_min = first ? time : std::min(all.rtt_min, time);
  all.rtt_max = std::max(all.rtt_max, time);
  all.rtt_average = first ? time : all.rtt_average + (time - all.rtt_average) / kRttWeightDivisor;
}

}  // namespace fabricd::mad
