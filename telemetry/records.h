// SPDX-License-Identifier: Apache-2.0
// Records: what is kept of every port and device, and its publication. A record that a published
// view shares is copied when it changes next, once for each publication. Pure.
#pragma once

#include <memory>
#include <vector>

#include "telemetry/accounting.h"
#include "telemetry/history.h"
#include "telemetry/view.h"

namespace fabricd::telemetry {

class Records {
 public:
  explicit Records(const HistoryOptions& history) : history_(history, 0) {}

  // Grows with the fabric; a node keeps its slots. A node whose number of ports has changed makes
  // all begin again.
  void Fit(const fabric::FabricSnapshot& snapshot);
  // Forgets what is known of a port.
  void Forget(PortRef port);

  bool Has(PortRef port) const;
  // REQUIRES (all below): Has(port), or a node of the last snapshot.
  PortRecord& Port(PortRef port);
  const PortRecord* Find(PortRef port) const { return ports_[Slot(port)].value.get(); }
  PortInventory& Inventory(PortRef port);
  const PortInventory* FindInventory(PortRef port) const {
    return inventory_[Slot(port)].value.get();
  }
  DeviceRecord& Device(NodeIndex node);
  const DeviceRecord* FindDevice(NodeIndex node) const {
    return devices_[node.value()].value.get();
  }
  // Keeps what a reading brought: errors go to the device's log, rates to the history.
  void Enter(PortRef port, const Outcome& outcome, bool new_rates, Millis at);

  // Index of the port in what is kept by port. Port 0 has none: it counts nothing of a link.
  size_t Slot(PortRef port) const {
    return (*first_slot_)[port.node.value()] + size_t{port.port.value()} - 1;
  }
  size_t slots() const { return ports_.size(); }
  std::vector<HistorySample> ReadHistory(PortRef port, Millis now, Duration span) const {
    return history_.Read(Slot(port), now, span);
  }
  Millis HistoryStep(Duration span) const { return history_.StepOf(span); }
  // Fills ports, inventory, devices, first_slot and the sizes. Costs a shared pointer for each.
  void Publish(TelemetryView& view);

 private:
  template <typename T>
  struct Kept {
    std::shared_ptr<T> value;
    uint64_t written = 0;  // Publication in which it was copied or made.
  };
  template <typename T, typename... Arguments>
  T& Change(Kept<T>& kept, Arguments&&... arguments);

  uint64_t publication_ = 1;
  std::shared_ptr<const std::vector<uint32_t>> first_slot_ =
      std::make_shared<const std::vector<uint32_t>>(1, 0u);
  std::vector<Kept<PortRecord>> ports_;
  std::vector<Kept<PortInventory>> inventory_;
  std::vector<Kept<DeviceRecord>> devices_;
  History history_;
};

}  // namespace fabricd::telemetry
