// SPDX-License-Identifier: Apache-2.0
#include "daemon/verdicts/verdict_keeper.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "common/process_clock.h"
#include "common/status.h"
#include "daemon/verdicts/stored_view.h"
#include "policy/intent_maker.h"
#include "policy/target.h"
#include "policy/verdict/why_text.h"
#include "telemetry/evidence/evidence_maker.h"

namespace fabricd::daemon {

using policy::Assessment;
using policy::HoldKind;
using policy::LinkEvidence;
using policy::LinkKey;
using policy::Stage;
using policy::Verdict;
using query::VerdictRecord;
using query::VerdictView;

namespace {

// A row that differs in nothing but when it was last seen is not written again within this time.
constexpr policy::WallMs kSeenStepMs = 10 * 60 * 1000;
// Of a switch's links to other switches this share has to be left when one is drained.
constexpr double kLeastLeft = 0.5;

bool IsMaster(const sweep::FabricView& view) {
  return view.sm.state == wire::SmState::kMaster && view.sweeps_done > 0;
}

policy::HeldPort HeldPortOf(const policy::EndEvidence& end) { return {end.node, end.port}; }

}  // namespace

struct VerdictKeeper::Assessed {
  // What is kept of a link's evidence.
  struct Ends {
    policy::HeldPort a, b;  // Of a host's link, `a` is the host.
    bool is_host_link = false;
    policy::DeviceFamily family_a, family_b;
  };
  const VerdictInputs& inputs;
  VerdictEffects& effects;
  const fabric::FabricSnapshot& snapshot;
  std::vector<Assessment> links;
  std::vector<Ends> ends;                                  // By index of `links`.
  absl::flat_hash_map<policy::HeldPort, LinkKey> link_of;  // By both ends.
  telemetry::Congestion congestion;
  absl::flat_hash_map<LinkKey, policy::StandingHold> holds;
  std::set<PortRef> drained;  // Ends of links that holds of this owner keep out of routes.
  size_t standing = 0, host_ports = 0;
};

VerdictKeeper::VerdictKeeper(VerdictOptions options, const fabric::HostPatterns& patterns,
                             const fabric::NodeNameMap& names, policy::StoredVerdicts stored)
    : options_(std::move(options)),
      patterns_(patterns),
      names_(names),
      stored_(std::move(stored)),
      assessor_(options_.assessor),
      responder_(options_.responder) {}

void VerdictKeeper::Restore(Instant now, policy::WallMs wall) {
  if (!stored_) return;
  const policy::StoredVerdicts stored = *std::exchange(stored_, std::nullopt);
  assessor_.book().Import(stored.standings, now, wall);
  assessor_.families().Import(stored.crossings, now, wall);
  downs_.Import(stored.standings, now, wall);
  responder_.Import(stored.responses, now, wall);
  // Counters are those of another process: nothing changes until a window is full again.
  if (!stored.standings.empty()) assessor_.book().OnFailover(now);
}

void VerdictKeeper::SetOptions(VerdictOptions options, Instant now, policy::WallMs wall) {
  options_ = std::move(options);
  responder_.SetOptions(options_.responder);
  if (stored_) {
    assessor_ = policy::Assessor(options_.assessor);
    return;
  }
  const auto standings = assessor_.book().Export(now, wall);
  const auto crossings = assessor_.families().Export(now, wall);
  assessor_ = policy::Assessor(options_.assessor);
  assessor_.book().Import(standings, now, wall);
  assessor_.families().Import(crossings, now, wall);
}

bool VerdictKeeper::IsReady(const VerdictInputs& inputs) const {
  const telemetry::TelemetryView& view = *inputs.telemetry;
  const bool polls = view.state == telemetry::State::kPolling ||
                     (view.state == telemetry::State::kStandby && view.options.as_standby);
  return options_.enabled && polls && view.snapshot != nullptr;
}

void VerdictKeeper::FindHosts(const std::shared_ptr<const fabric::FabricSnapshot>& snapshot) {
  if (hosts_of_ == snapshot) return;
  hosts_ = fabric::FindHosts(*snapshot, patterns_);
  hosts_of_ = snapshot;
}

void VerdictKeeper::Follow(policy::StoredVerdicts stored) {
  stored_ = std::move(stored);
  follows_ = is_stored_new_ = true;
}

VerdictEffects VerdictKeeper::Assess(const VerdictInputs& inputs) {
  VerdictEffects effects;
  if (follows_) {
    // Its links may not have been read yet when the master has stored it.
    if (std::exchange(is_stored_new_, false) || view_->snapshot != inputs.fabric->snapshot ||
        inputs.now - view_->at >= options_.interval)
      effects.publish = view_ = ViewOfStored(*stored_, options_, inputs, view_->number + 1);
    return effects;
  }
  Restore(inputs.now, inputs.wall);
  if (!IsReady(inputs)) {
    if (view_->enabled) effects.publish = view_ = query::NoVerdicts();
    return effects;
  }
  const bool is_standby = inputs.telemetry->state == telemetry::State::kStandby;
  if (std::exchange(was_standby_, is_standby) && !is_standby)
    assessor_.book().OnFailover(inputs.now);
  Assessed assessed{.inputs = inputs, .effects = effects, .snapshot = *inputs.telemetry->snapshot};
  FindHosts(inputs.telemetry->snapshot);
  AssessLinks(assessed);
  Respond(assessed);
  MakeView(assessed);
  EmitLinkEvents(*effects.publish, effects, inputs.now);
  EmitCauseEvents(*effects.publish, effects, inputs.now);
  view_ = effects.publish;
  return effects;
}

void VerdictKeeper::VisitLinks(const VerdictInputs& inputs, policy::Assessor::EachLink each) {
  telemetry::VisitEvidence(*inputs.telemetry, &hosts_, [&](const LinkEvidence& own) {
    downs_.Note(own, inputs.now);
    if (!downs_.HasEarlier(LinkKey(own))) return each(own);
    LinkEvidence link = own;
    downs_.AddEarlier(link, inputs.now);
    each(link);
  });
}

void VerdictKeeper::AssessLinks(Assessed& assessed) {
  const telemetry::TelemetryView& view = *assessed.inputs.telemetry;
  std::vector<policy::CongestionTree> trees;
  if (const auto& plan = assessed.inputs.fabric->plan; plan != nullptr) {
    assessed.congestion = telemetry::FindCongestion(view, assessed.snapshot, *plan);
    trees = telemetry::TreesOf(assessed.congestion, assessed.snapshot);
  }
  const auto visit = [&](policy::Assessor::EachLink each) {
    VisitLinks(assessed.inputs, [&](const LinkEvidence& link) {
      assessed.ends.push_back({HeldPortOf(link.a), HeldPortOf(link.b),
                               link.a.role == policy::EndRole::kHost, link.a.family,
                               link.b.family});
      each(link);
    });
  };
  assessed.links = assessor_.Assess(visit, assessed.inputs.now, trees);
  for (size_t i = 0; i < assessed.links.size(); ++i) {
    const Assessed::Ends& ends = assessed.ends[i];
    assessed.host_ports += ends.is_host_link;
    assessed.link_of[ends.a] = assessed.link_of[ends.b] = assessed.links[i].link;
  }
}

// ---- what follows

bool VerdictKeeper::IsRedundant(const Assessed& assessed, PortRef a, PortRef b) const {
  for (const PortRef end : {a, b}) {
    size_t trunks = 0, left = 0;
    const fabric::Node* node = assessed.snapshot.node(end.node);
    if (node == nullptr) return false;
    for (const auto& [port, state] : node->LinkPorts()) {
      const PortRef peer = state.peer;
      const fabric::Node* other = peer.IsNone() ? nullptr : assessed.snapshot.node(peer.node);
      if (other == nullptr || !other->IsSwitch()) continue;
      ++trunks;
      left += port != end && !assessed.drained.contains(port);
    }
    if (static_cast<double>(left) < static_cast<double>(trunks) * kLeastLeft) return false;
  }
  return true;
}

bool VerdictKeeper::IsExcluded(const Assessed& assessed, size_t index) const {
  const LinkKey& link = assessed.links[index].link;
  return std::any_of(options_.exclude.begin(), options_.exclude.end(), [&](const auto& each) {
    const bool is_over = each.until_ms && *each.until_ms <= assessed.inputs.wall;
    return !is_over && (each.node == link.a.node || each.node == link.b.node);
  });
}

policy::LinkFacts VerdictKeeper::FactsOf(const Assessed& assessed, size_t index) const {
  const Assessment& each = assessed.links[index];
  const Assessed::Ends& ends = assessed.ends[index];
  const PortRef a = policy::PortRefOf(ends.a, assessed.snapshot);
  const PortRef b = policy::PortRefOf(ends.b, assessed.snapshot);
  const PortRef own = assessed.inputs.fabric->sm.port;
  policy::LinkFacts facts;
  facts.is_excluded = IsExcluded(assessed, index);
  facts.is_own_path = own == a || own == b;
  facts.is_host_link = ends.is_host_link;
  facts.is_redundant = !facts.is_host_link && IsRedundant(assessed, a, b);
  facts.is_family_frozen =
      assessor_.families().IsFrozen(ends.family_a) || assessor_.families().IsFrozen(ends.family_b);
  const std::string name_a = NameOf(a, assessed.snapshot), name_b = NameOf(b, assessed.snapshot);
  facts.reason = fmt::format("{}: {}", policy::VerdictName(each.standing.verdict),
                             policy::VerdictSentence(each.verdict, {name_a, name_b}));
  return facts;
}

void VerdictKeeper::Respond(Assessed& assessed) {
  const sweep::FabricView& fabric = *assessed.inputs.fabric;
  for (const policy::HoldStatus& status : fabric.policy->holds) {
    const policy::Hold& hold = status.hold;
    if (hold.owner != policy::kTelemetryHoldOwner) continue;
    ++assessed.standing;
    if (hold.target.ports.empty()) continue;
    if (hold.kind == HoldKind::kDrain)
      for (const policy::HeldPort& port : hold.target.ports)
        assessed.drained.insert(policy::PortRefOf(port, assessed.snapshot));
    const auto link = assessed.link_of.find(hold.target.ports.front());
    if (link == assessed.link_of.end()) continue;
    assessed.holds[link->second] = {hold.id, hold.kind, hold.expires};
  }
  const auto facts = [&](size_t index) { return FactsOf(assessed, index); };
  policy::ResponseEffects follows = responder_.Pass({.links = assessed.links,
                                                     .facts = facts,
                                                     .holds = assessed.holds,
                                                     .standing = assessed.standing,
                                                     .host_ports = assessed.host_ports,
                                                     .is_blackout = assessor_.report().is_blackout,
                                                     .may_act = IsMaster(fabric),
                                                     .now = assessed.inputs.now,
                                                     .wall = assessed.inputs.wall});
  for (policy::HoldRequest& request : follows.create) {
    const bool is_trunk = request.kind == HoldKind::kDrain;
    // The host's end of its link, as schedulers know it.
    PortRef port = policy::PortRefOf(request.link.a, *fabric.snapshot);
    const fabric::Node* node = port.IsNone() ? nullptr : fabric.snapshot->node(port.node);
    if (!is_trunk && (node == nullptr || node->IsSwitch()))
      port = policy::PortRefOf(request.link.b, *fabric.snapshot);
    const fabric::Port* known = port.IsNone() ? nullptr : fabric.snapshot->port(port);
    if (known == nullptr || (is_trunk && known->peer.IsNone())) {
      responder_.OnAnswer(request.link, NotFound("the link has left the fabric"),
                          assessed.inputs.now);
      continue;
    }
    sweep::CreateHold command;
    command.hold.kind = request.kind;
    command.hold.mode = policy::DrainMode::kSoft;
    command.hold.owner = policy::kTelemetryHoldOwner;
    command.hold.reason = std::move(request.reason);
    command.hold.target =
        is_trunk ? policy::TargetOfLink(port, *fabric.snapshot, &names_, fabric.sm.port)
                 : policy::TargetOfPort(port, *fabric.snapshot, &names_, fabric.sm.port);
    command.ttl = options_.responder.hold_ttl;
    command.renews = request.is_renewal;
    assessed.effects.create.push_back({request.link, std::move(command)});
  }
  for (const uint64_t id : follows.remove)
    assessed.effects.remove.push_back({0, {.id = id, .owner = policy::kTelemetryHoldOwner}});
  if (!follows.breaker_opened) return;
  fabric::FabricEvent event;
  event.type = "VerdictBreakerOpened";
  event.severity = fabric::Severity::kError;
  event.subject = "subnet";
  event.message = fmt::format(
      "so many holds followed from verdicts within {} min that no more do, until an operator "
      "resets the breaker",
      std::chrono::duration_cast<std::chrono::minutes>(options_.responder.actions.breaker_window)
          .count());
  event.at = assessed.inputs.now;
  assessed.effects.events.push_back(std::move(event));
}

void VerdictKeeper::OnHoldAnswer(const LinkKey& link, const absl::StatusOr<uint64_t>& hold,
                                 Instant now) {
  responder_.OnAnswer(link, hold, now);
}

// ---- what is shown

void VerdictKeeper::MakeView(Assessed& assessed) {
  auto view = std::make_shared<VerdictView>();
  view->number = view_->number + 1;
  view->enabled = true;
  view->at = assessed.inputs.now;
  view->interval = options_.interval;
  view->snapshot = assessed.inputs.telemetry->snapshot;
  // Before each port was polled once, stale counters are no finding.
  const bool has_begun = assessed.inputs.telemetry->HasPolledAll();
  const policy::FleetReport none;
  const policy::FleetReport& report =
      assessor_.report().is_blackout && !has_begun ? none : assessor_.report();
  view->findings = report.findings;
  const auto& families = assessor_.families().findings();
  view->findings.insert(view->findings.end(), families.begin(), families.end());
  view->configured = options_.responder.actions.configured;
  view->in_effect = responder_.in_effect();
  view->budget = responder_.BudgetFor(assessed.host_ports);
  view->is_breaker_open = responder_.is_breaker_open();
  view->not_kept = assessor_.book().not_kept();
  view->congestion = std::move(assessed.congestion);
  absl::flat_hash_map<PortRef, PortRef> roots;
  for (const telemetry::CongestionRoot& root : view->congestion.roots)
    for (const telemetry::WaitingPort& victim : root.victims) roots[victim.port] = root.port;
  for (size_t i = 0; i < assessed.links.size(); ++i) {
    Assessment& each = assessed.links[i];
    VerdictRecord record;
    record.link = each.link;
    record.standing = each.standing;
    record.found = std::move(each.verdict);
    const Verdict shown = query::VerdictOf(record);
    ++view->counts[static_cast<size_t>(shown)];
    record.response = responder_.Find(record.link);
    if (shown == Verdict::kHealthy && record.response.hold == 0) continue;
    const auto& explained = report.explained_by;
    if (i < explained.size()) record.finding = explained[i];
    record.is_reversed = assessed.ends[i].a == record.link.b;
    record.a = policy::PortRefOf(assessed.ends[i].a, assessed.snapshot);
    record.b = policy::PortRefOf(assessed.ends[i].b, assessed.snapshot);
    for (const PortRef end : {record.a, record.b})
      if (const auto root = roots.find(end); root != roots.end()) record.root = root->second;
    view->records.push_back(std::move(record));
  }
  std::sort(view->records.begin(), view->records.end(),
            [](const VerdictRecord& x, const VerdictRecord& y) { return x.link < y.link; });
  query::IndexEnds(*view);
  view->took = ProcessClock::Now() - assessed.inputs.now;
  assessed.effects.publish = std::move(view);
}

std::shared_ptr<const VerdictRecord> VerdictKeeper::Evaluate(PortRef port,
                                                             const VerdictInputs& inputs) {
  if (follows_) {
    const VerdictRecord* const known = view_->Find(port);
    return known == nullptr ? nullptr : std::make_shared<const VerdictRecord>(*known);
  }
  if (!IsReady(inputs)) return nullptr;
  const fabric::FabricSnapshot& snapshot = *inputs.telemetry->snapshot;
  FindHosts(inputs.telemetry->snapshot);
  std::shared_ptr<VerdictRecord> record;
  VisitLinks(inputs, [&](const LinkEvidence& link) {
    const PortRef a = policy::PortRefOf(HeldPortOf(link.a), snapshot);
    const PortRef b = policy::PortRefOf(HeldPortOf(link.b), snapshot);
    if (a != port && b != port) return;
    record = std::make_shared<VerdictRecord>();
    record->link = LinkKey(link);
    record->a = a;
    record->b = b;
    record->is_reversed = HeldPortOf(link.a) == record->link.b;
    record->evidence = std::make_shared<const LinkEvidence>(link);
    record->found = policy::Evaluate(link, options_.assessor.limits,
                                     assessor_.book().StrongForOf(record->link, inputs.now));
  });
  if (record == nullptr) return nullptr;
  if (const VerdictRecord* known = view_->Find(record->link)) {
    record->standing = known->standing;
    record->finding = known->finding;
    record->root = known->root;
    // Rows are those of now; what is concluded of them is what is shown.
    const std::vector<policy::EvidenceRow> rows = std::move(record->found.rows);
    record->found = known->found;
    record->found.rows = rows;
  } else if (view_->number == 0 || record->found.verdict == Verdict::kUnknown) {
    record->standing.stage = Stage::kUnknown;
    record->standing.is_known = false;
  }
  record->response = responder_.Find(record->link);
  return record;
}

StoredRows VerdictKeeper::Rows(Instant now, policy::WallMs wall) const {
  if (stored_) return policy::VerdictRows(*stored_);
  policy::StoredVerdicts stored;
  stored.standings = assessor_.book().Export(now, wall);
  for (policy::StoredStanding& each : stored.standings) {
    each.seen -= each.seen % kSeenStepMs;
    each.downs = downs_.Export(each.link, now, wall);
  }
  stored.responses = responder_.Export(now, wall);
  stored.crossings = assessor_.families().Export(now, wall);
  for (policy::StoredCrossing& each : stored.crossings) each.at -= each.at % kSeenStepMs;
  return policy::VerdictRows(stored);
}

// ---- commands

absl::Status VerdictKeeper::Do(const VerdictCommand& command, const VerdictInputs& inputs,
                               VerdictEffects& effects) {
  using Kind = VerdictCommand::Kind;
  if (command.kind == Kind::kResetBreaker) {
    responder_.ResetBreaker();
    fabric::FabricEvent event;
    event.type = "VerdictBreakerReset";
    event.subject = "subnet";
    event.message =
        fmt::format("{} lets holds follow from verdicts again: {}", command.by, command.reason);
    event.at = inputs.now;
    effects.events.push_back(std::move(event));
    return absl::OkStatus();
  }
  const VerdictRecord* record = view_->Find(command.port);
  if (record == nullptr || !policy::IsBad(query::VerdictOf(*record)))
    return absl::FailedPreconditionError("there is no bad verdict about this link");
  policy::VerdictRemark remark{command.by, command.reason, inputs.wall, {}};
  if (command.ttl)
    remark.until =
        inputs.wall + std::chrono::duration_cast<std::chrono::milliseconds>(*command.ttl).count();
  const char* type = "VerdictAcknowledged";
  bool is_done = false;
  switch (command.kind) {
    case Kind::kAcknowledge: is_done = responder_.Acknowledge(record->link, remark); break;
    case Kind::kOverrule:
      type = "VerdictOverruled";
      is_done = responder_.Overrule(record->link, remark);
      break;
    case Kind::kRelease:
      type = "VerdictReleased";
      is_done = assessor_.book().Release(record->link, inputs.now);
      break;
    case Kind::kResetBreaker: break;
  }
  if (!is_done) return absl::FailedPreconditionError("there is no bad verdict about this link");
  fabric::FabricEvent event = EventOf(type, *record, *view_->snapshot, inputs.now);
  event.severity = fabric::Severity::kInfo;
  event.message = fmt::format("by {}: {}", command.by, command.reason);
  event.facts.emplace_back("by", command.by);
  effects.events.push_back(std::move(event));
  return absl::OkStatus();
}

}  // namespace fabricd::daemon
