// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/standby_patience.h"

namespace fabricd::sweep {
namespace {

using wire::SmState;

// How long an SM that is STANDBY itself has to become master: it finds its master dead, or takes a
// handover. OpenSM may need a minute for the former.
constexpr Duration kTimeToRise = std::chrono::seconds(1);
// And one that discovers a fabric of any size.
constexpr Duration kTimeToDiscover = std::chrono::seconds(60);
// Who takes a handover without becoming master is given no other one for so long.
constexpr Duration kPassOver = std::chrono::minutes(10);
constexpr size_t kMostRemembered = 16;

void Remember(Guid guid, std::vector<Guid>& guids) {
  if (guids.size() >= kMostRemembered) guids.erase(guids.begin());
  guids.push_back(guid);
}

}  // namespace

void StandbyPatience::OnMaster(Guid guid, Instant now) {
  master_seen_ = now;
  handed_over_ = false;
  idle_.clear();
  std::erase(passed_over_, guid);
}

bool StandbyPatience::IsOver(const RemoteSm& watched, SmState seen, Instant now) {
  const Duration patience = seen == SmState::kDiscovering ? kTimeToDiscover : kTimeToRise;
  if (now - master_seen_ < patience) return false;
  // One that was master has handed over: who is master now the discovery shows.
  if (watched.state == SmState::kMaster) return true;
  Remember(watched.guid, idle_);
  if (handed_over_) {
    Remember(watched.guid, passed_over_);
    passed_over_until_ = now + kPassOver;
  }
  return true;
}

}  // namespace fabricd::sweep
