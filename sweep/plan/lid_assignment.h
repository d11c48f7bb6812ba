// SPDX-License-Identifier: Apache-2.0
// LID assignment (IBA vol 1 §14.4.3 leaves the policy to the SM). Pure: snapshot and records in,
// table and new records out. Rules, in this order, for each end port that was read:
//   1. the LIDs of its record, if they still fit the wanted LMC: stable over restarts;
//   2. the LID the device holds, if valid and nobody's: a running fabric is taken over as it is;
//   3. the lowest free aligned range that no record claims. A record is kept while its owner is
//   away,
//      because it may return; a subnet that runs out says so instead of reusing one.
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
  std::vector<PortRef> without;    // End ports for which no LID was left.
};

// `lmc` is that of CA and router ports; switches have 0, enhanced port 0s `lmc` too if asked.
LidAssignment AssignLids(const fabric::FabricSnapshot& snapshot, const LidRecords& records,
                         uint8_t lmc, bool lmc_enhanced_port0);

// Whether both have the same end ports, as far as AssignLids() looks at them: then it gives the
// same table for both, provided that in the first one each has a record by now. Costs what differs.
bool SameEndPorts(const fabric::FabricSnapshot& before, const fabric::FabricSnapshot& after);

}  // namespace fabricd::sweep
