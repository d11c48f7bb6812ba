// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/election.h"

#include <algorithm>

#include "common/breakage.h"

namespace fabricd::sweep {

using wire::SmControl;
using wire::SmState;

bool IsHigher(uint8_t priority_a, Guid guid_a, uint8_t priority_b, Guid guid_b) {
  return priority_a != priority_b ? priority_a > priority_b : guid_a < guid_b;
}

namespace {

bool Names(const std::vector<Guid>& guids, Guid guid) {
  return std::find(guids.begin(), guids.end(), guid) != guids.end();
}

// The highest SM for which `wanted` is true. Null: none.
template <typename Wanted>
const RemoteSm* Highest(const std::vector<RemoteSm>& sms, Wanted wanted) {
  const RemoteSm* best = nullptr;
  for (const RemoteSm& sm : sms)
    if (wanted(sm) &&
        (best == nullptr || IsHigher(sm.priority, sm.guid, best->priority, best->guid)))
      best = &sm;
  return best;
}

}  // namespace

ElectionVerdict Elect(const OwnSm& own, const std::vector<RemoteSm>& remote) {
  if (IsBroken(Breakage::kAlwaysMaster)) return {};
  using Kind = ElectionVerdict::Kind;
  if (IsBroken(Breakage::kNeverMaster)) return {Kind::kStandby, RemoteSm{}};
  const auto outranks = [&](const RemoteSm& sm) {
    return sm.guid != own.guid && IsHigher(sm.priority, sm.guid, own.priority, own.guid);
  };
  const RemoteSm* master = Highest(remote, [&](const RemoteSm& sm) {
    return sm.guid != own.guid && sm.state == SmState::kMaster;
  });
  const RemoteSm* standby = Highest(remote, [&](const RemoteSm& sm) {
    return sm.state == SmState::kStandby && outranks(sm) && !Names(own.passed_over, sm.guid);
  });
  if (own.state == SmState::kMaster) {
    if (master != nullptr && outranks(*master)) return {Kind::kHandover, *master};
    if (standby != nullptr) return {Kind::kHandover, *standby};
    if (master != nullptr) return {Kind::kWait, *master};
    return {};
  }
  if (master != nullptr) return {Kind::kStandby, *master};
  const RemoteSm* higher = Highest(remote, [&](const RemoteSm& sm) {
    return sm.state != SmState::kNotActive && outranks(sm) && !Names(own.idle, sm.guid);
  });
  if (higher != nullptr) return {Kind::kStandby, *higher};
  if (standby != nullptr) return {Kind::kTake, *standby};
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
