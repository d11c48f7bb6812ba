// SPDX-License-Identifier: Apache-2.0
#include "sim/verdicts/assessing_source.h"

#include <string>

#include <fmt/format.h>

#include "telemetry/evidence/evidence_maker.h"

namespace fabricd::sim {
namespace {

using policy::Stage;

bool IsBad(const policy::Standing& standing) {
  return standing.stage == Stage::kBad && policy::IsBad(standing.verdict);
}

const policy::EndEvidence& EndOf(const policy::LinkEvidence& link, policy::Side side) {
  return side == policy::Side::kB ? link.b : link.a;
}

std::string NameOf(const telemetry::TelemetryView& view, Guid guid) {
  const fabric::Node* node = view.snapshot->node(view.snapshot->FindIndex(guid));
  return node == nullptr ? fmt::format("{}", guid) : node->description;
}

std::string LinkText(const telemetry::TelemetryView& view, const policy::LinkKey& link) {
  return fmt::format("{}/{} - {}/{}", NameOf(view, link.a.node), link.a.port,
                     NameOf(view, link.b.node), link.b.port);
}

std::string AboutOf(const telemetry::TelemetryView& view, const policy::CommonFinding& finding) {
  if (finding.cause == policy::CommonCause::kFamily) {
    return fmt::format("0x{:06x}/{} 0x{:x}", finding.family.vendor_id, finding.family.device_id,
                       finding.family.revision);
  }
  if (finding.cause == policy::CommonCause::kPropagation) return LinkText(view, finding.root);
  return finding.node == Guid() ? "" : NameOf(view, finding.node);
}

}  // namespace

Looked AssessingSource::Look(const telemetry::TelemetryView& view, Instant now) {
  Looked looked;
  if (view.snapshot == nullptr) return looked;
  const fabric::HostTable hosts = fabric::FindHosts(*view.snapshot, fabric::HostPatterns());
  const std::vector<policy::LinkEvidence> links = telemetry::MakeEvidence(view, &hosts);
  const std::vector<policy::Assessment> assessed = assessor_.Assess(links, now);
  Release(assessed);
  for (size_t i = 0; i < links.size(); ++i) {
    const Examined examined{links[i], assessed[i]};
    Concluded concluded = Conclude(examined);
    if (concluded.verdict == policy::VerdictName(policy::Verdict::kHealthy)) continue;
    if (concluded.is_actionable) {
      const policy::ActionDecision decision = Act(examined, view, hosts, now);
      concluded.action = policy::ActionName(decision.action);
      concluded.refused_by = decision.refused_by;
    }
    looked.verdicts.push_back(std::move(concluded));
  }
  looked.findings = Findings(view);
  for (const auto& [link, host] : held_) looked.holds.push_back(host);
  return looked;
}

Concluded AssessingSource::Conclude(const Examined& examined) {
  const auto& [link, of] = examined;
  policy::Attribution attribution = of.verdict.attribution;
  policy::Verdict verdict = of.verdict.verdict;
  const bool is_bad = IsBad(of.standing);
  if (is_bad) {
    if (policy::IsBad(verdict)) accused_[of.link] = attribution;
    if (const auto found = accused_.find(of.link); found != accused_.end()) {
      attribution = found->second;
    }
    verdict = of.standing.verdict;
  } else {
    accused_.erase(of.link);
  }
  const policy::EndEvidence& end = EndOf(link, attribution.side);
  return {end.node, end.port, std::string(policy::VerdictName(verdict)),
          std::string(policy::CulpritName(attribution.culprit)), is_bad && !of.forbids_action};
}

policy::ActionDecision AssessingSource::Act(const Examined& examined,
                                            const telemetry::TelemetryView& view,
                                            const fabric::HostTable& hosts, Instant now) {
  const auto& [link, of] = examined;
  if (held_.contains(of.link)) return {policy::Action::kCordon, ""};
  policy::ActionFacts facts;  // Those that cordoning asks for.
  facts.is_host_link = link.a.role == policy::EndRole::kHost;
  facts.is_blackout = assessor_.report().is_blackout;
  facts.in_effect = held_.size();
  facts.hosts = hosts.hosts().size();
  const policy::ActionDecision decision =
      policy::Decide(of.standing, of.verdict, facts, options_, breaker_);
  if (decision.action != policy::Action::kCordon) return decision;
  const fabric::Host* host = hosts.HostOf(view.snapshot->FindIndex(link.a.node));
  if (host == nullptr) return {policy::Action::kRecommend, "no host"};
  breaker_.Count(now, facts.hosts, options_);
  held_[of.link] = {host->name, std::string(policy::VerdictName(of.standing.verdict)),
                    fmt::format("{}/{}", NameOf(view, link.a.node), link.a.port)};
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
