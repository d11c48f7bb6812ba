// SPDX-License-Identifier: Apache-2.0
// Elects the master (IBA vol 1 §14.4.1): a pure decision over the SMInfo of all SMs found. The
// higher priority wins, then the lower port GUID. But a discovering SM yields to any master.
#pragma once

#include <optional>
#include <vector>

#include "sweep/interface/view.h"

namespace fabricd::sweep {

struct OwnSm {
  wire::SmState state = wire::SmState::kDiscovering;
  uint8_t priority = 0;
  Guid guid;
  // SMs that this one stood by for without result: they responded but did not become master.
  std::vector<Guid> idle = {};
  // Those of them that did not become master after a handover either.
  std::vector<Guid> passed_over = {};
};

struct ElectionVerdict {
  enum class Kind : uint8_t {
    kMaster,    // Become or stay master.
    kStandby,   // Program nothing, poll `other`.
    kHandover,  // We are master; `other` is a higher standby or master: hand over to it.
    // No SM is master, and `other`, a higher standby, did not become master by itself: become
    // master and hand over to it.
    kTake,
    // We are master and `other` is a lower master, which has to hand over to us. Program nothing
    // until it has, or has disappeared.
    kWait,
  };
  Kind kind = Kind::kMaster;
  std::optional<RemoteSm> other;
};

// True if (priority, guid) of a wins over that of b.
bool IsHigher(uint8_t priority_a, Guid guid_a, uint8_t priority_b, Guid guid_b);

ElectionVerdict Elect(const OwnSm& own, const std::vector<RemoteSm>& remote);

// The state after a SubnSet(SMInfo) (§14.4.1, figure 180 and table 224 in release 1.3). nullopt:
// the control is not legal in this state; the response has status 7 (invalid value).
std::optional<wire::SmState> StateAfterControl(wire::SmState own, wire::SmControl control);

}  // namespace fabricd::sweep
