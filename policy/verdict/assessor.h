// SPDX-License-Identifier: Apache-2.0
// Assessor: verdicts about all links of a fabric at one time, in the order in which the parts
// depend on each other: each link alone, what many have in common, then what was known before.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>

#include "common/time.h"
#include "policy/evidence.h"
#include "policy/verdict/family_watch.h"
#include "policy/verdict/fleet.h"
#include "policy/verdict/link_verdict.h"
#include "policy/verdict/thresholds.h"
#include "policy/verdict/verdict_book.h"

namespace fabricd::policy {

struct AssessorOptions {
  Limits limits;
  FleetLimits fleet;
  BookClocks clocks;
};
// Of all parts, each with the name of the part: "limits.hot: ...".
std::vector<std::string> Check(const AssessorOptions& options);

struct Assessment {
  LinkKey link;
  // Its rows only where one is raised: Evaluate() gives those of a single link again.
  LinkVerdict verdict;
  Standing standing;
  bool forbids_action = false;  // A common cause, or a family that is frozen.
};

class Assessor {
 public:
  explicit Assessor(AssessorOptions options)
      : options_(std::move(options)), book_(options_.clocks) {}

  // Calls what it is given for each link of the fabric, always in the same order.
  using EachLink = absl::FunctionRef<void(const LinkEvidence&)>;
  using VisitLinks = absl::FunctionRef<void(EachLink)>;
  // In the order of the visit. Of each link some 500 bytes are kept, and not its evidence. `trees`:
  // what waits for what, where that is searched for.
  std::vector<Assessment> Assess(VisitLinks visit, Instant now,
                                 std::span<const CongestionTree> trees = {});
  // By index of `links`, which are all links of the fabric.
  std::vector<Assessment> Assess(std::span<const LinkEvidence> links, Instant now);

  VerdictBook& book() { return book_; }
  const VerdictBook& book() const { return book_; }
  const FleetReport& report() const { return report_; }  // Of the last call.
  FamilyWatch& families() { return families_; }
  const FamilyWatch& families() const { return families_; }

 private:
  AssessorOptions options_;
  VerdictBook book_;
  FamilyWatch families_;
  CauseMemory causes_;
  FleetReport report_;
};

}  // namespace fabricd::policy
