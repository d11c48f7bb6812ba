// SPDX-License-Identifier: Apache-2.0
#include "telemetry/view.h"

#include <algorithm>

namespace fabricd::telemetry {
namespace {

template <typename T>
const T* FindIn(const std::vector<std::shared_ptr<const T>>& by_slot,
                const std::shared_ptr<const std::vector<PortSlots>>& slots, PortRef port) {
  if (slots == nullptr || port.node.value() >= slots->size()) return nullptr;
  const PortSlots& of_node = (*slots)[port.node.value()];
  return of_node.Has(port.port) ? by_slot[of_node.Of(port.port)].get() : nullptr;
}

}  // namespace

std::string_view StateName(State state) {
  switch (state) {
    case State::kOff: return "OFF";
    case State::kWaiting: return "WAITING";
    case State::kStandby: return "STANDBY";
    case State::kPolling: return "POLLING";
  }
  return "UNKNOWN";
}

const PortRecord* TelemetryView::Find(PortRef port) const { return FindIn(ports, slots, port); }

const PortInventory* TelemetryView::FindInventory(PortRef port) const {
  return FindIn(inventory, slots, port);
}

const DeviceRecord* TelemetryView::FindDevice(NodeIndex node) const {
  return node.value() < devices.size() ? devices[node.value()].get() : nullptr;
}

Freshness TelemetryView::FreshnessOf(const PortRecord& record) const {
  return telemetry::FreshnessOf(TrafficReadAt(record), at, interval);
}

bool TelemetryView::HasPolledAll() const {
  return telemetry::FreshnessOf(polls_since, at, interval) != Freshness::kFresh;
}

Millis TrafficReadAt(const PortRecord& record) {
  return std::max(record.read_at[static_cast<size_t>(Source::kPortCountersExtended)],
                  record.read_at[static_cast<size_t>(Source::kPortCounters)]);
}

}  // namespace fabricd::telemetry
