// SPDX-License-Identifier: Apache-2.0
// Names of counters and patterns, and options of performance agents, of any bytes: refused with a
// reason, or read to what is written and read back the same.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/check.h"
#include "common/status.h"
#include "sim/performance/counters.h"
#include "sim/performance/performance_options.h"
#include "sim/traffic/patterns.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fabricd;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto counter = sim::ParseCounter(text)) {
    FABRICD_CHECK(sim::CounterName(*counter) == text);
  }
  if (const auto pattern = sim::ParseTrafficPattern(text)) {
    FABRICD_CHECK(sim::TrafficPatternName(*pattern) == text);
  }
  const auto options = sim::ParsePerformanceOptions(text);
  if (!options.ok()) {
    FABRICD_CHECK(absl::IsInvalidArgument(options.status()) && !Message(options.status()).empty());
    return 0;
  }
  FABRICD_CHECK(options->answer_delay >= Duration::zero());
  const std::string words = sim::ToText(*options);
  const auto again = sim::ParsePerformanceOptions(words);
  FABRICD_CHECK(again.ok() && *again == *options, "{}", words);
  return 0;
}
