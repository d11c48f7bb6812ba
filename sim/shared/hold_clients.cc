// SPDX-License-Identifier: Apache-2.0
#include "sim/shared/hold_clients.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "common/status.h"
#include "sim/faults/draw.h"

namespace fabricd::sim {

using std::chrono::seconds;

void HoldClients::Plan(Duration phase) {
  for (uint64_t count = 3 + rng_.Below(10); count > 0; --count) {
    const Instant when = world_.now() + seconds(2) + UpTo(phase - seconds(2), rng_);
    const bool lifts = rng_.Chance(0.3);
    world_.threads().At(when, [this, lifts] { lifts ? Lift() : Ask(); });
  }
}

void HoldClients::Ask() {
  ManagementNode* const master = master_();
  if (master == nullptr || !master->view().subnet_up) return;
  const SimDevice& device = *world_.fabric().device(OneOf(places_.nodes(), rng_));
  policy::Hold hold;
  hold.kind = policy::HoldKind::kCordon;
  hold.owner = "operator";
  hold.reason = "drawn";
  hold.target.kind = device.IsSwitch() ? policy::TargetKind::kSwitch : policy::TargetKind::kHca;
  hold.target.name = std::string(device.description());
  hold.target.nodes = {device.guid()};
  std::optional<Duration> ttl;
  if (times_.Chance(0.4)) ttl = seconds(5) + UpTo(seconds(30), times_);
  const uint64_t command = commands_.Add({hold, false, ttl, world_.now()});
  master->Post(sweep::CreateHold{command, hold, ttl});
}

void HoldClients::Lift() {
  ManagementNode* const master = master_();
  if (master == nullptr || standing_.empty()) return;
  auto which = standing_.begin();
  std::advance(which, static_cast<std::ptrdiff_t>(rng_.Below(standing_.size())));
  const policy::Hold& hold = which->second.hold;
  const uint64_t command = commands_.Add({hold, true});
  lifting_.insert(which->first);
  master->Post(sweep::DeleteHold{command, {which->first, hold.owner}});
}

void HoldClients::OnFinished(const sweep::FinishedCommand& finished) {
  const std::optional<Asked> asked = commands_.TakeDone(finished);
  if (!asked) return;
  if (asked->lift) {
    standing_.erase(asked->hold.id);
  } else if (finished.hold) {
    const policy::Hold& hold = finished.hold->hold;
    world_.Tell(fmt::format("hold {} of {} is acknowledged", hold.id, hold.target.name));
    // Of one that stood before it is not known here when it ends, unless it was acknowledged.
    const auto [known, is_new] = standing_.try_emplace(hold.id, Standing{hold});
    Standing& standing = known->second;
    if (is_new && finished.hold->existing) standing.earliest = Instant{};
    if (asked->ttl && !finished.hold->existing) {
      standing.earliest = asked->at + *asked->ttl;
      standing.latest = world_.now() + *asked->ttl;
    }
    ++acknowledged_;
  }
}

void HoldClients::CheckKnown(const ManagementNode& node, const sweep::FabricView& view) {
  for (const auto& [id, standing] : standing_) {
    if (lifting_.contains(id) || world_.now() >= standing.earliest - tolerance_) continue;
    const policy::Hold& hold = standing.hold;
    const auto& shown = view.policy->holds;
    const auto found = std::find_if(shown.begin(), shown.end(),
                                    [id = id](const auto& each) { return each.hold.id == id; });
    if (found == shown.end() || found->hold.target != hold.target) {
      say_(
          fmt::format("{} of {} was acknowledged, and node {}, which is master, does not "
                      "know it",
                      id, hold.target.name, node.number()));
      lifting_.insert(id);  // Once is enough.
    }
  }
}

void HoldClients::CheckEnds(const sweep::FabricView& view) {
  for (const policy::HoldStatus& shown : view.policy->holds) {
    const auto standing = standing_.find(shown.hold.id);
    if (standing == standing_.end() || standing->second.latest == kNever) continue;
    if (world_.now() > standing->second.latest + tolerance_)
      say_(fmt::format("{} of {} stands, although its time is over", shown.hold.id,
                       shown.hold.target.name));
  }
}

}  // namespace fabricd::sim
