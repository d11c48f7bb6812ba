// SPDX-License-Identifier: Apache-2.0
#include "sweep/remediate/verdicts.h"

#include <algorithm>
#include <set>

#include <absl/container/flat_hash_set.h>

#include "common/status.h"
#include "fabric/names.h"
#include "fabric/port_name.h"
#include "policy/target.h"

namespace fabricd::sweep {

using policy::ConditionMode;
using policy::HoldKind;

namespace {

constexpr Duration kWeek = std::chrono::hours(7 * 24);

const fabric::Node* NodeOf(PortRef port, const fabric::FabricSnapshot& snapshot) {
  return port.IsNone() ? nullptr : snapshot.node(port.node);
}

Guid SystemOf(const fabric::Node& node) {
  return node.info.system_image_guid ? node.info.system_image_guid : node.guid();
}

size_t CountHosts(const fabric::FabricSnapshot& snapshot) {
  absl::flat_hash_set<Guid> systems;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch()) systems.insert(SystemOf(node));
  });
  return systems.size();
}

// If the fault is at a host: the host's port, also when its switch reported the fault.
PortRef HostEndOf(const Verdicts::Fault& fault, const fabric::FabricSnapshot& snapshot) {
  for (PortRef end : {fault.port, fault.other}) {
    const fabric::Node* node = NodeOf(end, snapshot);
    if (node == nullptr) continue;
    if (!node->IsSwitch()) return end;
    const fabric::Port* port = end.port == PortNum(0) ? nullptr : snapshot.port(end);
    const fabric::Node* peer = port == nullptr ? nullptr : NodeOf(port->peer, snapshot);
    if (peer != nullptr && !peer->IsSwitch()) return port->peer;
  }
  return {};
}

}  // namespace

std::string Verdicts::SubjectOf(const Fault& fault) const {
  const auto name = [&](PortRef port) { return gone_.NameOf(port, *fabric_.snapshot); };
  return fault.other.IsNone() ? name(fault.port)
                              : fabric::LinkName(name(fault.port), name(fault.other));
}

policy::HoldTarget Verdicts::TargetOf(const Fault& fault) const {
  const fabric::FabricSnapshot& snapshot = *fabric_.snapshot;
  PortRef port = fault.port;
  if (const PortRef host = HostEndOf(fault, snapshot); !host.IsNone()) port = host;
  const fabric::Node* node = NodeOf(port, snapshot);
  if (node == nullptr) return {};
  if (port.port == PortNum(0))
    return {node->IsSwitch() ? policy::TargetKind::kSwitch : policy::TargetKind::kHca,
            fabric::DisplayName(*node),
            {node->guid()},
            {},
            {}};
  const bool link = node->IsSwitch() && !fault.other.IsNone() && snapshot.port(port) != nullptr &&
                    !snapshot.port(port)->peer.IsNone();
  return link ? policy::TargetOfLink(port, snapshot, nullptr, fabric_.local)
              : policy::TargetOfPort(port, snapshot, nullptr, fabric_.local);
}

// Schedulers avoid a cordoned host. Routes can avoid a link between switches, and a soft drain
// keeps the link in use where they cannot.
HoldKind Verdicts::RecommendedFor(const Fault& fault) const {
  const bool between_switches =
      !fault.other.IsNone() && HostEndOf(fault, *fabric_.snapshot).IsNone();
  return between_switches ? HoldKind::kDrain : HoldKind::kCordon;
}

void Verdicts::Restore(const policy::ActionRecord& before, policy::WallMs wall, Instant now) {
  tripped_ = before.breaker_tripped;
  for (const policy::ActionRecord::Release& release : before.releases) {
    const Duration ago = std::chrono::milliseconds(wall - release.at);
    releases_.push_back({now - std::clamp(ago, Duration::zero(), kWeek), release.port});
  }
}

void Verdicts::AddTo(policy::ActionRecord& record) const {
  record.breaker_tripped = tripped_;
  const size_t count = std::min(releases_.size(), policy::ActionRecord::kMostReleases);
  for (size_t i = releases_.size() - count; i < releases_.size(); ++i)
    record.releases.push_back({releases_[i].port, keeper_.Wall(releases_[i].at)});
}

void Verdicts::Begin(Instant now) {
  if (inherited_) return;
  inherited_.emplace();
  for (const auto& [id, hold] : keeper_.book().standing()) {
    if (hold.owner != kOwnHoldOwner) continue;
    inherited_->push_back(id);
  }
  if (inherited_->empty()) return;
  const policy::ConditionOptions& options = fabric_.options.policy.conditions;
  Duration longest = fabric_.options.policy.damping.max_suppress;
  for (const policy::RateRule* rule :
       {&options.noisy_traps, &options.trap_storm, &options.unresponsive, &options.set_errors})
    longest = std::max(longest, 2 * rule->window);
  claims_end_ = now + longest;
}

void Verdicts::OnTimer(Instant now) {
  if (now < claims_end_) return;
  claims_end_ = kNever;
  for (uint64_t id : std::exchange(*inherited_, {})) {
    const bool claimed = std::any_of(findings_.begin(), findings_.end(),
                                     [&](const auto& one) { return one.second.hold == id; });
    if (!claimed && keeper_.book().standing().contains(id)) keeper_.DeleteOwn(id, now);
  }
}

void Verdicts::Raise(Fault fault, Instant now) {
  const Key key{fault.type, fault.port};
  if (const auto found = findings_.find(key); found != findings_.end()) {
    Finding& known = found->second;
    ++known.causes;
    // Another rule found the same fault, and may have a stronger mode.
    if (fault.mode <= known.fault.mode) return;
    known.fault.mode = fault.mode;
    if (fault.mode == ConditionMode::kEnforce) Enforce(known, now);
    return;
  }
  Finding& finding = findings_[key];
  finding.fault = std::move(fault);
  finding.recommended = RecommendedFor(finding.fault);
  Tell("ConditionRaised", finding, finding.fault.message, now);
  if (finding.fault.mode == ConditionMode::kEnforce) Enforce(finding, now);
}

void Verdicts::Clear(const std::string& type, PortRef port, Instant now) {
  const auto found = findings_.find({type, port});
  if (found == findings_.end() || --found->second.causes > 0) return;
  Finding& finding = found->second;
  Tell("ConditionCleared", finding, fmt::format("{} is over", type), now);
  TakeBack(finding, now);
  if (finding.reference != 0)  // Its hold is being created. Release it then.
    finding.released = true;
  else
    findings_.erase(found);
}

bool Verdicts::IsExcluded(const Fault& fault, Instant now) const {
  const auto& exclude = fabric_.options.policy.conditions.exclude;
  const policy::WallMs wall = keeper_.Wall(now);
  const auto is_named = [&](PortRef port) {
    const fabric::Node* node = NodeOf(port, *fabric_.snapshot);
    return node != nullptr && std::any_of(exclude.begin(), exclude.end(), [&](const auto& each) {
             return each.node == node->guid() && (!each.until_ms || wall < *each.until_ms);
           });
  };
  return is_named(fault.port) || is_named(fault.other) ||
         is_named(HostEndOf(fault, *fabric_.snapshot));
}

std::string Verdicts::BreakerObjection(const Fault& fault, Instant now) {
  const policy::ConditionOptions& options = fabric_.options.policy.conditions;
  while (!held_systems_.empty() && held_systems_.front().first + options.breaker_window <= now)
    held_systems_.pop_front();
  if (!tripped_) {
    std::set<Guid> systems;
    for (const auto& [at, system] : held_systems_) systems.insert(system);
    if (const fabric::Node* node = NodeOf(HostEndOf(fault, *fabric_.snapshot), *fabric_.snapshot))
      systems.insert(SystemOf(*node));
    const size_t hosts = CountHosts(*fabric_.snapshot);
    // A single host never trips the breaker.
    tripped_ = systems.size() > std::max<size_t>(1, hosts * options.breaker_percent / 100);
    if (tripped_)
      effects_.log.push_back(
          {LogLevel::kWarning,
           fmt::format(
               "circuit breaker: {} of {} hosts would be held by rules within {} s; rules "
               "only recommend until the next reload",
               systems.size(), hosts,
               std::chrono::duration_cast<std::chrono::seconds>(options.breaker_window).count())});
  }
  return tripped_ ? "the circuit breaker has tripped: a reload resets it" : "";
}

std::string Verdicts::Objection(const Finding& finding, bool stands, Instant now) {
  if (IsExcluded(finding.fault, now)) return "the node is excluded from enforcement";
  if (stands) return "";
  size_t own = 0, end_ports = 0;
  for (const auto& [id, hold] : keeper_.book().standing())
    own += hold.owner == kOwnHoldOwner && hold.kind == finding.recommended;
  own += asked_.size();
  fabric_.snapshot->ForEachNode(
      [&](const fabric::Node& node) { end_ports += node.IsSwitch() ? 0 : node.info.num_ports; });
  const policy::HoldOptions& options = fabric_.options.policy.holds;
  const size_t budget = policy::BudgetOf(HoldKind::kDrain, end_ports, options);
  if (own >= budget) return fmt::format("the budget of {} is used up", budget);
  return BreakerObjection(finding.fault, now);
}

void Verdicts::Enforce(Finding& finding, Instant now) {
  policy::Hold hold;
  hold.kind = finding.recommended;
  hold.mode = policy::DrainMode::kSoft;
  hold.target = TargetOf(finding.fault);
  hold.owner = kOwnHoldOwner;
  hold.reason = fmt::format("{}: {}", finding.fault.type, finding.fault.message)
                    .substr(0, policy::kMaxReasonBytes);
  // That of an earlier run, or of another condition: it is claimed. It was allowed when it was
  // made.
  const auto existing = keeper_.book().FindExisting(hold);
  const bool stands = existing.ok() && *existing != nullptr;
  finding.held_back = Objection(finding, stands, now);
  if (!finding.held_back.empty()) return;
  const fabric::Node* const node =
      NodeOf(HostEndOf(finding.fault, *fabric_.snapshot), *fabric_.snapshot);
  if (node != nullptr && !stands) held_systems_.emplace_back(now, SystemOf(*node));
  finding.reference = next_reference_++;
  asked_[finding.reference] = {finding.fault.type, finding.fault.port};
  keeper_.CreateOwn(finding.reference, std::move(hold), now);
}

void Verdicts::OnAnswer(const HoldKeeper::Answer& answer, Instant now) {
  const auto asked = asked_.find(answer.reference);
  if (asked == asked_.end()) return;
  const auto found = findings_.find(asked->second);
  asked_.erase(asked);
  if (found == findings_.end()) return;
  Finding& finding = found->second;
  finding.reference = 0;
  if (answer.status.ok())
    finding.hold = answer.hold;
  else
    finding.held_back = Message(answer.status);
  if (!finding.released) return;
  TakeBack(finding, now);
  findings_.erase(found);
}

void Verdicts::TakeBack(Finding& finding, Instant now) {
  if (finding.hold == 0) return;
  while (!releases_.empty() && releases_.front().at + kWeek <= now) releases_.pop_front();
  const policy::HeldPort port = gone_.HeldPortOf(finding.fault.port, *fabric_.snapshot);
  const auto of_port = [&](const Release& release) { return release.port == port; };
  const auto count = std::count_if(releases_.begin(), releases_.end(), of_port);
  if (count >= fabric_.options.policy.conditions.releases_per_week) {
    Tell("HoldKept", finding,
         fmt::format("hold {} stands until somebody takes it back: {} automatic releases this week",
                     finding.hold, count),
         now);
    return;
  }
  // If another condition of the same place needs the hold, it creates a new one.
  releases_.push_back({now, port});
  keeper_.DeleteOwn(finding.hold, now);
  finding.hold = 0;
}

void Verdicts::ResetBreaker() {
  tripped_ = false;
  held_systems_.clear();
}

void Verdicts::Update(const std::string& type, PortRef port, std::string message,
                      std::vector<std::pair<std::string, std::string>> evidence) {
  const auto found = findings_.find({type, port});
  if (found == findings_.end()) return;
  found->second.fault.message = std::move(message);
  found->second.fault.evidence = std::move(evidence);
}

void Verdicts::Tell(const char* type, const Finding& finding, std::string message, Instant now) {
  fabric::FabricEvent event;
  event.type = type;
  event.severity = fabric::Severity::kWarning;
  if (event.type == "ConditionCleared") event.severity = fabric::Severity::kInfo;
  event.subject = SubjectOf(finding.fault);
  event.node = gone_.GuidOf(finding.fault.port.node, *fabric_.snapshot);
  event.port = finding.fault.port.port;
  if (!finding.fault.other.IsNone()) {
    event.peer = gone_.GuidOf(finding.fault.other.node, *fabric_.snapshot);
    event.peer_port = finding.fault.other.port;
  }
  event.message = std::move(message);
  event.facts = finding.fault.evidence;
  event.facts.emplace_back("condition", finding.fault.type);
  event.at = now;
  effects_.events.push_back(std::move(event));
}

std::vector<policy::Condition> Verdicts::List() const {
  std::vector<policy::Condition> list;
  for (const auto& [key, finding] : findings_) {
    if (finding.causes <= 0) continue;
    policy::Condition& shown = list.emplace_back();
    shown.type = finding.fault.type;
    shown.subject = SubjectOf(finding.fault);
    shown.node = gone_.GuidOf(finding.fault.port.node, *fabric_.snapshot);
    shown.port = finding.fault.port.port;
    shown.message = finding.fault.message;
    shown.evidence = finding.fault.evidence;
    shown.mode = finding.fault.mode;
    shown.recommended = finding.recommended;
    shown.hold = finding.hold;
    shown.held_back = finding.held_back;
    shown.since = finding.fault.since;
  }
  std::sort(list.begin(), list.end(), [](const policy::Condition& x, const policy::Condition& y) {
    return std::tie(x.type, x.node, x.port) < std::tie(y.type, y.node, y.port);
  });
  return list;
}

}  // namespace fabricd::sweep
