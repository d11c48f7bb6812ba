// SPDX-License-Identifier: Apache-2.0
// What the record of one port end says of its signals.
#pragma once

#include <span>

#include "fabric/snapshot.h"
#include "policy/evidence.h"
#include "telemetry/view.h"

namespace fabricd::telemetry {

// Of one port, all of the same snapshot and view.
struct PortFacts {
  PortRef ref;
  const fabric::Node* node = nullptr;
  const PortRecord* record = nullptr;
  const PortInventory* inventory = nullptr;   // May be null.
  std::span<const ErrorEntry* const> errors;  // Of this port, in the order of their times.
  std::span<const IncidentEntry> incidents;   // Of the whole device.
  // Link downs of this time are not the link's: with its switch or host. 0: none.
  Millis restart_at = 0;
};

policy::EndRole RoleOf(const fabric::FabricSnapshot& snapshot, PortRef port, PortRef peer);
// Fills all but guid, port, role and family.
void FillEnd(const TelemetryView& view, const PortFacts& port, policy::EndEvidence& end);

policy::FecClass FecClassOf(wire::PddrFecMode mode);
policy::Media MediaOf(const PortInventory& inventory, const ModuleReading& module);

}  // namespace fabricd::telemetry
