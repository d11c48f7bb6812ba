// SPDX-License-Identifier: Apache-2.0
// TelemetryView: what the collector publishes, for readers on any thread. Immutable; the records of
// ports that were not read since are shared with earlier views.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/snapshot.h"
#include "mad/wire/registers.h"
#include "mad/wire/vendor_smp.h"
#include "telemetry/ask.h"
#include "telemetry/error_log.h"
#include "telemetry/incident_log.h"
#include "telemetry/options.h"
#include "telemetry/port_record.h"
#include "telemetry/temperature_day.h"

namespace fabricd::telemetry {

// What is known of the cable and the physical layer of a port, where its device has registers.
struct PortInventory {
  static constexpr size_t kTextBytes = wire::PddrModule::kTextBytes;
  Millis module_at = 0, operational_at = 0, link_down_at = 0, monitor_at = 0, ext_at = 0;
  std::array<char, kTextBytes + 1> vendor{}, part{}, serial{};  // Zero-terminated.
  wire::PddrModule::CableType cable_type{};
  wire::PddrModule::Identifier identifier{};
  float length_metres = 0;                // 0: not known.
  float max_power_watts = 0;              // 0: not known.
  int16_t alarm_high = 0, alarm_low = 0;  // 1/256 degree Celsius; both 0: none.
  wire::PddrFecMode fec{};
  wire::PddrLinkDown link_down;
  wire::Ppbmc::State monitor{};
  wire::ExtPortInfo::UnhealthyReason unhealthy{};
  TemperatureDay temperatures;
};

// Of a device: what it can be asked for, and when which of its error counters grew.
struct DeviceRecord {
  explicit DeviceRecord(size_t max_log_entries) : errors(max_log_entries) {}
  NodeIndex node;
  bool responds = false;  // To performance management.
  bool knows_capabilities = false;
  bool redirected = false;
  uint16_t capability_mask = 0;  // ClassPortInfo of class 0x04.
  uint32_t capability_mask2 = 0;
  Millis answered_at = 0;                 // 0: never.
  std::array<Absence, kAsks> absences{};  // By Ask.
  ErrorLog errors;
  IncidentLog incidents;
};

// What the collector is doing.
enum class State : uint8_t {
  kOff,      // The configuration says so.
  kWaiting,  // No fabric is known yet, or our port is down.
  kStandby,  // Another SM is master, and polls.
  kPolling,
};
std::string_view StateName(State state);  // "POLLING"

struct Stats {
  uint64_t requests = 0;  // GMPs and SMPs sent, repeats included.
  uint64_t responses = 0;
  uint64_t refused = 0;     // Responses with an error status.
  uint64_t timeouts = 0;    // Attempts without a response.
  uint64_t voided = 0;      // Of those, the ones during a change of the fabric: they say nothing.
  uint64_t unexpected = 0;  // Responses to nothing that was asked.
  uint64_t bad_samples = 0;
  uint64_t resets = 0;   // Epochs begun by a decrease.
  uint64_t passes = 0;   // By schedule and on demand.
  Duration last_pass{};  // The last on demand, from its first request to its last response.
  uint32_t window = 0, in_flight = 0;
  uint64_t requests_by_ask[kAsks] = {};
  // Of responses, refused and timeouts.
  uint64_t responses_by_ask[kAsks] = {}, refused_by_ask[kAsks] = {}, timeouts_by_ask[kAsks] = {};
};

// The slots of one node: where its ports are in what is kept by port.
struct PortSlots {
  uint32_t first = 0;  // Of port 1.
  uint32_t ports = 0;  // Port 0 has none: it counts nothing of a link.
  uint32_t room = 0;   // As many as it ever had: bounds what changes of `ports` take.
  bool Has(PortNum port) const { return port && port.value() <= ports; }
  size_t Of(PortNum port) const { return size_t{first} + port.value() - 1; }  // REQUIRES: Has(port)
};

struct TelemetryView {
  uint64_t number = 0;  // Grows with each published view.
  State state = State::kWaiting;
  bool receives_traps = false;  // They go to the master SM.
  Millis at = 0;
  Instant started{};       // Millis count from here.
  Millis interval = 0;     // Of polling.
  Millis polls_since = 0;  // kPolling: when it began.
  Options options;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;  // Null before the first.
  // By slot; null: never looked at.
  std::vector<std::shared_ptr<const PortRecord>> ports;
  std::vector<std::shared_ptr<const PortInventory>> inventory;  // The same.
  std::vector<std::shared_ptr<const DeviceRecord>> devices;     // By NodeIndex; or null.
  std::shared_ptr<const std::vector<PortSlots>> slots;          // By NodeIndex.
  Stats stats;
  // Of records, logs and history.
  size_t record_bytes = 0, log_bytes = 0, history_bytes = 0;

  // Null: unknown, or never looked at.
  const PortRecord* Find(PortRef port) const;
  const PortInventory* FindInventory(PortRef port) const;
  const DeviceRecord* FindDevice(NodeIndex node) const;
  Freshness FreshnessOf(const PortRecord& record) const;  // Of its traffic counters.
  // It has polled for so long that a port which is not fresh by now did not respond.
  bool HasPolledAll() const;
};

// When the traffic counters of the port were last read; 0: never.
Millis TrafficReadAt(const PortRecord& record);

}  // namespace fabricd::telemetry
