// SPDX-License-Identifier: Apache-2.0
// StateTables: what SwitchPortStateTables said in one survey, and whether PortInfo agrees. Some
// firmware updates the table late or never, so PortInfo decides until the table of a device has
// proved right: it has shown a change that PortInfo shows too. One that has missed a change is not
// read again (DeviceTable::TableTrust).
#pragma once

#include <optional>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "sweep/device/device_table.h"

namespace fabricd::sweep {

class StateTables {
 public:
  explicit StateTables(DeviceTable& devices) : devices_(devices) {}

  bool MayRead(NodeIndex node) const {
    return devices_.table_trust(node) != DeviceTable::TableTrust::kWrong;
  }
  // The switch has reported a change of some port.
  void OnDirty(NodeIndex node) { dirty_.insert(node); }
  // The table says that the port has this state. `is_change`: it is not what was known.
  void Note(PortRef port, uint8_t state, bool is_change) { shown_[port] = {state, is_change}; }
  // The table shows no change although there was one, and has not proved right yet: all ports must
  // be read.
  bool NeedsPorts(NodeIndex node, bool shows_changes) const {
    return !shows_changes && dirty_.contains(node) &&
           devices_.table_trust(node) == DeviceTable::TableTrust::kUnknown;
  }
  // A table has been read; `port` is one of its ports, `known` its state, which may have been read
  // from PortInfo before the table. Returns whether the table has proved right by that.
  bool HasShown(PortRef port, uint8_t known, uint8_t state,
                const std::optional<DeviceTable::SeenChange>& change) {
    const bool proves =
        change && change->port == port.port && known == change->state && state == change->state;
    if (proves && devices_.table_trust(port.node) == DeviceTable::TableTrust::kUnknown)
      devices_.SetTableTrust(port.node, DeviceTable::TableTrust::kRight);
    return proves;
  }
  // PortInfo of the port has been read.
  void OnPortInfo(PortRef port, uint8_t before, uint8_t state) {
    if (before != state) devices_.NoteChange(port.node, {port.port, state});
    const auto shown = shown_.find(port);
    if (shown == shown_.end() ||
        devices_.table_trust(port.node) != DeviceTable::TableTrust::kUnknown)
      return;
    const bool agrees = shown->second.state == state;
    if (agrees && shown->second.is_change)
      devices_.SetTableTrust(port.node, DeviceTable::TableTrust::kRight);
    else if (!agrees && !shown->second.is_change && dirty_.contains(port.node))
      devices_.SetTableTrust(port.node, DeviceTable::TableTrust::kWrong);
  }

 private:
  struct Shown {
    uint8_t state;
    bool is_change;
  };

  DeviceTable& devices_;
  absl::flat_hash_set<NodeIndex> dirty_;
  absl::flat_hash_map<PortRef, Shown> shown_;
};

}  // namespace fabricd::sweep
