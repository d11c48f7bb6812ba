// SPDX-License-Identifier: Apache-2.0
// BlockRepair: new paths to one LID, where paths as long as before do not suffice.
#include <algorithm>
#include <bit>

#include "common/check.h"
#include "routing/repair/block_repair.h"

namespace fabricd::routing {

// All that fails for one LID, whatever it takes: shorter or longer ways, other classes.
void BlockRepair::Solve(uint32_t lid) {
  if (!SolveAmong(lid, false) && !result_.needs_components) SolveAmong(lid, true);
  for (Record& record : records_) MarkMended(record, record.lids & Bit(lid));
}

// False: some switch has no way as long as those that still arrive keep theirs.
bool BlockRepair::SolveAmong(uint32_t lid, bool all) {
  members_.clear();
  all ? CollectAll(lid) : CollectBroken(lid);
  std::sort(members_.begin(), members_.end(),
            [&](uint32_t a, uint32_t b) { return view_.position[a] < view_.position[b]; });
  FindHops(lid);
  bool served = true;
  for (uint32_t s : members_) {
    if (hops_[s] != kNoHops || !IsWanted(s, lid)) continue;
    served = false;
    result_.needs_components = view_.components.empty();
    if (all) result_.unserved_at = s, result_.unserved_lid = first_lid_ + lid;
  }
  if (served || (all && !result_.needs_components)) {
    // Whoever sends comes before what it sends to.
    for (uint32_t s : members_)
      if (down_[s] == kNoHops) Choose(s, lid, all);
    for (auto s = members_.rbegin(); s != members_.rend(); ++s)
      if (down_[*s] != kNoHops) Choose(*s, lid, all);
    served = true;
  }
  for (uint32_t s : members_) {
    is_member_[s] = used_[s] = 0;
    down_[s] = hops_[s] = kNoHops;
  }
  return served;
}

void BlockRepair::CollectAll(uint32_t lid) {
  for (uint32_t s = 0; s < links_.size(); ++s)
    if (links_.IsAlive(s) && IsWanted(s, lid)) members_.push_back(s), is_member_[s] = 1;
}

void BlockRepair::CollectBroken(uint32_t lid) {
  const auto add = [&](uint32_t s) {
    if (is_member_[s]) return;
    is_member_[s] = 1;
    members_.push_back(s);
  };
  if (task_->anywhere & Bit(lid)) {
    for (uint32_t s = 0; s < links_.size(); ++s)
      if (links_.IsAlive(s) && Walk(s, lid, false) == kNoHops) add(s);
    return;
  }
  for (const Record& record : records_)
    if (record.lids & ~record.mended & Bit(lid)) add(record.at);
  for (size_t next = 0; next < members_.size(); ++next) {
    const uint32_t s = members_[next];
    for (uint32_t port = 1; port < links_.ports(s); ++port) {
      const FarEnd far = links_.Ports(s)[port];
      if (far.IsSwitch() && far.head != s && Entries(far.head)[lid] == far.port) add(far.head);
    }
  }
}

// The best that the order allows each member, the others staying as they are.
void BlockRepair::FindHops(uint32_t lid) {
  const LidPlace to = place(lid);
  const bool host = hosts_ & Bit(lid);
  const auto best = [&](uint32_t s, bool up) {
    uint32_t hops = kNoHops;
    for (uint32_t port = 1; port < links_.ports(s); ++port) {
      const FarEnd far = links_.Ports(s)[port];
      if (!far.IsSwitch() || far.head == s || IsUp(s, far.head) != up) continue;
      hops = std::min(hops, HopsFrom(far.head, lid, !up) + 1);
    }
    return hops > kMostHops ? kNoHops : hops;
  };
  for (uint32_t s : members_) {
    down_[s] = s == to.at ? 0 : best(s, false);
    used_[s] = host && links_.end_ports(s) > 0;
  }
  for (auto s = members_.rbegin(); s != members_.rend(); ++s)
    hops_[*s] = down_[*s] != kNoHops ? down_[*s] : best(*s, true);
}

uint32_t BlockRepair::HopsFrom(uint32_t x, uint32_t lid, bool down_only) const {
  if (is_member_[x]) return down_only ? down_[x] : hops_[x];
  return Walk(x, lid, down_only);
}

// Of the way by one port, if it rises or falls as this switch has to; kNoHops otherwise.
uint32_t BlockRepair::HopsBy(uint32_t s, uint8_t port, uint32_t lid) const {
  const FarEnd far = links_.far(s, port);
  const bool down = down_[s] != kNoHops;
  if (!far.IsSwitch() || far.head == s || IsUp(s, far.head) == down) return kNoHops;
  const uint32_t hops = HopsFrom(far.head, lid, down);
  return hops >= kMostHops ? kNoHops : hops + 1;
}

void BlockRepair::Choose(uint32_t s, uint32_t lid, bool all) {
  const uint8_t now = Entries(s)[lid];
  if (s == place(lid).at) {
    if (now != place(lid).port) Set(s, lid, place(lid).port);
    return;
  }
  if (hops_[s] == kNoHops) {
    // A packet that goes on by an old entry could now rise again after it fell.
    if (links_.far(s, now).head != FarEnd::kDead) Set(s, lid, kNoRoute);
    result_.stale |= Bit(lid);
    return;
  }
  const auto pass_use = [&](uint8_t port) {
    const uint32_t head = links_.far(s, port).head;
    used_[head] |= is_member_[head] & used_[s];
  };
  const uint32_t kept = HopsBy(s, now, lid);
  if (kept != kNoHops && (all || !used_[s] || kept == hops_[s])) return pass_use(now);
  ports_.clear();
  for (uint32_t port = 1; port < links_.ports(s); ++port)
    if (HopsBy(s, static_cast<uint8_t>(port), lid) == hops_[s])
      ports_.push_back(static_cast<uint8_t>(port));
  uint32_t start = first_lid_ + lid;
  for (const BlockTask::Broken& broken : task_->broken)
    if (broken.at == s && (broken.lids & Bit(lid)) && !broken.must)
      start = broken.ordinal + view_.position[s] +
              static_cast<uint32_t>(std::popcount(broken.lids & (Bit(lid) - 1)));
  const auto count = static_cast<uint32_t>(ports_.size());
  const bool alone = place(lid ^ 1) != place(lid);
  FABRICD_CHECK(count > 0, "no port of switch {} gives the hops found", s);
  for (uint32_t crowding = 0;; ++crowding)
    for (uint32_t i = 0; i < count; ++i) {
      const uint8_t port = ports_[(start + i) % count];
      if (!alone && Crowding(s, lid, port) != crowding) continue;
      Set(s, lid, port);
      return pass_use(port);
    }
}

}  // namespace fabricd::routing
