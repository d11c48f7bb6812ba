// SPDX-License-Identifier: Apache-2.0
// sweep/desired: what devices are to hold, and which of them may not hold it yet.
//
// DesiredState: what is wanted of every device, by attribute, as immutable values. Derive() makes
// it from what was observed and what operators, partitions and plans want. Writers compare it with
// AppliedState and send the difference: desired, applied and observed are never mixed.
//
// A field here is the part that is decided centrally. A writer completes it with what the device
// itself shows, because a Set repeats every field that is not ours (IBA vol 1 §14.2.5.6), and
// foreign P_Keys stay.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/alias_guids.h"
#include "fabric/intent.h"
#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "policy/options.h"
#include "policy/p_key_plan.h"
#include "routing/plan/multicast_plan.h"
#include "routing/plan/plan.h"

namespace fabricd::sweep {

// P_KeyTables, and which switch ports enforce them.
struct DesiredKeys {
  std::shared_ptr<const policy::PartitionIndex> index;  // Not null.
  uint64_t generation = 0;                              // Of the partitions it was made of.
  policy::PartitionOptions options;
  std::vector<PortRef> isolated;  // Sorted. End ports that are in no partition.

  // Whether the tables of ports that were looked at for `other` are right. The options change only
  // where a heavy sweep looks at all ports.
  bool IsSameAs(const DesiredKeys& other) const {
    return generation == other.generation && isolated == other.isolated;
  }
};

// GUIDInfo of end ports.
struct DesiredGuids {
  std::shared_ptr<const fabric::AliasGuids> aliases;  // Not null.
  // Partitions name GUIDs that no port has for its own: all are read, to find whose they are.
  bool read_all = false;
};

// PortInfo, beside the LIDs.
struct DesiredPorts {
  PortRef local;  // The SM's port: MasterSMLID is its LID, and it is configured first.
  // Sorted, of switches: to be down, and to be up again.
  std::vector<PortRef> disabled, reenabled;
  bool reregister_all = false;  // The first sweep as master: clients must register again.
};

struct DesiredState {
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;  // What it was derived from.
  std::shared_ptr<const fabric::LidTable> lids;            // LIDs, LMC, LinearFDBTop.
  DesiredKeys keys;
  DesiredGuids guids;
  DesiredPorts ports;
  // LFTs and VL tables. Null until it is computed and proved, and where there is none.
  std::shared_ptr<const routing::RoutingPlan> plan;
  // MFTs. Null: what the tables hold may stay.
  std::shared_ptr<const routing::MulticastPlan> trees;
  uint16_t multicast_blocks = 0;  // One more than the highest block of MLIDs that groups take.
};

struct DesiredInputs {
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  std::shared_ptr<const fabric::LidTable> lids;
  const fabric::Intent& intent;
  std::shared_ptr<const policy::PartitionIndex> partitions;
  uint64_t partitions_generation = 0;
  policy::PartitionOptions partition_options;
  std::shared_ptr<const fabric::AliasGuids> aliases;
  PortRef local;
  bool reregister_all = false;
  uint16_t multicast_blocks = 0;
};

// `before` null: nothing was derived yet. What depends on all ports is looked for again only where
// their GUIDs, or what is named, may have changed since `before`.
DesiredState Derive(const DesiredInputs& inputs, const DesiredState* before);

}  // namespace fabricd::sweep
