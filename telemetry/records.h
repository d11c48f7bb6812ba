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

  // Grows with the fabric. A node keeps its slots, until its number of ports changes: then nothing
  // is known of them.
  void Fit(const fabric::FabricSnapshot& snapshot);

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
  // Keeps when the state of the port's link changed, and with whom it is linked. `is_first`: it was
  // not looked at before, so its state is no change.
  void EnterState(PortRef port, const fabric::Port& state, bool is_first, Millis now);
  // Another link is at the port: begins an epoch, and its errors are not the new one's.
  void ReplaceLink(PortRef port, Millis at);

  size_t Slot(PortRef port) const { return (*slots_)[port.node.value()].Of(port.port); }
  size_t slots() const { return ports_.size(); }
  std::vector<HistorySample> ReadHistory(PortRef port, Millis now, Duration span) const {
    return history_.Read(Slot(port), now, span);
  }
  Millis HistoryStep(Duration span) const { return history_.StepOf(span); }
  // Fills ports, inventory, devices, slots and the sizes. Costs a shared pointer for each.
  void Publish(TelemetryView& view);

 private:
  template <typename T>
  struct Kept {
    std::shared_ptr<T> value;
    uint64_t written = 0;  // Publication in which it was copied or made.
  };
  template <typename T, typename... Arguments>
  T& Change(Kept<T>& kept, Arguments&&... arguments);
  void ForgetSlot(size_t slot);
  void EnterChange(PortRecord& record, Millis at);

  uint64_t publication_ = 1;
  std::shared_ptr<const std::vector<PortSlots>> slots_ =
      std::make_shared<const std::vector<PortSlots>>();  // By NodeIndex.
  std::vector<Kept<PortRecord>> ports_;
  std::vector<Kept<PortInventory>> inventory_;
  std::vector<Kept<DeviceRecord>> devices_;
  History history_;
};

}  // namespace fabricd::telemetry
