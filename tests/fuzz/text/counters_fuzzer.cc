// SPDX-License-Identifier: Apache-2.0
// Names of counters and patterns, and options of performance agents, of any bytes: refused with a
// reason, or read to what is written and read back the same.
#include <cstddef>
#include <cstdint>
#include <string>

#include <google/protobuf/repeated_field.h>

#include "common/check.h"
#include "common/status.h"
#include "daemon/rpc/convert/port_selector.h"
#include "sim/performance/counters.h"
#include "sim/performance/performance_options.h"
#include "sim/traffic/patterns.h"
#include "telemetry/counters.h"

namespace fabricd {
namespace {

void CheckSimulated(const std::string& text) {
  if (const auto counter = sim::ParseCounter(text)) {
    FABRICD_CHECK(sim::CounterName(*counter) == text);
  }
  if (const auto pattern = sim::ParseTrafficPattern(text)) {
    FABRICD_CHECK(sim::TrafficPatternName(*pattern) == text);
  }
  const auto options = sim::ParsePerformanceOptions(text);
  if (!options.ok()) {
    FABRICD_CHECK(absl::IsInvalidArgument(options.status()) && !Message(options.status()).empty());
    return;
  }
  FABRICD_CHECK(options->answer_delay >= Duration::zero());
  const std::string words = sim::ToText(*options);
  const auto again = sim::ParsePerformanceOptions(words);
  FABRICD_CHECK(again.ok() && *again == *options, "{}", words);
}

// A request's list of counters: all of it, or nothing.
void CheckRequested(const std::string& text) {
  google::protobuf::RepeatedPtrField<std::string> names;
  *names.Add() = "symbol_errors";
  *names.Add() = text;
  const auto counters = rpc::ReadCounters(names, {});
  const auto counter = telemetry::FindCounter(text);
  FABRICD_CHECK(counters.ok() == counter.has_value());
  if (!counter) {
    FABRICD_CHECK(absl::IsInvalidArgument(counters.status()));
    return;
  }
  const telemetry::CounterInfo& info = telemetry::InfoOf(*counter);
  FABRICD_CHECK(counters->Has(*counter) && counters->Has(telemetry::Counter::kSymbolErrors));
  FABRICD_CHECK(info.key == text || info.name == text);
}

}  // namespace
}  // namespace fabricd

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  fabricd::CheckSimulated(text);
  fabricd::CheckRequested(text);
  return 0;
}
