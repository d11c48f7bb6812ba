// SPDX-License-Identifier: Apache-2.0
// What would have been concluded of the small fabric: the link of node1 mlx5_0 is noisy, that of
// node2 suspect, and leaf1/3 waits for spine/2, behind which leaf2 does.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "tests/unit/daemon/rpc/small_fabric.h"

namespace fabricd::http::sample {

class VerdictMaker {
 public:
  explicit VerdictMaker(std::shared_ptr<const fabric::FabricSnapshot> snapshot) {
    view.number = 1;
    view.enabled = true;
    view.at = Instant{} + std::chrono::hours(2);
    view.interval = std::chrono::seconds(60);
    view.took = std::chrono::milliseconds(5);
    view.snapshot = std::move(snapshot);
  }

  // Of a link that is in this stage, by its host's end.
  query::VerdictRecord& Add(PortRef a, policy::Stage stage, policy::Verdict verdict) {
    const PortRef b = view.snapshot->port(a)->peer;
    query::VerdictRecord& record = view.records.emplace_back();
    record.a = a;
    record.b = b;
    record.link = {policy::HeldPort{view.snapshot->node(a.node)->guid(), a.port},
                   policy::HeldPort{view.snapshot->node(b.node)->guid(), b.port}};
    record.found.verdict = verdict;
    record.standing.stage = stage;
    record.standing.verdict = verdict;
    record.standing.since = view.at - std::chrono::minutes(5);
    ++view.counts[static_cast<size_t>(VerdictOf(record))];
    return record;
  }

  std::shared_ptr<const query::VerdictView> Make() {
    auto made = std::make_shared<query::VerdictView>(view);
    std::sort(made->records.begin(), made->records.end(),
              [](const auto& one, const auto& other) { return one.link < other.link; });
    for (uint32_t i = 0; i < made->records.size(); ++i)
      for (const PortRef end : {made->records[i].a, made->records[i].b})
        made->by_end.emplace_back(end, i);
    std::sort(made->by_end.begin(), made->by_end.end());
    return made;
  }

  query::VerdictView view;
};

inline VerdictMaker SampleVerdicts(const rpc::testing::SmallFabric& fabric,
                                   std::shared_ptr<const fabric::FabricSnapshot> snapshot) {
  VerdictMaker maker(std::move(snapshot));
  maker.view.counts[static_cast<size_t>(policy::Verdict::kHealthy)] = 3;
  query::VerdictRecord& noisy =
      maker.Add({fabric.node1_0, PortNum(1)}, policy::Stage::kBad, policy::Verdict::kNoisyPhy);
  noisy.found.attribution = {policy::Culprit::kTransmitter, policy::Side::kB,
                             "errors where the host receives", "reseat the cable"};
  noisy.standing.accusation = {policy::Culprit::kTransmitter, noisy.link.b, "", "reseat the cable"};
  noisy.found.confidence = 0.75;
  noisy.found.reason = "two rows are strong";
  noisy.response.recommended = policy::HoldKind::kCordon;
  noisy.response.action = policy::Action::kRecommend;
  noisy.response.held_back = "budget";
  query::VerdictRecord& suspect =
      maker.Add({fabric.node2, PortNum(1)}, policy::Stage::kSuspect, policy::Verdict::kSuspect);
  suspect.found.attribution = {policy::Culprit::kCable, policy::Side::kLink, "", ""};
  suspect.found.confidence = 0.5;
  telemetry::CongestionRoot root;
  root.port = {fabric.spine, PortNum(2)};
  root.kind = telemetry::CongestionKind::kHotLink;
  root.wait = {0.01, 0.97};
  root.victims = {{{fabric.leaf1, PortNum(3)}, {0.4, 0.6}, root.port, 1}};
  maker.view.congestion.roots = {root};
  policy::CommonFinding finding;
  finding.cause = policy::CommonCause::kSwitch;
  finding.node = rpc::testing::kLeaf2;
  finding.affected = 3;
  finding.of = 4;
  maker.view.findings = {finding};
  maker.view.in_effect = 2;
  maker.view.budget = 10;
  return maker;
}

}  // namespace fabricd::http::sample
