// SPDX-License-Identifier: Apache-2.0
#include "sim/run/operators.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "common/status.h"
#include "policy/target.h"
#include "sim/faults/draw.h"

namespace fabricd::sim {

using policy::DrainMode;
using policy::Hold;
using policy::HoldKind;

namespace {

// Whether no route may lead to an end port that is held so. (A hard drain closes its link, and it
// has no other.)
bool Isolates(const Hold& hold) {
  return hold.kind >= HoldKind::kIsolate ||
         (hold.kind == HoldKind::kDrain && hold.mode == DrainMode::kHard);
}

}  // namespace

void Operators::Plan() {
  const Duration phase = Seconds(faults_.phase_s);
  for (int i = 0; i < Count(faults_.holds); ++i) {
    const Instant when = simulation_.now() + UpTo(phase, rng_);
    simulation_.At(when, [this] { Set(); });
    if (rng_.Chance(0.5)) simulation_.At(when + UpTo(phase, rng_), [this] { Lift(); });
  }
}

size_t Operators::MasterNumber() const {
  for (size_t i = 0; i < simulation_.manager_count(); ++i) {
    const Manager& manager = simulation_.manager(i);
    if (manager.core && manager.core->sm_state() == wire::SmState::kMaster && manager.view &&
        manager.view->plan)
      return i;
  }
  return simulation_.manager_count();
}

void Operators::Set() {
  const size_t master = MasterNumber();
  if (stopped_ || master == simulation_.manager_count()) return;
  const Hold hold = Draw(simulation_.manager(master));
  if (hold.target.name.empty()) return;
  const PortRef end_port = EndPortOf(hold);
  if (Isolates(hold) && !end_port.IsNone()) callbacks_.on_unwanted(end_port);
  const uint64_t command = next_command_++;
  callbacks_.note(fmt::format("{} {} is asked for", policy::HoldKindText(hold), hold.target.name));
  asked_[command] = {hold, false};
  simulation_.Post(master, sweep::CreateHold{command, hold});
}

// A port with a cable, and what of it is held: itself, its link, or the node.
Hold Operators::Draw(const Manager& master) {
  Hold hold;
  hold.owner = fmt::format("operator{}", rng_.Below(3));
  hold.reason = "drawn";
  hold.kind = static_cast<HoldKind>(1 + rng_.Below(4));
  hold.mode = rng_.Chance(0.5) ? DrainMode::kSoft : DrainMode::kHard;
  PortRef at = OneOf(places_.cables(), rng_);
  if (rng_.Chance(0.5)) at = simulation_.fabric().device(at.node)->port(at.port).cable;
  const bool link = rng_.Chance(0.5);
  const fabric::FabricSnapshot& snapshot = *master.view->snapshot;
  const PortRef port{snapshot.FindIndex(simulation_.fabric().device(at.node)->guid()), at.port};
  const fabric::Port* found = port.IsNone() ? nullptr : snapshot.port(port);
  if (found == nullptr || found->peer.IsNone()) return {};
  hold.target = link ? policy::TargetOfLink(port, snapshot, nullptr, master.view->sm.port)
                     : policy::TargetOfPort(port, snapshot, nullptr, master.view->sm.port);
  return hold;
}

// Of the target, or on its link; none: there is none.
PortRef Operators::EndPortOf(const Hold& hold) const {
  const SimFabric& fabric = simulation_.fabric();
  for (NodeIndex node : places_.nodes()) {
    const SimDevice& device = *fabric.device(node);
    if (device.IsSwitch()) continue;
    for (const policy::HeldPort& port : hold.target.ports)
      if (port.node == device.guid()) return {node, port.port};
    // A port of a switch: what hangs on it.
    for (uint8_t num = 1; num <= device.last_port().value(); ++num) {
      const PortRef peer = device.port(PortNum(num)).cable;
      for (const policy::HeldPort& port : hold.target.ports)
        if (!peer.IsNone() && port.node == fabric.device(peer.node)->guid() &&
            port.port == peer.port)
          return {node, PortNum(num)};
    }
  }
  return {};
}

void Operators::Lift() {
  const size_t master = MasterNumber();
  if (stopped_ || standing_.empty() || master == simulation_.manager_count()) return;
  auto which = standing_.begin();
  std::advance(which, static_cast<std::ptrdiff_t>(rng_.Below(standing_.size())));
  const uint64_t command = next_command_++;
  callbacks_.note(fmt::format("hold {} is to be lifted", which->first));
  asked_[command] = {which->second, true};
  simulation_.Post(master, sweep::DeleteHold{command, {which->first, which->second.owner}});
}

void Operators::OnFinished(const sweep::FinishedCommand& finished) {
  const auto asked = asked_.find(finished.command);
  if (asked == asked_.end()) return;
  const Asked what = std::move(asked->second);
  asked_.erase(asked);
  if (!finished.status.ok()) {
    callbacks_.note(fmt::format("refused: {}", Message(finished.status)));
  } else if (what.lift) {
    standing_.erase(what.hold.id);
  } else if (finished.hold) {
    standing_[finished.hold->hold.id] = finished.hold->hold;
  }
}

void Operators::AddPorts(const Hold& hold, absl::flat_hash_set<PortRef>& ports) const {
  const SimFabric& fabric = simulation_.fabric();
  if (const PortRef end_port = EndPortOf(hold); !end_port.IsNone()) ports.insert(end_port);
  for (NodeIndex node : places_.nodes())
    for (const policy::HeldPort& port : hold.target.ports)
      if (port.node == fabric.device(node)->guid()) ports.insert({node, port.port});
}

std::vector<Hold> Operators::InForce(const Manager& master) const {
  std::vector<Hold> holds;
  for (const auto& [id, hold] : standing_) holds.push_back(hold);
  for (const auto& each : master.view->policy->holds)
    if (standing_.count(each.hold.id) == 0 && IsAsked(each.hold, false)) holds.push_back(each.hold);
  std::erase_if(holds,
                [&](const Hold& hold) { return !IsShown(master, hold.id) && IsAsked(hold, true); });
  return holds;
}

absl::flat_hash_set<PortRef> Operators::Unwanted(const Manager& master) const {
  absl::flat_hash_set<PortRef> unwanted;
  for (const Hold& hold : InForce(master))
    if (Isolates(hold)) AddPorts(hold, unwanted);
  const auto& [plan, snapshot, policy] =
      std::tie(master.view->plan, *master.view->snapshot, *master.view->policy);
  if (plan == nullptr || (policy.holds.empty() && policy.damped.empty())) return unwanted;
  for (NodeIndex node : places_.nodes()) {
    const SimDevice& device = *simulation_.fabric().device(node);
    const NodeIndex known = snapshot.FindIndex(device.guid());
    if (device.IsSwitch() && !known.IsNone() && !plan->HasRow(known))
      unwanted.insert({node, PortNum(0)});
  }
  return unwanted;
}

absl::flat_hash_set<PortRef> Operators::Unpartitioned(const Manager& master) const {
  absl::flat_hash_set<PortRef> ports;
  for (const Hold& hold : InForce(master))
    if (hold.kind == HoldKind::kIsolate && !EndPortOf(hold).IsNone()) ports.insert(EndPortOf(hold));
  return ports;
}

bool Operators::IsAsked(const Hold& hold, bool lift) const {
  return std::any_of(asked_.begin(), asked_.end(), [&](const auto& each) {
    const Hold& other = each.second.hold;
    return each.second.lift == lift && other.kind == hold.kind && other.target == hold.target &&
           other.owner == hold.owner;
  });
}

bool Operators::IsShown(const Manager& master, uint64_t id) {
  const auto& shown = master.view->policy->holds;
  return std::any_of(shown.begin(), shown.end(),
                     [&](const auto& each) { return each.hold.id == id; });
}

std::vector<std::string> Operators::Findings(const Manager& master) const {
  std::vector<std::string> findings;
  const auto& shown = master.view->policy->holds;
  for (const auto& [id, hold] : standing_) {
    const auto found = std::find_if(shown.begin(), shown.end(),
                                    [&](const auto& each) { return each.hold.id == id; });
    if (found == shown.end()) {
      if (!IsAsked(hold, true)) findings.push_back(fmt::format("hold {} is gone", id));
    } else if (found->hold.target != hold.target || found->hold.kind != hold.kind) {
      findings.push_back(fmt::format("hold {} has changed", id));
    }
  }
  for (const auto& each : shown) {
    // Those without an operator are the manager's own.
    if (!each.hold.owner.starts_with("operator") || standing_.count(each.hold.id) != 0) continue;
    if (!IsAsked(each.hold, false))
      findings.push_back(fmt::format("hold {} was lifted and stands", each.hold.id));
  }
  return findings;
}

}  // namespace fabricd::sim
