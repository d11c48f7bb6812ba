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
  const uint64_t command = next_command_++;
  asked_[command] = {hold, false};
  master->Post(sweep::CreateHold{command, hold});
}

void HoldClients::Lift() {
  ManagementNode* const master = master_();
  if (master == nullptr || standing_.empty()) return;
  auto which = standing_.begin();
  std::advance(which, static_cast<std::ptrdiff_t>(rng_.Below(standing_.size())));
  const uint64_t command = next_command_++;
  asked_[command] = {which->second, true};
  lifting_.insert(which->first);
  master->Post(sweep::DeleteHold{command, {which->first, which->second.owner}});
}

void HoldClients::OnFinished(const sweep::FinishedCommand& finished) {
  const auto found = asked_.find(finished.command);
  if (found == asked_.end()) return;
  const Asked asked = std::move(found->second);
  asked_.erase(found);
  if (!finished.status.ok()) {
    world_.Tell(fmt::format("refused: {}", Message(finished.status)));
    return;
  }
  if (asked.lift) {
    standing_.erase(asked.hold.id);
  } else if (finished.hold) {
    const policy::Hold& hold = finished.hold->hold;
    world_.Tell(fmt::format("hold {} of {} is acknowledged", hold.id, hold.target.name));
    standing_[hold.id] = hold;
    ++acknowledged_;
  }
}

// Whoever has the epoch knows what was acknowledged.
void HoldClients::OnView(const ManagementNode& node, const sweep::FabricView& view) {
  const bool owns = node.process() == world_.store.ledger.owner() && node.may_write();
  if (view.sm.state != wire::SmState::kMaster || !owns) return;
  for (const auto& [id, hold] : standing_) {
    if (lifting_.contains(id)) continue;
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

}  // namespace fabricd::sim
