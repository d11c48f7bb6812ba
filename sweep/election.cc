// SPDX-License-Identifier: Apache-2.0
#include "sweep/election.h"

#include "common/breakage.h"

namespace fabricd::sweep {

using wire::SmControl;
using wire::SmState;

bool IsHigher(uint8_t priority_a, Guid guid_a, uint8_t priority_b, Guid guid_b) {
  return priority_a != priority_b ? priority_a > priority_b : guid_a < guid_b;
}

ElectionVerdict Elect(const OwnSm& own, const std::vector<RemoteSm>& remote) {
  if (IsBroken(Breakage::kAlwaysMaster)) return {};
  const RemoteSm* highest = nullptr;  // Of all that may become master.
  const RemoteSm* highest_master = nullptr;
  for (const RemoteSm& sm : remote) {
    if (sm.guid == own.guid || sm.state == SmState::kNotActive) continue;
    auto above = [&](const RemoteSm* best) {
      return best == nullptr || IsHigher(sm.priority, sm.guid, best->priority, best->guid);
    };
    if (above(highest)) highest = &sm;
    if (sm.state == SmState::kMaster && above(highest_master)) highest_master = &sm;
  }
  if (highest == nullptr) return {};
  const bool outranked = IsHigher(highest->priority, highest->guid, own.priority, own.guid);
  using Kind = ElectionVerdict::Kind;
  if (own.state != SmState::kMaster) {
    if (highest_master != nullptr) return {Kind::kStandby, *highest_master};
    if (outranked) return {Kind::kStandby, *highest};
    return {};
  }
  if (outranked) return {Kind::kHandover, *highest};
  if (highest_master != nullptr) return {Kind::kWait, *highest_master};
  return {};
}

std::optional<SmState> StateAfterControl(SmState own, SmControl control) {
  switch (control) {
    case SmControl::kHandover:
      if (own == SmState::kStandby || own == SmState::kMaster || own == SmState::kDiscovering)
        return SmState::kMaster;
      return std::nullopt;
    case SmControl::kAcknowledge:
      return own == SmState::kMaster || own == SmState::kStandby ? std::optional(own)
                                                                 : std::nullopt;
    case SmControl::kDisable:
      return own == SmState::kStandby ? std::optional(SmState::kNotActive) : std::nullopt;
    case SmControl::kStandby:
      return own == SmState::kNotActive ? std::optional(SmState::kStandby) : std::nullopt;
    case SmControl::kDiscover:
      return own == SmState::kStandby ? std::optional(SmState::kDiscovering) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace fabricd::sweep
