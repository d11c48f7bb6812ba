// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/assessor.h"

#include <string>
#include <string_view>

#include <absl/container/flat_hash_map.h>

#include "policy/verdict/cause_search.h"

namespace fabricd::policy {

namespace {

using Roots = absl::flat_hash_map<std::pair<Guid, PortNum>, HeldPort>;  // By port that waits.

Roots RootsOf(std::span<const CongestionTree> trees) {
  Roots roots;
  for (const CongestionTree& tree : trees)
    for (const CongestionTree::Egress& victim : tree.victims)
      roots[{victim.node, victim.port}] = {tree.root.node, tree.root.port};
  return roots;
}

HeldPort RootOf(const LinkBrief& link, const Roots& roots) {
  for (const EndBrief* end : {&link.a, &link.b}) {
    const auto found = roots.find({end->port.node, end->port.port});
    if (found != roots.end()) return found->second;
  }
  return {};
}

}  // namespace

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

std::vector<Assessment> Assessor::Assess(VisitLinks visit, Instant now,
                                         std::span<const CongestionTree> trees) {
  std::vector<Assessment> all;
  std::vector<LinkBrief> links;
  visit([&](const LinkEvidence& link) {
    Assessment& each = all.emplace_back();
    each.link = LinkKey(link);
    if (link.replaced_for && *link.replaced_for < options_.clocks.observation)
      book_.OnReplaced(each.link, now - *link.replaced_for);
    each.verdict = Evaluate(link, options_.limits, book_.StrongForOf(each.link, now));
    links.push_back(BriefOf(link, each.verdict));
    // A large fabric would have 100 MB of rows that show nothing.
    if (each.verdict.raised == 0) std::vector<EvidenceRow>().swap(each.verdict.rows);
  });
  // By the verdicts as they were found: a defect of a family may look like that of its switches.
  families_.Observe(links, options_.fleet, now);
  for (LinkBrief& link : links) link.is_frozen = families_.Freezes(link);
  report_ = FindCommonCauses(links, options_.fleet, causes_.standing());
  AddCongestion(trees, links, options_.fleet, report_);
  causes_.Observe(links, options_.fleet, now, report_);
  const auto roots = RootsOf(trees);
  for (size_t i = 0; i < links.size(); ++i) {
    Assessment& each = all[i];
    Apply(report_, i, links[i], each.verdict);
    if (each.verdict.verdict == Verdict::kVictim) each.verdict.root = RootOf(links[i], roots);
    each.standing = book_.Observe(each.link, each.verdict, now);
    each.forbids_action = ForbidsAction(report_, i) || links[i].is_frozen;
  }
  return all;
}

std::vector<Assessment> Assessor::Assess(std::span<const LinkEvidence> links, Instant now) {
  return Assess(
      [&](EachLink each) {
        for (const LinkEvidence& link : links) each(link);
      },
      now);
}

}  // namespace fabricd::policy
