// SPDX-License-Identifier: Apache-2.0
// LID assignment (IBA vol 1 §14.4.3 leaves the policy to the SM). Pure: takes a snapshot and
// records, returns a table and new records. Rules, in this order, for each end port that was read:
//   1. The LIDs of its record, if they still fit the desired LMC: LIDs are stable over restarts.
//   2. The LID that the device has, if it is valid and free: a running fabric is taken over as it
// is.
//   3. The lowest free aligned range that no record claims. The record of an absent port is kept,
// because the port may return. LIDs up to `maybe_held` are assigned last: nodes that do not respond
// may have them. If no LID is left, the port stays without one.
#pragma once

#include <vector>

#include <absl/container/flat_hash_map.h>

#include "fabric/lid_record.h"
#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "sweep/interface/events.h"

namespace fabricd::sweep {

using fabric::LidRecord;
using LidRecords = absl::flat_hash_map<Guid, LidRecord>;  // By port GUID.

struct LidAssignment {
  fabric::LidTable table;
  std::vector<LidRecord> changed;  // To be made durable before any of them is programmed.
  // End ports without a LID: none was left, or another port has their GUID.
  std::vector<PortRef> without;
};

// `lmc` is that of CA and router ports. Switches have 0, enhanced port 0s `lmc` if requested.
LidAssignment AssignLids(const fabric::FabricSnapshot& snapshot, const LidRecords& records,
                         uint8_t lmc, bool lmc_enhanced_port0, Lid maybe_held = Lid(0));

// Whether both have the same end ports, as far as AssignLids() uses them. Then it returns the same
// table for both, if each port in the first one has a record by now. The cost depends on the
// differences.
bool SameEndPorts(const fabric::FabricSnapshot& before, const fabric::FabricSnapshot& after);

}  // namespace fabricd::sweep
