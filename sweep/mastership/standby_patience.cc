// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/standby_patience.h"

namespace fabricd::sweep {
namespace {

using wire::SmState;

// How long an SM that is STANDBY itself may take to become master: it notices that its master is
// gone, or accepts a handover. OpenSM may need a minute for the former.
constexpr Duration kTimeToRise = std::chrono::seconds(1);
// The same for one that discovers a fabric of any size.
constexpr Duration kTimeToDiscover = std::chrono::seconds(60);
// An SM that did not become master after a handover gets no other one for this time.
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
  // It was master and has handed over. Discovery shows which SM is master now.
  if (watched.state == SmState::kMaster) return true;
  Remember(watched.guid, idle_);
  if (handed_over_) {
    Remember(watched.guid, passed_over_);
    passed_over_until_ = now + kPassOver;
  }
  return true;
}

}  // namespace fabricd::sweep
