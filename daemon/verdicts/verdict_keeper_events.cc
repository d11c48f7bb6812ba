// SPDX-License-Identifier: Apache-2.0
// The events that a new set of verdicts makes.
#include <fmt/format.h>

#include "daemon/verdicts/verdict_keeper.h"
#include "fabric/port_name.h"
#include "policy/verdict/why_text.h"

namespace fabricd::daemon {

using policy::Stage;
using policy::Verdict;
using query::VerdictRecord;
using query::VerdictView;

namespace {

bool IsShown(Verdict verdict) { return verdict == Verdict::kSuspect || policy::IsBad(verdict); }

}  // namespace

std::string VerdictKeeper::NameOf(PortRef port, const fabric::FabricSnapshot& snapshot) const {
  const fabric::Node* node = port.IsNone() ? nullptr : snapshot.node(port.node);
  return node == nullptr ? "a port that is gone" : fabric::PortName(*node, port.port, &names_);
}

fabric::FabricEvent VerdictKeeper::EventOf(const char* type, const VerdictRecord& record,
                                           const fabric::FabricSnapshot& snapshot,
                                           Instant now) const {
  const std::string a = NameOf(record.a, snapshot), b = NameOf(record.b, snapshot);
  const Verdict verdict = query::VerdictOf(record);
  fabric::FabricEvent event;
  event.type = type;
  event.severity = policy::IsBad(verdict) ? fabric::Severity::kWarning : fabric::Severity::kInfo;
  event.subject = fabric::LinkName(a, b);
  const policy::HeldPort& first = record.is_reversed ? record.link.b : record.link.a;
  const policy::HeldPort& other = record.is_reversed ? record.link.a : record.link.b;
  event.node = first.node;
  event.port = first.port;
  event.peer = other.node;
  event.peer_port = other.port;
  event.message = policy::VerdictSentence(record.found, {a, b});
  event.facts = {{"verdict", std::string(policy::VerdictName(verdict))},
                 {"stage", std::string(policy::StageName(record.standing.stage))},
                 {"culprit", std::string(policy::CulpritName(query::CulpritOf(record)))},
                 {"confidence", fmt::format("{:.2f}", record.found.confidence)},
                 {"action", std::string(policy::ActionName(record.response.action))},
                 {"held_back", record.response.held_back},
                 {"hold", record.response.hold != 0 ? std::to_string(record.response.hold) : ""},
                 {"reason", std::string(record.found.reason)}};
  event.at = now;
  return event;
}

void VerdictKeeper::EmitLinkEvents(const VerdictView& view, VerdictEffects& effects,
                                   Instant now) const {
  size_t shown = 0, more = 0;
  const auto tell = [&](const VerdictRecord& record, Verdict before) {
    if (++shown > kMostEvents) {
      ++more;
      return;
    }
    fabric::FabricEvent event = EventOf("VerdictChanged", record, *view.snapshot, now);
    event.facts.emplace_back("before", std::string(policy::VerdictName(before)));
    const Verdict is = query::VerdictOf(record);
    if (is == Verdict::kHealthy)
      event.message = fmt::format("HEALTHY again, was {}", policy::VerdictName(before));
    else
      event.message = fmt::format("{}{}: {}", policy::VerdictName(is),
                                  record.standing.stage == Stage::kRecovering ? ", RECOVERING" : "",
                                  event.message);
    effects.events.push_back(std::move(event));
  };
  for (const VerdictRecord& record : view.records) {
    const VerdictRecord* before = view_->Find(record.link);
    const Verdict was = before ? query::VerdictOf(*before) : Verdict::kHealthy;
    const Verdict is = query::VerdictOf(record);
    const bool moved = was != is || (before && before->standing.stage != record.standing.stage);
    if (moved && (IsShown(was) || IsShown(is))) tell(record, was);
  }
  for (const VerdictRecord& record : view_->records) {
    const Verdict was = query::VerdictOf(record);
    if (!IsShown(was) || view.Find(record.link) != nullptr) continue;
    VerdictRecord now_healthy = record;
    now_healthy.standing = {};
    now_healthy.found = {};
    now_healthy.found.verdict = Verdict::kHealthy;
    now_healthy.found.reason = "no row is raised";
    tell(now_healthy, was);
  }
  if (more == 0) return;
  fabric::FabricEvent event;
  event.type = "VerdictChanged";
  event.severity = fabric::Severity::kWarning;
  event.subject = "subnet";
  event.message = fmt::format("verdicts about {} more links changed", more);
  event.at = now;
  effects.events.push_back(std::move(event));
}

std::string VerdictKeeper::CauseText(const policy::CommonFinding& finding,
                                     const fabric::FabricSnapshot& snapshot) const {
  const fabric::Node* node = snapshot.FindNode(finding.node);
  const std::string text = policy::FindingText(finding);
  return node == nullptr ? text : fmt::format("{} ({})", text, fabric::DisplayName(*node, &names_));
}

void VerdictKeeper::EmitCauseEvents(const VerdictView& view, VerdictEffects& effects,
                                    Instant now) const {
  const auto is_same = [](const policy::CommonFinding& x, const policy::CommonFinding& y) {
    return x.cause == y.cause && x.node == y.node && x.root == y.root && x.family == y.family;
  };
  const auto tell = [&](const std::vector<policy::CommonFinding>& of,
                        const std::vector<policy::CommonFinding>& not_in, const char* type) {
    for (const policy::CommonFinding& finding : of) {
      const bool is_known = std::any_of(not_in.begin(), not_in.end(),
                                        [&](const auto& other) { return is_same(finding, other); });
      if (is_known || effects.events.size() >= 2 * kMostEvents) continue;
      fabric::FabricEvent event;
      event.type = type;
      event.severity = std::string_view(type) == "CommonCauseFound" ? fabric::Severity::kWarning
                                                                    : fabric::Severity::kInfo;
      event.node = finding.node;
      const fabric::Node* node = view.snapshot->FindNode(finding.node);
      event.subject = node ? fabric::DisplayName(*node, &names_) : "subnet";
      event.message = CauseText(finding, *view.snapshot);
      event.facts = {{"cause", std::string(policy::CommonCauseName(finding.cause))},
                     {"affected", std::to_string(finding.affected)},
                     {"of", std::to_string(finding.of)}};
      event.at = now;
      effects.events.push_back(std::move(event));
    }
  };
  tell(view.findings, view_->findings, "CommonCauseFound");
  tell(view_->findings, view.findings, "CommonCauseEnded");
}

}  // namespace fabricd::daemon
