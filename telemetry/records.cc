// SPDX-License-Identifier: Apache-2.0
#include "telemetry/records.h"

#include <algorithm>
#include <limits>

namespace fabricd::telemetry {
namespace {

constexpr size_t kLogEntriesPerPort = 24, kMinLogEntries = 128;

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
  const uint32_t nodes = snapshot.node_index_end();
  const std::vector<uint32_t>& before = *first_slot_;
  std::vector<uint32_t> first(nodes + size_t{1});
  bool same = true;
  for (uint32_t i = 0; i < nodes; ++i) {
    const fabric::Node* node = snapshot.node(NodeIndex(i));
    const bool known = size_t{i} + 1 < before.size();
    const uint32_t ports_before = known ? before[i + 1] - before[i] : 0;
    const uint32_t ports = node != nullptr && !node->ports.empty()
                               ? static_cast<uint32_t>(node->ports.size() - 1)
                               : ports_before;
    same = same && (!known || ports == ports_before);
    first[i + 1] = first[i] + ports;
  }
  if (nodes + size_t{1} < before.size()) same = false;
  if (same && first.size() == before.size()) return;
  if (!same) {
    ports_.clear();
    inventory_.clear();
    devices_.clear();
    history_.Grow(0);
  }
  ports_.resize(first.back());
  inventory_.resize(first.back());
  devices_.resize(nodes);
  history_.Grow(first.back());
  first_slot_ = std::make_shared<const std::vector<uint32_t>>(std::move(first));
}

bool Records::Has(PortRef port) const {
  const std::vector<uint32_t>& first = *first_slot_;
  return !port.IsNone() && port.port && size_t{port.node.value()} + 1 < first.size() &&
         first[port.node.value()] + port.port.value() <= first[port.node.value() + 1];
}

void Records::Forget(PortRef port) {
  ports_[Slot(port)] = {};
  inventory_[Slot(port)] = {};
  history_.Forget(Slot(port));
}

PortRecord& Records::Port(PortRef port) {
  PortRecord& record = Change(ports_[Slot(port)]);
  record.port = port;
  return record;
}

PortInventory& Records::Inventory(PortRef port) { return Change(inventory_[Slot(port)]); }

DeviceRecord& Records::Device(NodeIndex node) {
  const size_t ports = (*first_slot_)[node.value() + 1] - (*first_slot_)[node.value()];
  DeviceRecord& record = Change(devices_[node.value()], LogEntries(ports));
  record.node = node;
  return record;
}

void Records::Enter(PortRef port, const Outcome& outcome, bool new_rates, Millis at) {
  const PortRecord& record = *Find(port);
  if (!outcome.errors.empty()) {
    ErrorLog& log = Device(port.node).errors;
    for (const Increase& increase : outcome.errors) {
      const uint64_t most = std::numeric_limits<uint32_t>::max();
      log.Add({at, static_cast<uint32_t>(std::min(increase.count, most)), port.port,
               increase.counter, static_cast<uint16_t>(record.epoch)});
    }
  }
  if (new_rates) history_.Enter(Slot(port), record.rates, record.wait);
}

void Records::Publish(TelemetryView& view) {
  const auto share = [](const auto& kept, auto& to) {
    to.reserve(kept.size());
    for (const auto& one : kept) to.push_back(one.value);
  };
  share(ports_, view.ports);
  share(inventory_, view.inventory);
  share(devices_, view.devices);
  view.first_slot = first_slot_;
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
