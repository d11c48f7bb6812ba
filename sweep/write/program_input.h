// SPDX-License-Identifier: Apache-2.0
// What a programming run is to achieve: values only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "sweep/write/port_guids.h"
#include "sweep/write/port_keys.h"

namespace fabricd::sweep {

struct ProgrammerInput {
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;  // As discovered.
  std::shared_ptr<const fabric::LidTable> lids;
  PortRef local;                // The SM's port: its LID goes first.
  bool reregister_all = false;  // The first sweep as master: clients must register again.
  // Sorted. nullopt: all nodes.
  std::optional<std::vector<NodeIndex>> scope;
  uint8_t run = 0;  // Tells completions of this run from those of the one before.
  // Sorted, of switches: to be down, and to be up again.
  std::vector<PortRef> disabled, reenabled;
  uint16_t multicast_blocks = 0;  // One more than the highest block of MLIDs that groups take.
  bool trees_only = false;        // kReadTables and kTrees alone: the plan stands.
  KeyInput keys;
  GuidInput guids;
};

}  // namespace fabricd::sweep
