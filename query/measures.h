// SPDX-License-Identifier: Apache-2.0
// What follows from the counters of ports: rates, ratios and errors, each with its age and window.
// A value that is not fresh is absent: stale is unknown, not healthy. Pure.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "common/time.h"
#include "query/read_model.h"
#include "telemetry/view.h"

namespace fabricd::query {

using telemetry::Millis;

// A view of the fabric and one of the collector, read together. Both outlive it.
struct Telemetry {
  const ReadModel& model;
  const telemetry::TelemetryView& view;

  // Null: unknown to the collector, or the node there is another one.
  const telemetry::PortRecord* Find(PortRef port) const;
  const telemetry::PortInventory* FindInventory(PortRef port) const;
  const telemetry::DeviceRecord* FindDevice(NodeIndex node) const;
  // kNever without a record.
  telemetry::Freshness FreshnessOf(PortRef port) const;
  // A port that the collector reads: ACTIVE, and not port 0.
  bool IsRead(PortRef port) const;
  // The beginning of the last `span`; never 0.
  Millis SinceOf(Duration span) const;

 private:
  bool IsSameNode(NodeIndex node) const;
};

struct Measure {
  std::optional<double> value;  // Only where fresh.
  telemetry::Freshness freshness = telemetry::Freshness::kNever;
  Millis window = 0;  // Between the readings; 0: of one reading.
  Millis age = 0;
  std::string_view source;  // The attribute; empty: none.
  bool bound = false;       // The value is an upper bound: no error was seen.
};

struct PortMeasures {
  Measure xmit_bytes, rcv_bytes;      // Per second.
  Measure xmit_packets, rcv_packets;  // Per second.
  Measure utilisation;                // Of the busier direction, share of the link's rate.
  Measure wait;                       // Share of time without credits.
  Measure symbol_ber, effective_ber, raw_ber;
  Measure drop_ratio;
  Measure temperature;  // Degrees Celsius.

  template <typename Visit>
  void ForEach(Visit&& visit) {
    for (Measure PortMeasures::*each :
         {&PortMeasures::xmit_bytes, &PortMeasures::rcv_bytes, &PortMeasures::xmit_packets,
          &PortMeasures::rcv_packets, &PortMeasures::utilisation, &PortMeasures::wait,
          &PortMeasures::symbol_ber, &PortMeasures::effective_ber, &PortMeasures::raw_ber,
          &PortMeasures::drop_ratio, &PortMeasures::temperature}) {
      visit(each);
    }
  }
};
PortMeasures MeasuresOf(const telemetry::TelemetryView& view, const telemetry::PortRecord& record);
// How old a reading is.
Millis AgeOf(const telemetry::TelemetryView& view, Millis at);

// Most that errors are kept for.
inline constexpr Duration kLongestErrors = std::chrono::hours(24);

struct ErrorSum {
  telemetry::Counter counter{};
  uint64_t count = 0;
  Millis first = 0, last = 0;  // Of the readings that showed them.
};
struct PortErrorSums {
  // Nothing later is missing. 0: the port was never read.
  Millis covered_since = 0;
  std::vector<ErrorSum> errors;  // In the order of the counters.
};
// By port number, of the present epoch of each port, after `since`. Empty: nothing is known of the
// device.
std::vector<PortErrorSums> ErrorsOf(const Telemetry& telemetry, NodeIndex node, Millis since,
                                    telemetry::CounterSet wanted);
telemetry::CounterSet AllErrors();
// Those that add up: of PortCounters, without SwitchRelayErrors, which grow on healthy fabrics
// (a switch drops its own multicast).
telemetry::CounterSet ErrorsThatAddUp();
uint64_t SumOf(const PortErrorSums& errors);

}  // namespace fabricd::query
