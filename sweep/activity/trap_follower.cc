// SPDX-License-Identifier: Apache-2.0
#include "sweep/activity/trap_follower.h"

#include <fmt/format.h>

namespace fabricd::sweep {

void TrapFollower::OnTrap(const wire::Notice& notice, Instant now) {
  remediation_.OnTrap(notice, now);
  // A light sweep reads SMInfo. If the other SM is preferred now, it is handed the subnet.
  if (notice.changes_sm_priority()) agenda_.WantLightSweepSoon(now);
  if (!options_.sweep.on_trap) return;
  switch (notice.generic ? notice.trap : 0) {
    case wire::kTrapLinkStateChange:
    case wire::kTrapCapabilityMaskChanged:
    case wire::kTrapSystemImageGuidChanged: {
      const PortRef port = observed_.SwitchPortOf(lids_.table()->Owner(notice.issuer_lid));
      // A host's is read with the rest of it.
      if (!port.IsNone() && port.port == PortNum(0) &&
          notice.trap == wire::kTrapCapabilityMaskChanged)
        follower_.ReportDescription(port.node);
      if (!port.IsNone())
        follower_.Report(port, fmt::format("trap {}", notice.trap), now);
      else  // No known node has this LID. A light sweep finds what has changed.
        agenda_.WantLightSweepSoon(now);
      break;
    }
    default:
      journal_.Log(LogLevel::kWarning,
                   fmt::format("trap {} from LID {}", notice.trap, notice.issuer_lid));
  }
}

}  // namespace fabricd::sweep
