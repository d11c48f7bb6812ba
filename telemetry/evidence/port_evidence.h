// SPDX-License-Identifier: Apache-2.0
// What the record of one port end says of its signals.
#pragma once

#include <array>
#include <span>

#include <absl/functional/function_ref.h>

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
};

policy::EndRole RoleOf(const fabric::FabricSnapshot& snapshot, PortRef port, PortRef peer);
// Of the link downs that FillEnd() counts, those at a time for which `is_excused` is true. By
// window.
std::array<uint64_t, policy::kWindows> CountExcusedDowns(
    const TelemetryView& view, const PortFacts& port, absl::FunctionRef<bool(Millis)> is_excused);
// Whether the entry is about a link down, by whatever counter.
bool IsLinkDown(const ErrorEntry& entry);
// Fills all but guid, port, role and family.
void FillEnd(const TelemetryView& view, const PortFacts& port, policy::EndEvidence& end);

policy::FecClass FecClassOf(wire::PddrFecMode mode);
policy::Media MediaOf(const PortInventory& inventory, const ModuleReading& module, bool is_up);

}  // namespace fabricd::telemetry
