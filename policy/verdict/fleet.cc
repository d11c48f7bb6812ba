// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/fleet.h"

#include <algorithm>

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include "policy/verdict/stored_time.h"

namespace fabricd::policy {
namespace {

constexpr int kMaxDepth = 6;  // Of a search upstream: more hops than a fat tree of 3 tiers has.

RowMask MaskFor(Row row, Side side) {
  EvidenceRow wanted;
  wanted.row = row;
  wanted.side = side;
  return MaskOf(wanted);
}

RowMask ReceiveErrors() {
  RowMask mask = 0;
  for (const Row row : {Row::kSymbolBer, Row::kEffectiveBer, Row::kUncorrectable,
                        Row::kLocalPhysical, Row::kLinkIntegrity})
    mask |= MaskFor(row, Side::kA) | MaskFor(row, Side::kB);
  return mask;
}

bool IsMany(size_t affected, size_t of, double share, size_t least) {
  return affected >= least && static_cast<double>(affected) >= share * static_cast<double>(of);
}

bool IsSwitch(const EndEvidence& end) {
  return end.role == EndRole::kLeaf || end.role == EndRole::kTrunk;
}

bool IsHostLink(const LinkEvidence& link) {
  return link.a.role == EndRole::kHost && link.b.role == EndRole::kLeaf;
}

// One search for each cause; the first that explains a link keeps it.
class CauseSearch {
 public:
  CauseSearch(std::span<const LinkAssessment> links, const FleetLimits& limits)
      : links_(links), limits_(limits) {
    report_.explained_by.assign(links.size(), 0);
  }
  FleetReport Run() {
    FindBlackout();
    if (report_.is_blackout) return std::move(report_);
    FindRestarts();
    FindPropagation();
    FindLeaves(CommonCause::kSwitch, ReceiveErrors());
    FindLeaves(CommonCause::kUnresponsiveLeaf, MaskFor(Row::kTimeouts, Side::kA));
    FindHcas();
    return std::move(report_);
  }

 private:
  struct Group {
    std::vector<size_t> affected;
    size_t of = 0;
  };
  // Ordered, so that the same links give the same report.
  using Groups = std::map<Guid, Group>;

  void FindBlackout();
  void FindRestarts();
  void FindLeaves(CommonCause cause, RowMask rows);
  void FindHcas();
  void FindPropagation();
  std::optional<size_t> RootOf(size_t link, Side receiver) const;
  void Add(CommonFinding finding, const std::vector<size_t>& affected);
  bool IsFree(size_t index) const { return report_.explained_by[index] == 0; }

  std::span<const LinkAssessment> links_;
  const FleetLimits& limits_;
  FleetReport report_;
  absl::flat_hash_map<Guid, std::vector<std::pair<size_t, Side>>> receivers_;  // By switch.
};

void CauseSearch::Add(CommonFinding finding, const std::vector<size_t>& affected) {
  finding.affected = affected.size();
  report_.findings.push_back(finding);
  const auto number = static_cast<uint32_t>(report_.findings.size());
  for (const size_t index : affected)
    if (IsFree(index)) report_.explained_by[index] = number;
}

void CauseSearch::FindBlackout() {
  size_t stale = 0, up = 0;
  for (const auto& [link, verdict] : links_) {
    if (!link->is_up) continue;
    ++up;
    stale += !link->a.is_fresh || !link->b.is_fresh;
  }
  if (!IsMany(stale, up, limits_.blackout_share, limits_.min_links)) return;
  report_.is_blackout = true;
  report_.findings.push_back({.cause = CommonCause::kBlackout, .affected = stale, .of = up});
  report_.explained_by.assign(links_.size(), 1);
}

// The switch with the largest share is the one that restarted: its neighbours lost a link each.
void CauseSearch::FindRestarts() {
  Groups groups;
  for (size_t i = 0; i < links_.size(); ++i) {
    const LinkEvidence& link = *links_[i].evidence;
    for (const EndEvidence* end : {&link.a, &link.b}) {
      if (!IsSwitch(*end)) continue;
      Group& group = groups[end->node];
      ++group.of;
      if (link.is_with_its_switch) group.affected.push_back(i);
    }
  }
  std::erase_if(groups, [](const auto& group) { return group.second.affected.empty(); });
  std::vector<std::pair<double, Guid>> by_share;
  for (const auto& [node, group] : groups)
    by_share.emplace_back(
        -static_cast<double>(group.affected.size()) / static_cast<double>(group.of), node);
  std::sort(by_share.begin(), by_share.end());
  for (const auto& [share, node] : by_share) {
    Group& group = groups[node];
    std::erase_if(group.affected, [&](size_t index) { return !IsFree(index); });
    if (IsMany(group.affected.size(), group.of, limits_.restart_share, 1))
      Add({.cause = CommonCause::kSwitchRestart, .node = node, .of = group.of}, group.affected);
  }
}

void CauseSearch::FindLeaves(CommonCause cause, RowMask rows) {
  Groups groups;
  for (size_t i = 0; i < links_.size(); ++i) {
    if (!IsHostLink(*links_[i].evidence)) continue;
    Group& group = groups[links_[i].evidence->b.node];
    ++group.of;
    if (IsFree(i) && (links_[i].verdict->raised & rows) != 0) group.affected.push_back(i);
  }
  for (const auto& [node, group] : groups)
    if (IsMany(group.affected.size(), group.of, limits_.switch_share, limits_.min_links))
      Add({.cause = cause, .node = node, .of = group.of}, group.affected);
}

void CauseSearch::FindHcas() {
  Groups groups;
  for (size_t i = 0; i < links_.size(); ++i) {
    if (links_[i].evidence->a.role != EndRole::kHost) continue;
    Group& group = groups[links_[i].evidence->a.node];
    ++group.of;
    if (IsFree(i) && (links_[i].verdict->raised & ReceiveErrors()) != 0)
      group.affected.push_back(i);
  }
  for (const auto& [node, group] : groups)
    if (group.of >= 2 && group.affected.size() == group.of)
      Add({.cause = CommonCause::kHca, .node = node, .of = group.of}, group.affected);
}

// Errors of an end within 720 s: made here, and marked as bad upstream (EBP).
struct Errors {
  uint64_t local = 0, remote = 0;
  bool IsMadeHere() const { return local > remote; }
  bool IsPropagated() const { return remote > 0 && !IsMadeHere(); }
};

Errors ErrorsOf(const EndEvidence& end) {
  const auto count = [&](Signal signal) -> uint64_t {
    const WindowCount* found = end.Find(signal, Window::k720s);
    return found == nullptr || found->is_saturated ? 0 : found->count;
  };
  const bool has_details = end.Find(Signal::kLocalPhysical, Window::k720s) != nullptr;
  return {count(has_details ? Signal::kLocalPhysical : Signal::kRcvErrors),
          count(Signal::kRemotePhysical)};
}

const EndEvidence& EndOf(const LinkEvidence& link, Side side) {
  return side == Side::kA ? link.a : link.b;
}

Side Opposite(Side side) { return side == Side::kA ? Side::kB : Side::kA; }

// Breadth first from the switch that sent the marked packets, against their direction.
std::optional<size_t> CauseSearch::RootOf(size_t link, Side receiver) const {
  absl::flat_hash_set<Guid> seen;
  std::vector<Guid> senders = {EndOf(*links_[link].evidence, Opposite(receiver)).node};
  for (int depth = 0; depth < kMaxDepth && !senders.empty(); ++depth) {
    std::vector<Guid> next;
    std::optional<std::pair<uint64_t, size_t>> root;
    for (const Guid node : senders) {
      const auto at = receivers_.find(node);
      if (!seen.insert(node).second || at == receivers_.end()) continue;
      for (const auto& [index, side] : at->second) {
        if (index == link) continue;
        const Errors errors = ErrorsOf(EndOf(*links_[index].evidence, side));
        if (errors.IsMadeHere() && (!root || errors.local > root->first))
          root = {errors.local, index};
        if (errors.IsPropagated())
          next.push_back(EndOf(*links_[index].evidence, Opposite(side)).node);
      }
    }
    if (root) return root->second;
    senders = std::move(next);
  }
  return std::nullopt;
}

void CauseSearch::FindPropagation() {
  for (size_t i = 0; i < links_.size(); ++i)
    for (const Side side : {Side::kA, Side::kB})
      if (const EndEvidence& end = EndOf(*links_[i].evidence, side); IsSwitch(end) && end.is_fresh)
        receivers_[end.node].emplace_back(i, side);
  const RowMask only =
      MaskFor(Row::kLocalPhysical, Side::kA) | MaskFor(Row::kLocalPhysical, Side::kB);
  std::map<size_t, std::vector<size_t>> by_root;
  for (size_t i = 0; i < links_.size(); ++i) {
    // Whatever else is raised did not come from upstream.
    if (!IsFree(i) || (links_[i].verdict->raised & ~only) != 0) continue;
    std::optional<size_t> root;
    bool is_local = false;
    for (const Side side : {Side::kA, Side::kB}) {
      const EndEvidence& end = EndOf(*links_[i].evidence, side);
      const Errors errors = end.is_fresh ? ErrorsOf(end) : Errors();
      is_local |= errors.IsMadeHere();
      if (!root && errors.IsPropagated()) root = RootOf(i, side);
    }
    if (root && !is_local) by_root[*root].push_back(i);
  }
  for (const auto& [root, affected] : by_root)
    Add({.cause = CommonCause::kPropagation,
         .root = LinkKey(*links_[root].evidence),
         .of = links_.size()},
        affected);
}

// Whose defect a row may be: of what a host does its switch is the witness.
void Charge(const LinkAssessment& each, bool& a, bool& b) {
  for (const EvidenceRow& row : each.verdict->rows) {
    if (!row.IsAtLeast(Level::kStrong)) continue;
    const bool is_of_sender = row.row == Row::kWait || row.row == Row::kHoqDiscards ||
                              row.row == Row::kMalformed ||
                              (row.row == Row::kOverrun && row.side == Side::kB &&
                               each.evidence->a.role == EndRole::kHost);
    const Side side = row.side == Side::kLink || !is_of_sender ? row.side : Opposite(row.side);
    a |= side != Side::kB;
    b |= side != Side::kA;
  }
}

}  // namespace

std::vector<std::string> Check(const FleetLimits& limits) {
  std::vector<std::string> faults;
  for (const auto& [name, share] : {std::pair("switch_share", limits.switch_share),
                                    {"restart_share", limits.restart_share},
                                    {"blackout_share", limits.blackout_share},
                                    {"family_share", limits.family_share}})
    if (!(share > 0 && share <= 1))
      faults.push_back(fmt::format("{}: {} is not in (0, 1]", name, share));
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
  }
  return "?";
}

std::string FindingText(const CommonFinding& finding) {
  const auto& [cause, node, root, family, affected, of] = finding;
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
      return fmt::format("errors on {} links come from upstream, from link {}/{} - {}/{}", affected,
                         root.a.node, root.a.port, root.b.node, root.b.port);
    case CommonCause::kFamily:
      return fmt::format(
          "{} of {} ports of device 0x{:06x}/{} revision 0x{:x} crossed a limit "
          "within a day: no action against them",
          affected, of, family.vendor_id, family.device_id, family.revision);
  }
  return "?";
}

FleetReport FindCommonCauses(std::span<const LinkAssessment> links, const FleetLimits& limits) {
  return CauseSearch(links, limits).Run();
}

bool ForbidsAction(const FleetReport& report, size_t index) {
  if (index >= report.explained_by.size() || report.explained_by[index] == 0) return false;
  return report.findings[report.explained_by[index] - 1].cause != CommonCause::kHca;
}

void Apply(const FleetReport& report, size_t index, const LinkEvidence& link,
           LinkVerdict& verdict) {
  if (index >= report.explained_by.size() || report.explained_by[index] == 0) return;
  const CommonFinding& finding = report.findings[report.explained_by[index] - 1];
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
    case CommonCause::kFamily: break;
  }
}

void FamilyWatch::Observe(std::span<const LinkAssessment> links, const FleetLimits& limits,
                          Instant now) {
  for (auto& [family, crossings] : families_) crossings.ports = 0;
  for (const LinkAssessment& each : links) {
    bool a = false, b = false;
    Charge(each, a, b);
    const LinkEvidence& link = *each.evidence;
    for (const Side side : {Side::kA, Side::kB}) {
      const EndEvidence& end = EndOf(link, side);
      if (end.role == EndRole::kOther) continue;
      Crossings& crossings = families_[end.family];
      ++crossings.ports;
      const std::pair port(end.node, end.port);
      const bool has_room = crossings.last.size() < kMaxPorts || crossings.last.contains(port);
      if ((side == Side::kA ? a : b) && has_room)
        crossings.last[port] = {now, EndOf(link, Opposite(side)).node};
    }
  }
  findings_.clear();
  for (auto& [family, crossings] : families_) {
    absl::erase_if(crossings.last, [&](const auto& port) {
      return now - port.second.first >= std::chrono::hours(24);
    });
    absl::flat_hash_set<Guid> peers;
    for (const auto& [port, last] : crossings.last) peers.insert(last.second);
    const size_t affected = crossings.last.size(), of = std::max(crossings.ports, affected);
    if (affected >= limits.min_links && peers.size() >= 2 &&
        static_cast<double>(affected) > limits.family_share * static_cast<double>(of))
      findings_.push_back(
          {.cause = CommonCause::kFamily, .family = family, .affected = affected, .of = of});
  }
  std::erase_if(families_, [](const auto& family) {
    return family.second.ports == 0 && family.second.last.empty();
  });
}

std::vector<StoredCrossing> FamilyWatch::Export(Instant now, WallMs wall) const {
  std::vector<StoredCrossing> stored;
  for (const auto& [family, crossings] : families_)
    for (const auto& [port, last] : crossings.last)
      stored.push_back(
          {family, {port.first, port.second}, last.second, ToWall(last.first, now, wall)});
  std::sort(stored.begin(), stored.end());
  return stored;
}

void FamilyWatch::Import(const std::vector<StoredCrossing>& stored, Instant now, WallMs wall) {
  families_.clear();
  for (const StoredCrossing& each : stored) {
    Crossings& crossings = families_[each.family];
    if (crossings.last.size() >= kMaxPorts) continue;
    const Instant at = std::min(FromWall(each.at, now, wall, now), now);
    crossings.last[{each.port.node, each.port.port}] = {at, each.peer};
  }
}

bool FamilyWatch::IsFrozen(const DeviceFamily& family) const {
  return std::any_of(findings_.begin(), findings_.end(),
                     [&](const CommonFinding& finding) { return finding.family == family; });
}

}  // namespace fabricd::policy
