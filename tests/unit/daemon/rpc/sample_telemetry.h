// SPDX-License-Identifier: Apache-2.0
// What a collector would have published two hours after it began, of the small fabric.
#pragma once

#include <cstring>
#include <memory>
#include <string>

#include "tests/unit/daemon/rpc/small_fabric.h"

namespace fabricd::rpc::testing {

class TelemetryMaker {
 public:
  static constexpr telemetry::Millis kNow = 2 * 60 * 60 * 1000, kInterval = 30'000;
  static constexpr telemetry::Millis kLastRead = kNow - 10'000;

  explicit TelemetryMaker(std::shared_ptr<const fabric::FabricSnapshot> snapshot) {
    view.number = 1;
    view.state = telemetry::State::kPolling;
    view.at = kNow;
    view.interval = kInterval;
    std::vector<telemetry::PortSlots> slots;
    uint32_t end = 0;
    for (uint32_t i = 0; i < snapshot->node_index_end(); ++i) {
      const auto ports = static_cast<uint32_t>(snapshot->node(NodeIndex(i))->ports.size() - 1);
      slots.push_back({end, ports, ports});
      end += ports;
    }
    view.slots = std::make_shared<const std::vector<telemetry::PortSlots>>(std::move(slots));
    view.ports.resize(end);
    view.inventory.resize(end);
    view.devices.resize(snapshot->node_index_end());
    view.snapshot = std::move(snapshot);
  }

  // One that was read ten seconds ago, for the second time, and counts nothing.
  telemetry::PortRecord& Port(NodeIndex node, uint8_t number) {
    auto record = std::make_shared<telemetry::PortRecord>();
    record->port = {node, PortNum(number)};
    record->facts = {10'000'000'000, 4, 7, true};
    record->epoch = 1;
    record->epoch_since = 60'000;
    record->read_at[static_cast<size_t>(telemetry::Source::kPortCountersExtended)] = kLastRead;
    for (size_t i = 0; i < telemetry::kExtendedCounters; ++i)
      record->measured.Add(static_cast<telemetry::Counter>(i));
    record->rates = {0, 0, 0, 0, kLastRead, kInterval};
    record->wait = {0, kLastRead, kInterval};
    telemetry::PortRecord& made = *record;
    view.ports[SlotOf(node, number)] = std::move(record);
    if (view.devices[node.value()] == nullptr) Device(node);
    return made;
  }
  telemetry::DeviceRecord& Device(NodeIndex node) {
    auto device = std::make_shared<telemetry::DeviceRecord>(100);
    device->node = node;
    device->responds = true;
    device->answered_at = kLastRead;
    telemetry::DeviceRecord& made = *device;
    devices_[node] = device.get();
    view.devices[node.value()] = std::move(device);
    return made;
  }
  // REQUIRES: the port has a record.
  void Count(NodeIndex node, uint8_t number, telemetry::Counter counter, uint32_t count,
             telemetry::Millis at, uint16_t epoch = 1) {
    devices_.at(node)->errors.Add({at, count, PortNum(number), counter, epoch});
  }
  telemetry::PortInventory& Inventory(NodeIndex node, uint8_t number) {
    auto inventory = std::make_shared<telemetry::PortInventory>();
    telemetry::PortInventory& made = *inventory;
    view.inventory[SlotOf(node, number)] = std::move(inventory);
    return made;
  }
  std::shared_ptr<const telemetry::TelemetryView> Make() const {
    return std::make_shared<const telemetry::TelemetryView>(view);
  }

  telemetry::TelemetryView view;

 private:
  size_t SlotOf(NodeIndex node, uint8_t number) const {
    return (*view.slots)[node.value()].Of(PortNum(number));
  }
  std::map<NodeIndex, telemetry::DeviceRecord*> devices_;
};

// leaf1/1 sends 6 GB/s to node1 mlx5_0, waits in 2 % of the time and has counted symbol errors;
// leaf1/3 is stale, spine/1 was never read; a module is known of node2.
inline TelemetryMaker SampleTelemetry(const SmallFabric& fabric,
                                      std::shared_ptr<const fabric::FabricSnapshot> snapshot) {
  using telemetry::Counter;
  constexpr telemetry::Millis kNow = TelemetryMaker::kNow, kRead = TelemetryMaker::kLastRead;
  TelemetryMaker maker(std::move(snapshot));
  telemetry::PortRecord& busy = maker.Port(fabric.leaf1, 1);
  busy.rates = {6e9F, 1e9F, 2e6F, 1e6F, kRead, 30'000};
  busy.wait = {0.02F, kRead, 30'000};
  busy.extended_sum[Index(Counter::kXmitData)] = 4'000'000'000'000;
  busy.extended[Index(Counter::kXmitData)] = 5'000'000'000'000;
  busy.extended_sum[Index(Counter::kSymbolErrors)] = 130;
  busy.extended[Index(Counter::kSymbolErrors)] = 1'130;
  busy.saturated.Add(Counter::kLinkDowned);
  busy.window.older_at = kNow - 20 * 60'000;
  busy.window.at = kRead;
  busy.window.now = {1e14, 100, 0, 0, 0, 0};
  maker.Count(fabric.leaf1, 1, Counter::kSymbolErrors, 30, kNow - 90 * 60'000);
  maker.Count(fabric.leaf1, 1, Counter::kSymbolErrors, 100, kNow - 10 * 60'000);
  maker.Count(fabric.leaf1, 1, Counter::kLinkDowned, 1, kNow - 5 * 60'000);
  telemetry::PortRecord& other = maker.Port(fabric.node1_0, 1);
  other.rates = {1e9F, 6e9F, 1e6F, 2e6F, kRead, 30'000};
  other.window.older_at = kNow - 20 * 60'000;
  other.window.at = kRead;
  other.window.now = {1e14, 0, 0, 0, 0, 0};
  telemetry::PortRecord& stale = maker.Port(fabric.leaf1, 3);
  stale.rates = {9e9F, 9e9F, 1e6F, 1e6F, kNow - 100'000, 30'000};
  stale.wait = {0.5F, kNow - 100'000, 30'000};
  stale.read_at[0] = kNow - 100'000;
  maker.Count(fabric.leaf1, 3, Counter::kRcvErrors, 7, kNow - 5 * 60'000);
  telemetry::PortRecord& again = maker.Port(fabric.leaf2, 1);
  again.epoch = 2;
  again.epoch_cause = telemetry::EpochCause::kCounterReset;
  again.epoch_since = kNow - 30 * 60'000;
  again.resets = 1;
  again.rates = {2e9F, 3e9F, 1e6F, 1e6F, kRead, 30'000};
  maker.Count(fabric.leaf2, 1, Counter::kRcvErrors, 50, kNow - 40 * 60'000, 1);
  maker.Count(fabric.leaf2, 1, Counter::kRcvErrors, 3, kNow - 20 * 60'000, 2);
  maker.Port(fabric.leaf2, 2);
  maker.Port(fabric.leaf2, 3).wait = {0.25F, kRead, 30'000};
  maker.Port(fabric.node1_1, 1);
  telemetry::PortRecord& cabled = maker.Port(fabric.node2, 1);
  cabled.module = {kNow - 60'000, 52 * 256, 0, 0};
  telemetry::PortInventory& module = maker.Inventory(fabric.node2, 1);
  module.module_at = module.operational_at = kNow - 60'000;
  std::strcpy(module.vendor.data(), "NVIDIA");
  std::strcpy(module.part.data(), "MCP4Y10-N002");
  std::strcpy(module.serial.data(), "MT2231VB00391");
  module.cable_type = wire::PddrModule::CableType::kPassiveCopper;
  module.identifier = wire::PddrModule::Identifier::kOsfp;
  module.length_metres = 2;
  module.max_power_watts = 1.5F;
  module.fec = wire::PddrFecMode::kInterleavedRs544Plr;
  maker.Device(fabric.spine).responds = false;
  auto& absences = maker.Device(fabric.node1_1).absences;
  absences[static_cast<size_t>(telemetry::Ask::kBer)] = telemetry::Absence::kKeyed;
  absences[static_cast<size_t>(telemetry::Ask::kModule)] = telemetry::Absence::kUnsupported;
  maker.view.stats.passes = 240;
  maker.view.stats.requests = 2'000;
  maker.view.stats.requests_by_ask[static_cast<size_t>(telemetry::Ask::kExtended)] = 1'900;
  maker.view.record_bytes = 1 << 20;
  return maker;
}

}  // namespace fabricd::rpc::testing
