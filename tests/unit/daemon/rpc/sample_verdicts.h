// SPDX-License-Identifier: Apache-2.0
// Verdicts about the links of a snapshot, as the daemon would publish them.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "query/verdict_view.h"

namespace fabricd::rpc::testing {

class VerdictMaker {
 public:
  explicit VerdictMaker(std::shared_ptr<const fabric::FabricSnapshot> snapshot) {
    view.number = 1;
    view.enabled = true;
    view.at = kSince + std::chrono::minutes(5);
    view.interval = std::chrono::seconds(60);
    view.snapshot = std::move(snapshot);
    view.budget = 10;
  }
  // Of the link at `a`, in the stage that goes with the verdict; a bad one in `stage`.
  query::VerdictRecord Record(PortRef a, policy::Verdict verdict, double confidence,
                              policy::Stage stage = policy::Stage::kBad) const {
    query::VerdictRecord record;
    record.a = a;
    record.b = view.snapshot->port(a)->peer;
    record.link = policy::LinkKey(Held(record.a), Held(record.b));
    record.found.verdict = verdict;
    record.found.confidence = confidence;
    record.found.reason = "one row is fatal";
    if (verdict == policy::Verdict::kSuspect) stage = policy::Stage::kSuspect;
    if (verdict == policy::Verdict::kUnknown) stage = policy::Stage::kUnknown;
    if (verdict == policy::Verdict::kVictim) stage = policy::Stage::kHealthy;
    record.standing.stage = stage;
    record.standing.verdict = verdict;
    record.standing.since = kSince;
    record.is_reversed = record.link.a != Held(record.a);
    return record;
  }
  std::shared_ptr<const query::VerdictView> Make(std::vector<query::VerdictRecord> records) {
    std::sort(records.begin(), records.end(),
              [](const auto& one, const auto& other) { return one.link < other.link; });
    view.records = std::move(records);
    query::IndexEnds(view);
    return std::make_shared<const query::VerdictView>(view);
  }
  policy::HeldPort Held(PortRef port) const {
    return {view.snapshot->node(port.node)->guid(), port.port};
  }

  query::VerdictView view;

 private:
  static constexpr Instant kSince = Instant() + std::chrono::hours(1);
};

}  // namespace fabricd::rpc::testing
