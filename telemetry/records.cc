// SPDX-License-Identifier: Apache-2.0
#include "telemetry/records.h"

#include <algorithm>
#include <limits>

namespace fabricd::telemetry {
namespace {

constexpr size_t kLogEntriesPerPort = 24, kMinLogEntries = 128;
// A change of the link's state may be why errors are counted so long before it, and after it came
// up.
constexpr Millis kChangeMargin = 60 * 1000;

size_t LogEntries(size_t ports) { return std::max(kMinLogEntries, ports * kLogEntriesPerPort); }

}  // namespace

template <typename T, typename... Arguments>
T& Records::Change(Kept<T>& kept, Arguments&&... arguments) {
  if (kept.value == nullptr) {
    kept.value = std::make_shared<T>(std::forward<Arguments>(arguments)...);
  } else if (kept.written != publication_) {
    kept.value = std::make_shared<T>(*kept.value);
  }
  kept.written = publication_;
  return *kept.value;
}

void Records::Fit(const fabric::FabricSnapshot& snapshot) {
  std::vector<PortSlots> slots = *slots_;
  slots.resize(std::max<size_t>(slots.size(), snapshot.node_index_end()));
  auto end = static_cast<uint32_t>(ports_.size());
  bool changed = slots.size() != slots_->size();
  snapshot.ForEachNode([&](const fabric::Node& node) {
    PortSlots& of_node = slots[node.index.value()];
    const auto ports = static_cast<uint32_t>(node.ports.empty() ? 0 : node.ports.size() - 1);
    if (of_node.ports == ports) return;
    for (uint32_t i = 0; i < of_node.ports; ++i) ForgetSlot(of_node.first + i);
    changed = true;
    of_node.ports = ports;
    if (ports <= of_node.room) return;
    of_node = {end, ports, ports};
    end += ports;
  });
  if (!changed) return;
  ports_.resize(end);
  inventory_.resize(end);
  devices_.resize(slots.size());
  history_.Grow(end);
  slots_ = std::make_shared<const std::vector<PortSlots>>(std::move(slots));
}

bool Records::Has(PortRef port) const {
  return port.node.value() < slots_->size() && (*slots_)[port.node.value()].Has(port.port);
}

void Records::ForgetSlot(size_t slot) {
  ports_[slot] = {};
  inventory_[slot] = {};
  history_.Forget(slot);
}

PortRecord& Records::Port(PortRef port) {
  PortRecord& record = Change(ports_[Slot(port)]);
  record.port = port;
  return record;
}

PortInventory& Records::Inventory(PortRef port) { return Change(inventory_[Slot(port)]); }

DeviceRecord& Records::Device(NodeIndex node) {
  DeviceRecord& record = Change(devices_[node.value()], LogEntries((*slots_)[node.value()].ports));
  record.node = node;
  return record;
}

void Records::Enter(PortRef port, const Outcome& outcome, bool new_rates, Millis at) {
  PortRecord& record = Port(port);
  if (!outcome.errors.empty()) {
    const bool went_down = std::ranges::any_of(outcome.errors, [](const Increase& increase) {
      return increase.counter == Counter::kLinkDowned;
    });
    // It may be back before a sweep looks.
    if (went_down && record.changed_at < outcome.since) EnterChange(record, at);
    const bool at_change = record.changed_at != 0 && record.changed_at + kYoung > outcome.since;
    ErrorLog& log = Device(port.node).errors;
    for (const Increase& increase : outcome.errors) {
      const uint64_t most = std::numeric_limits<uint32_t>::max();
      ErrorEntry entry{at, static_cast<uint32_t>(std::min(increase.count, most)), port.port,
                       increase.counter};
      entry.epoch = record.epoch & ErrorEntry::kEpochMask;
      entry.at_change = at_change;
      log.Add(entry);
    }
  }
  if (new_rates) history_.Enter(Slot(port), record.rates, record.wait);
}

void Records::EnterState(PortRef port, const fabric::Port& state, bool is_first, Millis now) {
  PortRecord& record = Port(port);
  if (!state.peer.IsNone()) record.peer = state.peer;
  const bool is_active = state.known && state.info.port_state == wire::PortState::kActive;
  if (is_active == (record.up_since != 0)) return;
  if (!is_first) EnterChange(record, now);
  record.up_since = is_active ? now : 0;
}

void Records::EnterChange(PortRecord& record, Millis at) {
  record.changed_at = at;
  if (record.up_since != 0) record.up_since = at;
  if (FindDevice(record.port.node) == nullptr) return;  // Nothing was counted.
  ErrorLog& log = Device(record.port.node).errors;
  log.MarkChange(record.port.port, at > kChangeMargin ? at - kChangeMargin : 0);
}

void Records::ReplaceLink(PortRef port, Millis at) {
  StartEpoch(Port(port), EpochCause::kLinkReplaced, at);
  if (FindDevice(port.node) != nullptr) Device(port.node).errors.Forget(port.port);
}

void Records::Publish(TelemetryView& view) {
  const auto share = [](const auto& kept, auto& to) {
    to.reserve(kept.size());
    for (const auto& one : kept) to.push_back(one.value);
  };
  share(ports_, view.ports);
  share(inventory_, view.inventory);
  share(devices_, view.devices);
  view.slots = slots_;
  constexpr size_t kShared = 16;  // Counts of the shared pointer.
  for (const auto& kept : ports_) {
    if (kept.value != nullptr) view.record_bytes += sizeof(PortRecord) + kShared;
  }
  for (const auto& kept : inventory_) {
    if (kept.value != nullptr) view.record_bytes += sizeof(PortInventory) + kShared;
  }
  for (const auto& kept : devices_) {
    if (kept.value == nullptr) continue;
    view.record_bytes += sizeof(DeviceRecord) + kShared;
    view.log_bytes += kept.value->errors.entries().capacity() * sizeof(ErrorEntry);
  }
  view.history_bytes = history_.bytes();
  ++publication_;
}

}  // namespace fabricd::telemetry
