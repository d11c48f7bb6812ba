// SPDX-License-Identifier: Apache-2.0
// telemetry/evidence: what the records say of links: evidence for verdicts, and where congestion
// begins.
//
// Evidence is made for each link both of whose ends have a record: one that is ACTIVE, or was
// within 24 h while both its nodes are still in the snapshot. Costs the links and the entries of
// the logs, each once. Pure.
//
// - A window's counts are those of the readings within it. Its bits and packets are of the time
//   that these readings are about, so that a ratio holds where a window is shorter than the
//   interval of the readings. Packets are at the mean rate of the last 12 to 24 min.
// - Of an adapter an error counter that PortCounters has is known only while that is read: devices
//   are known whose 64-bit one stays 0.
// - Link downs that came with those of the switch or the host are excused, of all restarts within
//   24 h.
// - kTimeouts is known of channel adapters and routers. kTraps are 129 to 131.
#pragma once

#include <vector>

#include <absl/functional/function_ref.h>

#include "fabric/hosts.h"
#include "policy/evidence.h"
#include "telemetry/view.h"

namespace fabricd::telemetry {

// Calls visit for each link, in the order of its lower end. The evidence is the callee's until it
// returns. `hosts`: of the view's snapshot; null: no link is seen to change with its host.
void VisitEvidence(const TelemetryView& view, const fabric::HostTable* hosts,
                   absl::FunctionRef<void(const policy::LinkEvidence&)> visit);
// All at once: some 4 kB a link.
std::vector<policy::LinkEvidence> MakeEvidence(const TelemetryView& view,
                                               const fabric::HostTable* hosts = nullptr);

}  // namespace fabricd::telemetry
