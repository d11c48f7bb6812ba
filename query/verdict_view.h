// SPDX-License-Identifier: Apache-2.0
// VerdictView: the verdicts about all links at one time, what is done about them, and where
// congestion begins. Published once in each interval of assessment, read on any thread. Immutable.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/time.h"
#include "fabric/snapshot.h"
#include "policy/verdict/fleet.h"
#include "policy/verdict/link_verdict.h"
#include "policy/verdict/response.h"
#include "policy/verdict/verdict_book.h"
#include "telemetry/evidence/congestion.h"

namespace fabricd::query {

struct VerdictRecord {
  policy::LinkKey link;
  PortRef a, b;               // In VerdictView::snapshot. Of a host's link, `a` is the host.
  bool is_reversed = false;   // `a` is link.b.
  policy::LinkVerdict found;  // By the evidence of this time alone; rows of what is raised.
  policy::Standing standing;  // Over time. What is shown: VerdictOf().
  policy::LinkResponse response;
  // All that it was found by. Only of Backend::EvaluateLink(): a view would take 4 kB a link.
  std::shared_ptr<const policy::LinkEvidence> evidence;
  uint32_t finding = 0;  // 1 + index of the common cause that explains it; 0: none.
  PortRef root;          // Of a VICTIM: the egress where the congestion begins. May be none.
};

// Of kBad and kRecovering the verdict that stands; else HEALTHY, SUSPECT, VICTIM or UNKNOWN.
policy::Verdict VerdictOf(const VerdictRecord& record);
// Which end it is about: the one that is accused, else `a`.
PortRef AccusedEnd(const VerdictRecord& record);
// Of a verdict that stands whom it accused; else by the evidence of now.
policy::Culprit CulpritOf(const VerdictRecord& record);

struct VerdictView {
  uint64_t number = 0;   // Grows with each published view; 0: nothing has been assessed yet.
  bool enabled = false;  // The configuration wants verdicts, and telemetry polls.
  Instant at{};          // When it was assessed.
  Duration interval{};   // From one assessment to the next.
  Duration took{};       // To assess.
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;  // Null: nothing has been assessed.
  // All links that are not HEALTHY, by link. Links both of whose ends are read are assessed.
  std::vector<VerdictRecord> records;
  std::array<size_t, 8> counts{};               // Links by policy::Verdict, as shown.
  std::vector<policy::CommonFinding> findings;  // Common causes, those of device families last.
  telemetry::Congestion congestion;
  policy::Action configured = policy::Action::kRecommend;
  size_t in_effect = 0, budget = 0;  // Holds of owner "telemetry", and how many there may be.
  bool is_breaker_open = false;      // No action follows until an operator resets it.
  size_t not_kept = 0;               // Verdicts for which there was no room.

  // By either end; null: HEALTHY, or not assessed.
  const VerdictRecord* Find(PortRef end) const;
  const VerdictRecord* Find(const policy::LinkKey& link) const;

  // [slot of NodeIndex and port] would cost memory of all ports: records are few. Sorted.
  std::vector<std::pair<PortRef, uint32_t>> by_end;  // Index in `records`.
};

// Fills in VerdictView::by_end. REQUIRES: the records are complete.
void IndexEnds(VerdictView& view);

// Nothing is known. Never null.
std::shared_ptr<const VerdictView> NoVerdicts();

}  // namespace fabricd::query
