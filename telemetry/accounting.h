// SPDX-License-Identifier: Apache-2.0
// Accounting: how a reading of an attribute changes a PortRecord. The rules are those of
// reference/telemetry-and-adaptive.md §9.3:
// - Nothing is cleared on devices. The first good reading is a baseline; increases are summed.
// - A counter that decreased was cleared by somebody: all counters of the port begin again at this
//   reading, and it adds nothing.
// - A counter at the maximum of its width is saturated: what it adds is a lower bound.
// - All ones, and 64-bit values from 2^63 on, are no values. Others of the same reading are good.
// - A reading that the link cannot have counted is thrown away whole.
// Pure.
#pragma once

#include <optional>

#include <absl/container/inlined_vector.h>

#include "mad/wire/perf.h"
#include "mad/wire/registers.h"
#include "telemetry/port_record.h"

namespace fabricd::telemetry {

// When an attribute was read: the midpoint of request and response.
struct Reading {
  Millis at = 0;  // Above 0.
  Millis round_trip = 0;
  Millis interval = 30000;  // Of polling. A round trip above a quarter of it makes no rates.
};

struct Increase {
  Counter counter;
  uint64_t count = 0;
};

// What a reading brought.
struct Outcome {
  std::optional<EpochCause> epoch;          // A new epoch has begun.
  absl::InlinedVector<Increase, 4> errors;  // Of error counters; totals, not readings.
  bool thrown_away = false;
  Millis since = 0;  // The reading of the attribute before this one; 0: none.
};

// What PortCountersExtended of this device has.
struct ExtendedSupport {
  bool errors = false;            // kPerf2ExtendedErrors
  bool unicast_multicast = true;  // kPerfExtendedWidth
};

// What is taken from PortCounters of this device: wait where PortCountersExtended has none, traffic
// where there is no PortCountersExtended.
struct ClassicSupport {
  bool xmit_wait = true;
  bool qp1_dropped = false;
  bool traffic = false;
};

Outcome EnterExtended(PortRecord& record, const wire::PortCountersExtended& read,
                      ExtendedSupport support, const Reading& reading);
Outcome EnterClassic(PortRecord& record, const wire::PortCounters& read, ClassicSupport support,
                     const Reading& reading);
Outcome EnterDetails(PortRecord& record, const wire::PortRcvErrorDetails& read,
                     const Reading& reading);
Outcome EnterDetails(PortRecord& record, const wire::PortXmitDiscardDetails& read,
                     const Reading& reading);
Outcome EnterStatistical(PortRecord& record, const wire::PpcntStatistical& read,
                         const Reading& reading);
Outcome EnterPhysical(PortRecord& record, const wire::PpcntPhysical& read, const Reading& reading);
Outcome EnterLinkDowns(PortRecord& record, const wire::PpcntLinkDowns& read,
                       const Reading& reading);

// All counters of the port begin again: the next reading of each attribute is a baseline.
void StartEpoch(PortRecord& record, EpochCause cause, Millis at);

}  // namespace fabricd::telemetry
