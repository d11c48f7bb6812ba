// SPDX-License-Identifier: Apache-2.0
// Intake: what a response means. It enters counters into the records and capabilities into the
// device, and says what is to be asked because of it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "mad/wire/mad_header.h"
#include "telemetry/device.h"
#include "telemetry/records.h"

namespace fabricd::telemetry {

struct FollowUp {
  enum class Verdict : uint8_t {
    kEntered,
    kRepeat,      // The device is busy.
    kRedirected,  // To Device::redirect, where it is to be asked again.
    kRefused,     // An error status.
    kForeign,     // Not what was asked for.
  };
  Verdict verdict = Verdict::kEntered;
  std::optional<EpochCause> epoch;
  bool is_bad_sample = false;
  bool is_worth_watching = false;  // The link may be about to have a verdict.
  AskSet of_device, of_port, of_far_end;
};

// REQUIRES: records.Has(port) where IsOfPort(ask).
FollowUp TakeResponse(Ask ask, PortRef port, std::span<const uint8_t, wire::kMadBytes> bytes,
                      const Reading& reading, Device& device, Records& records);

// Whether the device has PortCountersExtended, and it is answered.
bool HasExtended(const Device& device, Millis now);
// What is read of PortCounters of the device.
ClassicSupport ClassicSupportOf(const Device& device, Millis now);

}  // namespace fabricd::telemetry
