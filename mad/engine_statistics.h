// SPDX-License-Identifier: Apache-2.0
// EngineStatistics: the counters of a TransactionEngine since its construction, kept by
// StatisticsRecorder.
#pragma once

#include <cstdint>
#include <map>

#include "common/time.h"
#include "mad/wire/mad_header.h"
#include "mad/wire/smp.h"

namespace fabricd::mad {

struct MethodStatistics {
  uint64_t sent = 0;      // Attempts, retries included.
  uint64_t received = 0;  // Responses matched.
  uint64_t timeouts = 0;  // Attempts that timed out.
  uint64_t retries = 0;   // Attempts that were retries.
  friend bool operator==(const MethodStatistics&, const MethodStatistics&) = default;
};

struct EngineStatistics {
  struct Attribute {
    MethodStatistics get, set;
  };
  std::map<wire::AttributeId, Attribute> attributes;
  uint64_t bad_status = 0;     // Responses with a status other than 0.
  uint64_t unmatched = 0;      // Responses and reports that belong to no request in flight.
  uint64_t send_failures = 0;  // Attempts the transport refused or failed to send.
  uint64_t window_shrinks = 0;
  uint32_t window = 0;           // Current value.
  uint32_t suspect_devices = 0;  // Current value.
  // Round-trip times of requests with a response to the first attempt. The average is exponential
  // (1/16).
  Duration rtt_min{}, rtt_average{}, rtt_max{};

  uint64_t total_sent() const;
};

class StatisticsRecorder {
 public:
  const EngineStatistics& statistics() const { return statistics_; }

  // The counters of this attribute and method. Valid as long as the recorder.
  MethodStatistics* CountersOf(wire::AttributeId attribute, wire::Method method);
  // `counters` must be those of the request.
  void CountAttempt(MethodStatistics& counters, bool is_repeat);
  void CountResponse(MethodStatistics& counters, uint16_t status);
  // Only for a response to the first attempt: otherwise it is unknown which attempt it belongs to.
  void CountRoundTrip(Duration time);

  void CountUnmatched() { ++statistics_.unmatched; }
  void CountSendFailure() { ++statistics_.send_failures; }
  void NoteWindow(uint32_t size, uint64_t shrinks) {
    statistics_.window = size;
    statistics_.window_shrinks = shrinks;
  }
  void NoteSuspects(uint32_t devices) { statistics_.suspect_devices = devices; }

 private:
  EngineStatistics statistics_;
};

}  // namespace fabricd::mad
