// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/verdict_series.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "daemon/http/port_rows.h"
#include "daemon/http/verdict_names.h"

namespace fabricd::http {
namespace {

using query::VerdictRecord;
using query::VerdictView;
using telemetry::CongestionKind;

constexpr int kForgottenIntervals = 10;

// Labels of ports. Series of one port join on guid and port, as all others do.
class PortLabels {
 public:
  PortLabels(const fabric::FabricSnapshot& snapshot, const fabric::NodeNameMap& names)
      : snapshot_(snapshot), names_(names) {}

  // guid="0x…",port="1"; REQUIRES: the port is in the snapshot.
  std::string Key(PortRef port) const {
    return std::string(PortRow(*snapshot_.node(port.node), port.port).labels());
  }
  // And its name, and the peer's: without `peer` (or one that has left) these are empty.
  std::string Full(PortRef port, PortRef peer) const {
    const fabric::Node* other = peer.IsNone() ? nullptr : snapshot_.node(peer.node);
    return fmt::format("{},{},{},peer_port=\"{}\"", Key(port),
                       Name("node", snapshot_.node(port.node)), Name("peer", other),
                       other == nullptr ? "" : fmt::format("{}", peer.port));
  }
  bool Has(PortRef port) const { return !port.IsNone() && snapshot_.port(port) != nullptr; }

 private:
  std::string Name(const char* label, const fabric::Node* node) const {
    return Label(label, node == nullptr ? "" : fabric::DisplayName(*node, &names_));
  }
  const fabric::FabricSnapshot& snapshot_;
  const fabric::NodeNameMap& names_;
};

// Those that something may have to be done about, the bad ones first.
std::vector<const VerdictRecord*> Listed(const VerdictView& view, const PortLabels& labels) {
  std::vector<const VerdictRecord*> listed, suspects;
  for (const VerdictRecord& record : view.records) {
    const policy::Verdict verdict = VerdictOf(record);
    if (!labels.Has(record.a) || !labels.Has(record.b)) continue;
    if (policy::IsBad(verdict)) listed.push_back(&record);
    if (verdict == policy::Verdict::kSuspect) suspects.push_back(&record);
  }
  listed.insert(listed.end(), suspects.begin(), suspects.end());
  return listed;
}

void WriteLinks(const VerdictView& view, const PortLabels& labels, SeriesText& out) {
  std::vector<const VerdictRecord*> listed = Listed(view, labels);
  out.Begin("fabricd_link_verdicts_omitted",
            "Links with a verdict for which there is no series of their own.");
  out.Add("", uint64_t{listed.size() - std::min(listed.size(), kMostLinkVerdicts)});
  listed.resize(std::min(listed.size(), kMostLinkVerdicts));
  out.Begin("fabricd_link_verdict", "1 for each link that is bad or suspect, by the accused end.");
  for (const VerdictRecord* record : listed) {
    const PortRef end = AccusedEnd(*record);
    out.Add(fmt::format("{},verdict=\"{}\",stage=\"{}\",culprit=\"{}\"",
                        labels.Full(end, end == record->a ? record->b : record->a),
                        VerdictName(VerdictOf(*record)), StageName(record->standing.stage),
                        CulpritName(query::CulpritOf(*record))),
            uint64_t{1});
  }
  out.Begin("fabricd_link_verdict_confidence", "How certain that is, 0 to 1.");
  for (const VerdictRecord* record : listed)
    out.Add(labels.Key(AccusedEnd(*record)), record->found.confidence);
  out.Begin("fabricd_link_verdict_needs_operator",
            "1: clean again, but released too often to be released without an operator.");
  for (const VerdictRecord* record : listed)
    if (record->standing.needs_operator) out.Add(labels.Key(AccusedEnd(*record)), uint64_t{1});
}

void WriteCauses(const VerdictView& view, const fabric::NodeNameMap& names, SeriesText& out) {
  std::map<policy::CommonCause, uint64_t> counts;
  for (int i = 0; i <= static_cast<int>(policy::CommonCause::kCongestion); ++i)
    counts[static_cast<policy::CommonCause>(i)] = 0;
  // Two findings about one thing are one series.
  std::map<std::string, uint64_t> affected;
  for (const policy::CommonFinding& finding : view.findings) {
    if (finding.is_over) continue;
    ++counts[finding.cause];
    uint64_t& most =
        affected[fmt::format("cause=\"{}\",{}", CommonCauseName(finding.cause),
                             Label("subject", SubjectOf(finding, *view.snapshot, names)))];
    most = std::max(most, uint64_t{finding.affected});
  }
  out.Begin("fabricd_verdict_common_causes", "What many links have in common, by cause.");
  for (const auto& [cause, count] : counts)
    out.Add(fmt::format("cause=\"{}\"", CommonCauseName(cause)), count);
  out.Begin("fabricd_verdict_common_cause_links",
            "Links, or ports of a family, that one common cause explains.");
  size_t written = 0;
  for (const auto& [label, links] : affected)
    if (++written <= kMostCauseSeries) out.Add(label, links);
}

void WriteActions(const VerdictView& view, SeriesText& out) {
  out.Begin("fabricd_verdict_action", "1 for the action that is configured, else 0.");
  for (const auto action : {policy::Action::kNone, policy::Action::kRecommend,
                            policy::Action::kCordon, policy::Action::kIsolate})
    out.Add(fmt::format("action=\"{}\"", ActionName(action)), uint64_t{view.configured == action});
  out.Begin("fabricd_verdict_holds", "Holds that follow from verdicts.");
  out.Add("", uint64_t{view.in_effect});
  out.Begin("fabricd_verdict_hold_budget", "How many of them there may be.");
  out.Add("", uint64_t{view.budget});
  out.Begin("fabricd_verdict_breaker_open", "1: no action follows until an operator resets it.");
  out.Add("", uint64_t{view.is_breaker_open});
}

void WriteCongestion(const telemetry::Congestion& congestion, const PortLabels& labels,
                     const fabric::FabricSnapshot& snapshot, SeriesText& out) {
  std::map<CongestionKind, uint64_t> kinds = {{CongestionKind::kNone, 0},
                                              {CongestionKind::kSlowReceiver, 0},
                                              {CongestionKind::kIncast, 0},
                                              {CongestionKind::kHotLink, 0}};
  uint64_t victims = 0;
  std::vector<const telemetry::CongestionRoot*> listed;
  for (const telemetry::CongestionRoot& root : congestion.roots) {
    ++kinds[root.kind];
    victims += root.victims.size();
    if (labels.Has(root.port)) listed.push_back(&root);
  }
  std::stable_sort(listed.begin(), listed.end(), [](const auto* one, const auto* other) {
    return one->victims.size() > other->victims.size();
  });
  listed.resize(std::min(listed.size(), kMostRootSeries));
  out.Begin("fabricd_congestion_roots", "Ports where congestion begins, by kind.");
  for (const auto& [kind, count] : kinds)
    out.Add(fmt::format("kind=\"{}\"", telemetry::CongestionKindName(kind)), count);
  out.Begin("fabricd_congestion_victims", "Ports that wait because of one of them.");
  out.Add("", victims);
  out.Begin("fabricd_congestion_root_victims", "The same by the port where it begins.");
  for (const telemetry::CongestionRoot* root : listed) {
    out.Add(fmt::format("{},kind=\"{}\"", labels.Full(root->port, snapshot.port(root->port)->peer),
                        telemetry::CongestionKindName(root->kind)),
            uint64_t{root->victims.size()});
  }
}

}  // namespace

void WriteVerdicts(const VerdictView& view, const fabric::NodeNameMap& names, Instant now,
                   SeriesText& out) {
  out.Begin("fabricd_verdicts_enabled",
            "1: links are assessed, as the configuration wants it and telemetry polls; else 0.");
  out.Add("", uint64_t{view.enabled});
  if (!view.enabled || view.snapshot == nullptr) return;
  out.Begin("fabricd_verdict_assessment_age_seconds", "Since links were assessed.");
  out.Add("", now - view.at);
  out.Begin("fabricd_verdict_interval_seconds", "From one assessment to the next.");
  out.Add("", view.interval);
  if (now - view.at > kForgottenIntervals * view.interval) return;
  out.Begin("fabricd_verdict_assessment_seconds", "What the last assessment took.");
  out.Add("", view.took);
  out.Begin("fabricd_verdict_links", "Links by verdict. A sum of them is all that are assessed.");
  for (size_t i = 0; i < view.counts.size(); ++i)
    out.Add(fmt::format("verdict=\"{}\"", VerdictName(static_cast<policy::Verdict>(i))),
            uint64_t{view.counts[i]});
  out.Begin("fabricd_verdicts_not_kept", "Verdicts that are not remembered: there are too many.");
  out.Add("", uint64_t{view.not_kept});
  const PortLabels labels(*view.snapshot, names);
  WriteLinks(view, labels, out);
  WriteCauses(view, names, out);
  WriteActions(view, out);
  WriteCongestion(view.congestion, labels, *view.snapshot, out);
}

}  // namespace fabricd::http
