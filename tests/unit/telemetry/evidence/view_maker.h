// SPDX-License-Identifier: Apache-2.0
// A view of a fabric whose ports were read ten seconds ago and count nothing, to be edited.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "telemetry/view.h"
#include "tests/support/fabrics.h"

namespace fabricd::telemetry {

class ViewMaker {
 public:
  static constexpr Millis kSecond = 1000, kMinute = 60 * kSecond, kHour = 60 * kMinute;
  static constexpr Millis kNow = 30 * kHour + 10 * kSecond;
  static constexpr Millis kLastRead = kNow - 10 * kSecond;
  static constexpr uint64_t kBytesPerSecond = 12'500'000'000;  // 4x EDR

  explicit ViewMaker(std::shared_ptr<const fabric::FabricSnapshot> snapshot) {
    view.state = State::kPolling;
    view.receives_traps = true;
    view.at = kNow;
    view.interval = 30 * kSecond;
    std::vector<PortSlots> slots(snapshot->node_index_end());
    uint32_t end = 0;
    snapshot->ForEachNode([&](const fabric::Node& node) {
      const auto ports = static_cast<uint32_t>(node.ports.size() - 1);
      slots[node.index.value()] = {end, ports, ports};
      end += ports;
    });
    view.slots = std::make_shared<const std::vector<PortSlots>>(std::move(slots));
    view.ports.resize(end);
    view.inventory.resize(end);
    view.devices.resize(snapshot->node_index_end());
    view.snapshot = snapshot;
    snapshot->ForEachNode([&](const fabric::Node& node) {
      auto device = std::make_shared<DeviceRecord>(100);
      devices_[node.index] = device.get();
      view.devices[node.index.value()] = std::move(device);
      for (size_t i = 1; i < node.ports.size(); ++i) {
        if (!node.ports[i].peer.IsNone()) Add({node.index, PortNum(static_cast<uint8_t>(i))});
      }
    });
  }

  PortRecord& Port(PortRef port) { return *records_.at(port); }
  DeviceRecord& Device(NodeIndex node) { return *devices_.at(node); }
  PortInventory& Inventory(PortRef port) {
    auto inventory = std::make_shared<PortInventory>();
    PortInventory& made = *inventory;
    view.inventory[SlotOf(port)] = std::move(inventory);
    return made;
  }
  void Count(PortRef port, Counter counter, uint32_t count, Millis at, bool at_change = false) {
    ErrorEntry entry{at, count, port.port, counter};
    entry.at_change = at_change;
    Device(port.node).errors.Add(entry);
  }
  // In the last whole window of 300 s.
  void Wait(PortRef port, double share, double utilisation) {
    constexpr Millis kEnd = kNow / WaitWindows::kLength * WaitWindows::kLength;
    Port(port).wait_windows = {};
    Port(port).wait_windows.AddWait(kEnd, WaitWindows::kLength, share);
    Port(port).wait_windows.AddSent(kEnd, WaitWindows::kLength, utilisation);
  }
  // As if the port had been read by PPCNT 0x16 too, and received `bits` a second.
  void GiveRegisters(PortRef port, double bits) {
    PortRecord& record = Port(port);
    for (Counter counter :
         {Counter::kRcvBits, Counter::kPhySymbolErrors, Counter::kEffectiveErrors})
      record.measured.Add(counter);
    record.read_at[static_cast<size_t>(Source::kPpcntStatistical)] = kLastRead;
    record.window.has_registers = true;
    record.window.now.bits = record.window.older.bits + 1000 * bits;
    record.window.older_at = kLastRead - 1000 * kSecond;
    record.window.at = kLastRead;
  }

  TelemetryView view;

 private:
  size_t SlotOf(PortRef port) const { return (*view.slots)[port.node.value()].Of(port.port); }
  void Add(PortRef port) {
    auto record = std::make_shared<PortRecord>();
    record->port = port;
    record->peer = view.snapshot->port(port)->peer;
    record->facts = {kBytesPerSecond, 4, 7, true};
    record->epoch = 1;
    record->up_since = 1 * kHour;
    for (Source source : {Source::kPortCountersExtended, Source::kPortCounters})
      record->read_at[static_cast<size_t>(source)] = kLastRead;
    for (size_t i = 0; i < kExtendedCounters; ++i) record->measured.Add(static_cast<Counter>(i));
    records_[port] = record.get();
    view.ports[SlotOf(port)] = std::move(record);
    Wait(port, 0, 0.1);
  }

  std::map<PortRef, PortRecord*> records_;
  std::map<NodeIndex, DeviceRecord*> devices_;
};

}  // namespace fabricd::telemetry
