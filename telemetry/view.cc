// SPDX-License-Identifier: Apache-2.0
#include "telemetry/view.h"

#include <algorithm>

namespace fabricd::telemetry {
namespace {

template <typename T>
const T* FindIn(const std::vector<std::shared_ptr<const T>>& by_slot,
                const std::shared_ptr<const std::vector<uint32_t>>& first_slot, PortRef port) {
  if (first_slot == nullptr || !port.port) return nullptr;
  if (size_t{port.node.value()} + 1 >= first_slot->size()) return nullptr;
  const uint32_t first = (*first_slot)[port.node.value()];
  const uint32_t end = (*first_slot)[port.node.value() + 1];
  const size_t slot = size_t{first} + port.port.value() - 1;
  return slot < end && slot < by_slot.size() ? by_slot[slot].get() : nullptr;
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

const PortRecord* TelemetryView::Find(PortRef port) const {
  return FindIn(ports, first_slot, port);
}

const PortInventory* TelemetryView::FindInventory(PortRef port) const {
  return FindIn(inventory, first_slot, port);
}

const DeviceRecord* TelemetryView::FindDevice(NodeIndex node) const {
  return node.value() < devices.size() ? devices[node.value()].get() : nullptr;
}

Freshness TelemetryView::FreshnessOf(const PortRecord& record) const {
  const Millis read = std::max(record.read_at[static_cast<size_t>(Source::kPortCountersExtended)],
                               record.read_at[static_cast<size_t>(Source::kPortCounters)]);
  return telemetry::FreshnessOf(read, at, interval);
}

}  // namespace fabricd::telemetry
