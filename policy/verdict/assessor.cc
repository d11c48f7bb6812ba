// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/assessor.h"

#include <string>
#include <string_view>

namespace fabricd::policy {

std::vector<std::string> Check(const AssessorOptions& options) {
  std::vector<std::string> faults;
  const auto add = [&](std::string_view part, const std::vector<std::string>& found) {
    for (const std::string& fault : found) faults.push_back(std::string(part) + "." + fault);
  };
  add("limits", Check(options.limits));
  add("fleet", Check(options.fleet));
  add("clocks", Check(options.clocks));
  return faults;
}

std::vector<Assessment> Assessor::Assess(std::span<const LinkEvidence> links, Instant now) {
  std::vector<Assessment> all(links.size());
  std::vector<LinkAssessment> pairs(links.size());
  for (size_t i = 0; i < links.size(); ++i) {
    all[i].link = LinkKey(links[i]);
    all[i].verdict = Evaluate(links[i], options_.limits, book_.StrongForOf(all[i].link, now));
    // A large fabric would have 100 MB of rows that show nothing.
    if (all[i].verdict.raised == 0) std::vector<EvidenceRow>().swap(all[i].verdict.rows);
    pairs[i] = {&links[i], &all[i].verdict};
  }
  report_ = FindCommonCauses(pairs, options_.fleet);
  // By the verdicts as they were found: a defect of a family may look like that of its switches.
  families_.Observe(pairs, options_.fleet, now);
  for (size_t i = 0; i < links.size(); ++i) {
    Apply(report_, i, links[i], all[i].verdict);
    all[i].standing = book_.Observe(all[i].link, all[i].verdict, now);
    all[i].forbids_action = ForbidsAction(report_, i) || families_.IsFrozen(links[i].a.family) ||
                            families_.IsFrozen(links[i].b.family);
  }
  return all;
}

}  // namespace fabricd::policy
