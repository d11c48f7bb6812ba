// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/fleet.h"

#include <algorithm>

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

namespace fabricd::policy {

std::vector<std::string> Check(const FleetLimits& limits) {
  std::vector<std::string> faults;
  for (const auto& [name, share] : {std::pair("switch_share", limits.switch_share),
                                    {"restart_share", limits.restart_share},
                                    {"blackout_share", limits.blackout_share},
                                    {"family_share", limits.family_share},
                                    {"congestion_share", limits.congestion_share}})
    if (!(share > 0 && share <= 1))
      faults.push_back(fmt::format("{}: {} is not in (0, 1]", name, share));
  if (!(limits.switch_excess >= 1)) faults.push_back("switch_excess: below 1 nothing stands out");
  if (limits.min_family < 2) faults.push_back("min_family: fewer than 2 have nothing in common");
  if (limits.remembered < Duration::zero()) faults.push_back("remembered: negative");
  if (limits.min_links < 2) faults.push_back("min_links: fewer than 2 have nothing in common");
  return faults;
}

std::string_view CommonCauseName(CommonCause cause) {
  switch (cause) {
    case CommonCause::kBlackout: return "BLACKOUT";
    case CommonCause::kSwitchRestart: return "SWITCH_RESTART";
    case CommonCause::kSwitch: return "SWITCH";
    case CommonCause::kUnresponsiveLeaf: return "UNRESPONSIVE_LEAF";
    case CommonCause::kHca: return "HCA";
    case CommonCause::kPropagation: return "PROPAGATION";
    case CommonCause::kFamily: return "FAMILY";
    case CommonCause::kCongestion: return "CONGESTION";
  }
  return "?";
}

namespace {

// With the GUID of its node: names are given where it is shown.
std::string TextOfEnd(const HeldPort& end) {
  return fabric::PortName(fmt::format("{}", end.node), end.port);
}

}  // namespace

std::string FindingText(const CommonFinding& finding) {
  const auto& [cause, node, root, family, affected, of, since, is_over] = finding;
  switch (cause) {
    case CommonCause::kBlackout:
      return fmt::format("counters of {} of {} links are stale: nothing is known of any", affected,
                         of);
    case CommonCause::kSwitchRestart:
      return fmt::format("{} of {} links of switch {} changed at once", affected, of, node);
    case CommonCause::kSwitch:
      return fmt::format("errors on {} of {} host links of switch {}", affected, of, node);
    case CommonCause::kUnresponsiveLeaf:
      return fmt::format("{} of {} hosts behind switch {} do not respond: its routes first",
                         affected, of, node);
    case CommonCause::kHca: return fmt::format("errors on all {} links of HCA {}", affected, node);
    case CommonCause::kPropagation:
      return fmt::format("errors on {} links come from upstream, from link {} - {}", affected,
                         TextOfEnd(root.a), TextOfEnd(root.b));
    case CommonCause::kFamily:
      return fmt::format(
          "{} of {} ports of device 0x{:06x}/{} revision 0x{:x} crossed a limit "
          "within a day: no action against them",
          affected, of, family.vendor_id, family.device_id, family.revision);
    case CommonCause::kCongestion:
      return root.b == HeldPort()
                 ? fmt::format("{} of {} links wait for credits: more is sent than they carry",
                               affected, of)
                 : fmt::format("{} of {} links wait for credits of the host at {}", affected, of,
                               TextOfEnd(root.a));
  }
  return "?";
}

bool ForbidsAction(const FleetReport& report, size_t index) {
  if (index >= report.explained_by.size() || report.explained_by[index] == 0) return false;
  return report.findings[report.explained_by[index] - 1].cause != CommonCause::kHca;
}

void Apply(const FleetReport& report, size_t index, const LinkBrief& link, LinkVerdict& verdict) {
  if (index >= report.explained_by.size() || report.explained_by[index] == 0) return;
  const CommonFinding& finding = report.findings[report.explained_by[index] - 1];
  if (finding.is_over) return;
  const Side host = link.b.role == EndRole::kHost ? Side::kB : Side::kA;
  switch (finding.cause) {
    case CommonCause::kBlackout:
      verdict.verdict = Verdict::kUnknown;
      verdict.attribution = {};
      verdict.confidence = 0;
      verdict.reason = "telemetry black-out";
      break;
    case CommonCause::kSwitchRestart: verdict.is_suspended = true; break;
    case CommonCause::kSwitch:
    case CommonCause::kUnresponsiveLeaf:
      if (verdict.verdict == Verdict::kNoisyPhy) verdict.verdict = Verdict::kSuspect;
      verdict.confidence = std::min(verdict.confidence, 0.5);
      verdict.reason = "many hosts of the switch show the same";
      verdict.attribution = {Culprit::kSwitch, Opposite(host), verdict.reason,
                             "the switch: its power, temperature, firmware and routes"};
      break;
    case CommonCause::kHca:
      verdict.attribution = {Culprit::kHost, host, "all ports of the HCA show errors",
                             "the HCA: PCIe, temperature, firmware"};
      break;
    case CommonCause::kPropagation:
      if (verdict.raised == 0) break;  // It was not accused.
      verdict.verdict = Verdict::kVictim;
      verdict.attribution = {};
      verdict.confidence = std::min(verdict.confidence, 0.6);
      verdict.reason = "its errors come from a link upstream";
      break;
    case CommonCause::kFamily:
    case CommonCause::kCongestion: break;
  }
  verdict.accusation = Accuse(verdict.attribution, link.a.port, link.b.port);
}

void CauseMemory::Observe(std::span<const LinkBrief> links, const FleetLimits& limits, Instant now,
                          FleetReport& report) {
  const auto find = [&](const CommonFinding& finding) {
    return std::find_if(known_.begin(), known_.end(),
                        [&](const Known& each) { return each.finding.IsSame(finding); });
  };
  standing_.clear();
  for (CommonFinding& finding : report.findings) {
    auto known = find(finding);
    finding.since = known != known_.end() ? known->finding.since : now;
    if (known == known_.end()) known = known_.insert(known_.end(), Known());
    known->finding = finding;
    known->seen = now;
    standing_.push_back(finding);
  }
  absl::flat_hash_set<LinkKey> frozen;
  for (const LinkBrief& link : links)
    if (link.is_frozen) frozen.insert(link.Key());
  std::erase_if(known_, [&](const Known& each) {
    if (each.seen == now) return false;
    const bool is_of_family =
        each.finding.cause == CommonCause::kSwitch &&
        std::ranges::any_of(each.links, [&](const LinkKey& link) { return frozen.contains(link); });
    return is_of_family || now - each.seen > limits.remembered;
  });
  for (size_t i = 0; i < links.size() && !report.is_blackout; ++i) {
    if (report.explained_by[i] == 0) continue;
    find(report.findings[report.explained_by[i] - 1])->links.insert(links[i].Key());
  }
  for (const Known& each : known_) {
    if (each.seen == now || report.is_blackout) continue;
    report.findings.push_back(each.finding);
    report.findings.back().is_over = true;
    const auto number = static_cast<uint32_t>(report.findings.size());
    for (size_t i = 0; i < links.size(); ++i)
      if (report.explained_by[i] == 0 && each.links.contains(links[i].Key()))
        report.explained_by[i] = number;
  }
}

}  // namespace fabricd::policy
