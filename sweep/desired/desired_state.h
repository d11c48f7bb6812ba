// SPDX-License-Identifier: Apache-2.0
// sweep/desired: the desired state of devices, and which devices may differ from it.
//
// DesiredState: the desired values of every device, by attribute, as immutable values. Derive()
// computes it from the observed fabric, holds, partitions and plans. Writers compare it with
// AppliedState and send the difference. Desired, applied and observed values are never mixed.
//
// A field here is the part that is decided centrally. A writer completes it with the observed
// values of the device, because a Set repeats every field that fabricd does not manage (IBA vol 1
// §14.2.5.6), and unmanaged P_Keys stay.
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
  uint64_t generation = 0;                              // Of the partitions it was made from.
  policy::PartitionOptions options;
  std::vector<PortRef> isolated;  // Sorted. End ports that are in no partition.

  // True: ports whose tables were checked against `other` need no new check. The options are not
  // compared: they change only when a heavy sweep checks all ports.
  bool IsSameAs(const DesiredKeys& other) const {
    return generation == other.generation && isolated == other.isolated;
  }
};

// GUIDInfo of end ports.
struct DesiredGuids {
  std::shared_ptr<const fabric::AliasGuids> aliases;  // Not null.
  // Partitions name GUIDs that are no port's own GUID. All GUIDInfo is read to find their ports.
  bool read_all = false;
};

// The first run as master, in which end ports are asked to register with Subnet Administration
// again.
struct FirstRun {
  bool is_first = false;
  // The LID of a predecessor with the same durable state. Ports whose MasterSMLID it is need not
  // register again, and a switch whose MasterSMLID it is holds what is known of it. 0: none.
  Lid predecessor = Lid();
  // This SM's LID, where no port named it as MasterSMLID when this SM became master: a port that
  // does was written since, as a run that a change has interrupted does. 0: unknown.
  Lid own = Lid();

  bool MustRegister(Lid master_sm_lid) const {
    const bool is_written = own && master_sm_lid == own;
    return is_first && !is_written && !IsOfPredecessor(master_sm_lid);
  }
  bool IsOfPredecessor(Lid master_sm_lid) const {
    return predecessor && master_sm_lid == predecessor;
  }
};

// PortInfo, apart from the LIDs.
struct DesiredPorts {
  PortRef local;  // The SM's port: MasterSMLID is its LID, and it is configured first.
  // Sorted. Switch ports to disable, and to enable again.
  std::vector<PortRef> disabled, reenabled;
  FirstRun first_run;
};

struct DesiredState {
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;  // The snapshot that it was derived from.
  std::shared_ptr<const fabric::LidTable> lids;            // LIDs, LMC, LinearFDBTop.
  DesiredKeys keys;
  DesiredGuids guids;
  DesiredPorts ports;
  // LFTs and VL tables. Null: no plan has been computed and verified, or there is none.
  std::shared_ptr<const routing::RoutingPlan> plan;
  // MFTs. Null: the tables stay as they are.
  std::shared_ptr<const routing::MulticastPlan> trees;
  uint16_t multicast_blocks = 0;  // One more than the highest block of MLIDs that groups use.
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
  FirstRun first_run = {};
  uint16_t multicast_blocks = 0;
};

// `before` null: nothing was derived yet. Values that depend on all ports are recomputed only where
// the GUIDs of ports, or the named GUIDs, may have changed since `before`.
DesiredState Derive(const DesiredInputs& inputs, const DesiredState* before);

}  // namespace fabricd::sweep
