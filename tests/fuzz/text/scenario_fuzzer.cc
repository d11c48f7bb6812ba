// SPDX-License-Identifier: Apache-2.0
// Scenarios of any bytes: refused by line, or read to what is written and read back the same.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/check.h"
#include "common/status.h"
#include "sim/verdicts/scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fabricd;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto scenario = sim::ReadScenario(text);
  if (!scenario.ok()) {
    FABRICD_CHECK(absl::IsInvalidArgument(scenario.status()));
    FABRICD_CHECK(Message(scenario.status()).find("line ") != std::string::npos, "{}",
                  Message(scenario.status()));
    return 0;
  }
  for (const sim::Cause& cause : scenario->causes) {
    const sim::CauseInfo& info = sim::InfoOf(cause.kind);
    FABRICD_CHECK((info.places >> static_cast<int>(cause.place.kind) & 1) != 0);
    FABRICD_CHECK(cause.severity.low <= cause.severity.high && cause.start.low >= 0);
    FABRICD_CHECK(info.unit == nullptr || cause.severity.low >= info.least);
  }
  const std::string written = sim::WriteScenario(*scenario);
  const auto again = sim::ReadScenario(written);
  FABRICD_CHECK(again.ok() && *again == *scenario, "{}", written);
  return 0;
}
