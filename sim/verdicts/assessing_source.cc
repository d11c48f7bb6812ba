// SPDX-License-Identifier: Apache-2.0
#include "sim/verdicts/assessing_source.h"

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "fabric/port_name.h"
#include "telemetry/evidence/congestion.h"
#include "telemetry/evidence/evidence_maker.h"

namespace fabricd::sim {
namespace {

using policy::Stage;

bool IsBad(const policy::Standing& standing) {
  return standing.stage == Stage::kBad && policy::IsBad(standing.verdict);
}

std::string NameOf(const telemetry::TelemetryView& view, Guid guid) {
  const fabric::Node* node = view.snapshot->node(view.snapshot->FindIndex(guid));
  return node == nullptr ? fmt::format("{}", guid) : node->description;
}

std::string LinkText(const telemetry::TelemetryView& view, const policy::LinkKey& link) {
  return fmt::format("{} - {}", fabric::PortName(NameOf(view, link.a.node), link.a.port),
                     fabric::PortName(NameOf(view, link.b.node), link.b.port));
}

std::string AboutOf(const telemetry::TelemetryView& view, const policy::CommonFinding& finding) {
  if (finding.cause == policy::CommonCause::kFamily) {
    return fmt::format("0x{:06x}/{} 0x{:x}", finding.family.vendor_id, finding.family.device_id,
                       finding.family.revision);
  }
  if (finding.root != policy::LinkKey()) return LinkText(view, finding.root);
  return finding.node == Guid() ? "" : NameOf(view, finding.node);
}

// What is accused stands with the verdict; of what only informs it is what was found last.
Concluded Conclude(const policy::HeldPort& a, const policy::HeldPort& b,
                   const policy::Assessment& of) {
  const policy::Attribution& found = of.verdict.attribution;
  policy::HeldPort end = found.side == policy::Side::kB ? b : a;
  policy::Verdict verdict = of.verdict.verdict;
  policy::Culprit culprit = found.culprit;
  const bool is_bad = IsBad(of.standing);
  if (is_bad) {
    const policy::Accusation& accused = of.standing.accusation;
    end = accused.end == policy::HeldPort() ? a : accused.end;
    verdict = of.standing.verdict;
    culprit = accused.culprit;
  } else if (of.standing.stage == Stage::kUnknown) {
    verdict = policy::Verdict::kUnknown;  // As of a new cable, however clean it looks.
    culprit = policy::Culprit::kNone;
  }
  return {end.node, end.port, std::string(policy::VerdictName(verdict)),
          std::string(policy::CulpritName(culprit)), is_bad && !of.forbids_action};
}

}  // namespace

void AssessingSource::OnTables(const fabric::FabricSnapshot& snapshot,
                               const routing::RoutingPlan& plan) {
  snapshot_ = &snapshot;
  plan_ = &plan;
}

std::vector<policy::CongestionTree> AssessingSource::Trees(
    const telemetry::TelemetryView& view) const {
  // A plan is of the snapshot that it was published with.
  if (plan_ == nullptr || view.snapshot.get() != snapshot_) return {};
  return telemetry::TreesOf(telemetry::FindCongestion(view, *snapshot_, *plan_), *snapshot_);
}

Looked AssessingSource::Look(const telemetry::TelemetryView& view, Instant now) {
  Looked looked;
  if (view.snapshot == nullptr) return looked;
  const fabric::HostTable hosts = fabric::FindHosts(*view.snapshot, fabric::HostPatterns());
  std::vector<Ends> ends;
  const auto visit = [&](policy::Assessor::EachLink each) {
    ends.clear();
    telemetry::VisitEvidence(view, &hosts, [&](const policy::LinkEvidence& link) {
      ends.push_back({{link.a.node, link.a.port}, {link.b.node, link.b.port}});
      each(link);
    });
  };
  const std::vector<policy::Assessment> assessed = assessor_.Assess(visit, now, Trees(view));
  Release(assessed);
  std::map<policy::LinkKey, Concluded> remembered = std::exchange(standing_, {});
  for (size_t i = 0; i < assessed.size(); ++i) {
    // What is remembered of it is added below.
    if (assessor_.report().is_blackout && remembered.contains(assessed[i].link)) continue;
    remembered.erase(assessed[i].link);
    const Examined examined{ends[i], assessed[i]};
    Concluded concluded = Conclude(ends[i].first, ends[i].second, assessed[i]);
    if (concluded.verdict == policy::VerdictName(policy::Verdict::kHealthy)) continue;
    if (concluded.is_actionable) {
      const policy::ActionDecision decision = Act(examined, view, hosts, now);
      concluded.action = policy::ActionName(decision.action);
      concluded.refused_by = decision.refused_by;
      standing_[assessed[i].link] = concluded;
    }
    looked.verdicts.push_back(std::move(concluded));
  }
  AddRemembered(std::move(remembered), looked);
  looked.findings = Findings(view);
  for (const auto& [link, host] : held_) looked.holds.push_back(host);
  return looked;
}

void AssessingSource::AddRemembered(std::map<policy::LinkKey, Concluded> remembered,
                                    Looked& looked) {
  for (auto& [link, concluded] : remembered) {
    const std::optional<policy::Standing> standing = assessor_.book().Find(link);
    if (!standing || !IsBad(*standing)) continue;
    looked.verdicts.push_back(concluded);
    standing_.emplace(link, std::move(concluded));
  }
}

policy::ActionDecision AssessingSource::Act(const Examined& examined,
                                            const telemetry::TelemetryView& view,
                                            const fabric::HostTable& hosts, Instant now) {
  const auto& [ends, of] = examined;
  if (held_.contains(of.link)) return {policy::Action::kCordon, ""};
  const policy::HeldPort port = ends.first;  // Of a host's link its own.
  const fabric::Host* host = hosts.HostOf(view.snapshot->FindIndex(port.node));
  policy::ActionFacts facts;  // Those that cordoning asks for.
  facts.is_host_link = host != nullptr;
  facts.is_blackout = assessor_.report().is_blackout;
  facts.in_effect = held_.size();
  facts.hosts = hosts.hosts().size();
  const policy::ActionDecision decision =
      policy::Decide(of.standing, of.verdict, facts, options_, breaker_);
  if (decision.action != policy::Action::kCordon) return decision;
  breaker_.Count(now, facts.hosts, options_);
  held_[of.link] = {host->name, std::string(policy::VerdictName(of.standing.verdict)),
                    fabric::PortName(NameOf(view, port.node), port.port)};
  return decision;
}

// A host is free again when the link has stayed clean: RECOVERING is not enough.
void AssessingSource::Release(std::span<const policy::Assessment> assessed) {
  for (const policy::Assessment& of : assessed) {
    const Stage stage = of.standing.stage;
    if (stage == Stage::kHealthy || stage == Stage::kSuspect) held_.erase(of.link);
  }
}

std::vector<CommonCauseFound> AssessingSource::Findings(
    const telemetry::TelemetryView& view) const {
  std::vector<CommonCauseFound> found;
  for (const auto* findings : {&assessor_.report().findings, &assessor_.families().findings()}) {
    for (const policy::CommonFinding& finding : *findings) {
      found.push_back({std::string(policy::CommonCauseName(finding.cause)), AboutOf(view, finding),
                       policy::FindingText(finding)});
    }
  }
  return found;
}

}  // namespace fabricd::sim
