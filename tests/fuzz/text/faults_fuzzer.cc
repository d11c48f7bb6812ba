// SPDX-License-Identifier: Apache-2.0
// The simulator's fault classes of any bytes: refused by line, or read to what is written and read
// back the same, and drawn from within what a class may be.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/check.h"
#include "common/status.h"
#include "sim/faults/fault_spec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fabricd;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto spec = sim::ReadFaults(text);
  if (!spec.ok()) {
    FABRICD_CHECK(absl::IsInvalidArgument(spec.status()));
    FABRICD_CHECK(Message(spec.status()).find("line ") != std::string::npos, "{}",
                  Message(spec.status()));
    return 0;
  }
  FABRICD_CHECK(spec->size() == sim::FaultClasses().size());
  const auto again = sim::ReadFaults(sim::WriteFaults(*spec));
  FABRICD_CHECK(again.ok() && *again == *spec, "{}", sim::WriteFaults(*spec));
  for (uint64_t seed = 0; seed < 16; ++seed) {
    Rng rng(seed);
    const sim::Faults drawn = sim::DrawFaults(*spec, rng);
    for (const sim::FaultClass& one : sim::FaultClasses()) {
      const double value = drawn.*one.value;
      FABRICD_CHECK(value >= 0 && value <= one.most, "{} {}", one.name, value);
    }
    FABRICD_CHECK(sim::Describe(drawn).find("nan") == std::string::npos);
  }
  return 0;
}
