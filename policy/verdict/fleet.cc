// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/fleet.h"

#include <algorithm>

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include "fabric/port_name.h"
#include "policy/verdict/stored_time.h"

namespace fabricd::policy {
namespace {

constexpr Duration kDay = std::chrono::hours(24);
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

bool IsSwitch(const EndBrief& end) {
  return end.role == EndRole::kLeaf || end.role == EndRole::kTrunk;
}

bool IsHostLink(const LinkBrief& link) {
  return link.a.role == EndRole::kHost && link.b.role == EndRole::kLeaf;
}

// Its counters are not read any more, while those of its switch are.
bool IsHostUnresponsive(const LinkBrief& link) {
  return link.is_up && !link.a.is_fresh && link.b.is_fresh;
}

// One search for each cause; the first that explains a link keeps it.
class CauseSearch {
 public:
  CauseSearch(std::span<const LinkBrief> links, const FleetLimits& limits,
              std::span<const CommonFinding> standing)
      : links_(links), limits_(limits), standing_(standing) {
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
  // What a finding that stands has to keep of its share.
  double ShareOf(CommonCause cause, Guid node, double share) const;

  std::span<const LinkBrief> links_;
  const FleetLimits& limits_;
  std::span<const CommonFinding> standing_;
  const RowMask errors_ = ReceiveErrors();
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

double CauseSearch::ShareOf(CommonCause cause, Guid node, double share) const {
  const bool stands = std::any_of(
      standing_.begin(), standing_.end(),
      [&](const CommonFinding& each) { return each.cause == cause && each.node == node; });
  return stands ? share / 2 : share;
}

void CauseSearch::FindBlackout() {
  size_t stale = 0, up = 0;
  for (const LinkBrief& link : links_) {
    if (!link.is_up) continue;
    ++up;
    stale += !link.a.is_fresh || !link.b.is_fresh;
  }
  const double share = ShareOf(CommonCause::kBlackout, Guid(), limits_.blackout_share);
  if (!IsMany(stale, up, share, limits_.min_links)) return;
  report_.is_blackout = true;
  report_.findings.push_back({.cause = CommonCause::kBlackout, .affected = stale, .of = up});
  report_.explained_by.assign(links_.size(), 1);
}

// The switch with the largest share is the one that restarted: its neighbours lost a link each.
void CauseSearch::FindRestarts() {
  Groups groups;
  for (size_t i = 0; i < links_.size(); ++i) {
    const LinkBrief& link = links_[i];
    for (const EndBrief* end : {&link.a, &link.b}) {
      if (!IsSwitch(*end)) continue;
      Group& group = groups[end->port.node];
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

// A switch stands out: what is as frequent at hosts of all switches is no fault of each of them.
void CauseSearch::FindLeaves(CommonCause cause, RowMask rows) {
  Groups groups;
  size_t all_affected = 0, all = 0;
  for (size_t i = 0; i < links_.size(); ++i) {
    if (!IsHostLink(links_[i])) continue;
    Group& group = groups[links_[i].b.port.node];
    ++group.of;
    ++all;
    // Hosts that have just ceased to respond may be the first of many. Of those that have not for
    // long nothing is counted any more.
    const bool is_unresponsive = cause == CommonCause::kUnresponsiveLeaf;
    const RowMask found = is_unresponsive ? links_[i].a.charged : links_[i].raised;
    const bool is_affected = ((found & rows) != 0 && !links_[i].is_frozen) ||
                             (is_unresponsive && IsHostUnresponsive(links_[i]));
    if (!IsFree(i) || !is_affected) continue;
    group.affected.push_back(i);
    ++all_affected;
  }
  for (const auto& [node, group] : groups) {
    const double share = ShareOf(cause, node, limits_.switch_share);
    if (!IsMany(group.affected.size(), group.of, share, limits_.min_links)) continue;
    const double own = static_cast<double>(group.affected.size()) / static_cast<double>(group.of);
    const auto others = static_cast<double>(all_affected - group.affected.size());
    if (others * limits_.switch_excess > own * static_cast<double>(all - group.of)) continue;
    Add({.cause = cause, .node = node, .of = group.of}, group.affected);
  }
}

void CauseSearch::FindHcas() {
  Groups groups;
  for (size_t i = 0; i < links_.size(); ++i) {
    if (links_[i].a.role != EndRole::kHost) continue;
    Group& group = groups[links_[i].a.port.node];
    ++group.of;
    if (IsFree(i) && (links_[i].raised & ReceiveErrors()) != 0) group.affected.push_back(i);
  }
  for (const auto& [node, group] : groups)
    if (group.of >= 2 && group.affected.size() == group.of)
      Add({.cause = CommonCause::kHca, .node = node, .of = group.of}, group.affected);
}

bool MadeErrors(const EndBrief& end) { return end.local_errors > end.marked_errors; }
bool PassedErrors(const EndBrief& end) { return end.marked_errors > 0 && !MadeErrors(end); }

const EndBrief& EndOf(const LinkBrief& link, Side side) {
  return side == Side::kA ? link.a : link.b;
}

Side Opposite(Side side) { return side == Side::kA ? Side::kB : Side::kA; }

// Breadth first from the switch that sent the marked packets, against their direction. The link
// that made them has rows of its own, and made as many as arrived here, but for what is read later.
std::optional<size_t> CauseSearch::RootOf(size_t link, Side receiver) const {
  const uint64_t marked = EndOf(links_[link], receiver).marked_errors;
  absl::flat_hash_set<Guid> seen;
  std::vector<Guid> senders = {EndOf(links_[link], Opposite(receiver)).port.node};
  for (int depth = 0; depth < kMaxDepth && !senders.empty(); ++depth) {
    std::vector<Guid> next;
    std::optional<std::pair<uint64_t, size_t>> root;
    for (const Guid node : senders) {
      const auto at = receivers_.find(node);
      if (!seen.insert(node).second || at == receivers_.end()) continue;
      for (const auto& [index, side] : at->second) {
        if (index == link) continue;
        const EndBrief& end = EndOf(links_[index], side);
        const bool is_root = MadeErrors(end) && (links_[index].raised & errors_) != 0 &&
                             end.local_errors * 2 >= marked;
        if (is_root && (!root || end.local_errors > root->first)) root = {end.local_errors, index};
        if (PassedErrors(end)) next.push_back(EndOf(links_[index], Opposite(side)).port.node);
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
      if (const EndBrief& end = EndOf(links_[i], side); IsSwitch(end) && end.is_fresh)
        receivers_[end.port.node].emplace_back(i, side);
  const RowMask only =
      MaskFor(Row::kLocalPhysical, Side::kA) | MaskFor(Row::kLocalPhysical, Side::kB);
  std::map<size_t, std::vector<size_t>> by_root;
  for (size_t i = 0; i < links_.size(); ++i) {
    // Whatever else is raised did not come from upstream.
    if (!IsFree(i) || (links_[i].raised & ~only) != 0) continue;
    std::optional<size_t> root;
    bool is_local = false;
    for (const Side side : {Side::kA, Side::kB}) {
      const EndBrief& end = EndOf(links_[i], side);
      is_local |= MadeErrors(end);
      if (!root && PassedErrors(end)) root = RootOf(i, side);
    }
    if (root && !is_local) by_root[*root].push_back(i);
  }
  for (const auto& [root, affected] : by_root)
    Add({.cause = CommonCause::kPropagation, .root = links_[root].Key(), .of = links_.size()},
        affected);
}

// Whose defect a row may be: of what a host does its switch is the witness. What is wrong in both
// directions of a link is its cable, and no defect of a kind of device.
void Charge(const LinkEvidence& link, const LinkVerdict& verdict, LinkBrief& brief) {
  if (verdict.attribution.culprit == Culprit::kCable && verdict.attribution.side == Side::kLink)
    return;
  for (const EvidenceRow& row : verdict.rows) {
    if (!row.IsAtLeast(Level::kStrong)) continue;
    const bool is_of_sender =
        row.row == Row::kWait || row.row == Row::kHoqDiscards || row.row == Row::kMalformed ||
        (row.row == Row::kOverrun && row.side == Side::kB && link.a.role == EndRole::kHost);
    const Side side = row.side == Side::kLink || !is_of_sender ? row.side : Opposite(row.side);
    const RowMask bit = MaskFor(row.row, Side::kA);
    if (side != Side::kB) brief.a.charged |= bit;
    if (side != Side::kA) brief.b.charged |= bit;
  }
}

EndBrief BriefOf(const EndEvidence& end) {
  EndBrief brief{{end.node, end.port}, end.role, end.family, end.is_fresh, 0, 0, 0};
  const auto count = [&](Signal signal) -> uint64_t {
    const WindowCount* found = end.Find(signal, Window::k720s);
    return found == nullptr || found->is_saturated ? 0 : found->count;
  };
  if (!end.is_fresh) return brief;
  const bool has_details = end.Find(Signal::kLocalPhysical, Window::k720s) != nullptr;
  brief.local_errors = count(has_details ? Signal::kLocalPhysical : Signal::kRcvErrors);
  brief.marked_errors = count(Signal::kRemotePhysical);
  return brief;
}

}  // namespace

LinkBrief BriefOf(const LinkEvidence& link, const LinkVerdict& verdict) {
  LinkBrief brief{BriefOf(link.a), BriefOf(link.b), verdict.raised, link.is_up,
                  link.is_with_its_switch};
  Charge(link, verdict, brief);
  return brief;
}

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

FleetReport FindCommonCauses(std::span<const LinkBrief> links, const FleetLimits& limits,
                             std::span<const CommonFinding> standing) {
  return CauseSearch(links, limits, standing).Run();
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

void AddCongestion(std::span<const CongestionTree> trees, std::span<const LinkBrief> links,
                   const FleetLimits& limits, FleetReport& report) {
  if (trees.empty() || report.is_blackout) return;
  absl::flat_hash_map<std::pair<Guid, PortNum>, LinkKey> link_at;
  for (const LinkBrief& link : links)
    for (const HeldPort& port : {link.a.port, link.b.port})
      link_at[{port.node, port.port}] = link.Key();
  size_t others = 0;
  for (const CongestionTree& tree : trees) {
    const size_t waiting = tree.victims.size() + 1;
    if (tree.kind != CongestionTree::Kind::kSlowReceiver) {
      others += waiting;
      continue;
    }
    const auto root = link_at.find({tree.root.node, tree.root.port});
    if (root == link_at.end() || waiting < limits.min_links) continue;
    report.findings.push_back({.cause = CommonCause::kCongestion,
                               .node = tree.root.node,
                               .root = root->second,
                               .affected = waiting,
                               .of = links.size()});
  }
  if (IsMany(others, links.size(), limits.congestion_share, limits.min_links))
    report.findings.push_back(
        {.cause = CommonCause::kCongestion, .affected = others, .of = links.size()});
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

void FamilyWatch::Observe(std::span<const LinkBrief> links, const FleetLimits& limits,
                          Instant now) {
  for (auto& [family, crossings] : families_) crossings.ports = 0;
  for (const LinkBrief& link : links) {
    for (const Side side : {Side::kA, Side::kB}) {
      const EndBrief& end = EndOf(link, side);
      if (end.role == EndRole::kOther) continue;
      Crossings& crossings = families_[end.family];
      ++crossings.ports;
      if (end.charged == 0) continue;
      const std::pair port(end.port.node, end.port.port);
      if (crossings.last.size() >= kMaxPorts && !crossings.last.contains(port)) continue;
      const auto [last, is_new] = crossings.last.try_emplace(port);
      if (is_new) last->second.at.fill(kNever);
      last->second.peer = EndOf(link, Opposite(side)).port.node;
      for (size_t row = 0; row < kRows; ++row)
        if ((end.charged >> row & 1) != 0) last->second.at[row] = now;
    }
  }
  findings_.clear();
  frozen_.clear();
  for (auto& [family, crossings] : families_) {
    absl::erase_if(crossings.last, [&](const auto& port) {
      return std::ranges::all_of(port.second.at,
                                 [&](Instant at) { return at == kNever || now - at >= kDay; });
    });
    Evaluate(family, crossings, limits, now);
  }
  std::erase_if(families_, [](const auto& family) {
    return family.second.ports == 0 && family.second.last.empty();
  });
}

std::vector<StoredCrossing> FamilyWatch::Export(Instant now, WallMs wall) const {
  std::vector<StoredCrossing> stored;
  for (const auto& [family, crossings] : families_)
    for (const auto& [port, last] : crossings.last)
      for (size_t row = 0; row < kRows; ++row)
        if (last.at[row] != kNever)
          stored.push_back({family,
                            {port.first, port.second},
                            static_cast<Row>(row + 1),
                            last.peer,
                            ToWall(last.at[row], now, wall)});
  std::sort(stored.begin(), stored.end());
  return stored;
}

void FamilyWatch::Import(const std::vector<StoredCrossing>& stored, Instant now, WallMs wall) {
  families_.clear();
  for (const StoredCrossing& each : stored) {
    Crossings& crossings = families_[each.family];
    const std::pair port(each.port.node, each.port.port);
    if (crossings.last.size() >= kMaxPorts && !crossings.last.contains(port)) continue;
    const auto [known, is_new] = crossings.last.try_emplace(port);
    Crossings::Last& last = known->second;
    if (is_new) last.at.fill(kNever);
    last.peer = each.peer;
    last.at[static_cast<size_t>(each.row) - 1] = std::min(FromWall(each.at, now, wall, now), now);
  }
}

// One finding for a family, of the row that most of its ports crossed.
void FamilyWatch::Evaluate(const DeviceFamily& family, const Crossings& crossings,
                           const FleetLimits& limits, Instant now) {
  size_t most = 0;
  RowMask frozen = 0;
  for (size_t row = 0; row < kRows; ++row) {
    size_t affected = 0;
    absl::flat_hash_set<Guid> peers;
    for (const auto& [port, last] : crossings.last) {
      if (last.at[row] == kNever || now - last.at[row] >= kDay) continue;
      ++affected;
      peers.insert(last.peer);
    }
    const size_t of = std::max(crossings.ports, affected);
    const bool is_many =
        affected >= limits.min_family && peers.size() >= 2 &&
        static_cast<double>(affected) > limits.family_share * static_cast<double>(of);
    if (!is_many) continue;
    frozen |= RowMask{1} << row;
    most = std::max(most, affected);
  }
  if (frozen == 0) return;
  frozen_[family] = frozen;
  findings_.push_back({.cause = CommonCause::kFamily,
                       .family = family,
                       .affected = most,
                       .of = std::max(crossings.ports, most)});
}

RowMask FamilyWatch::FrozenRows(const DeviceFamily& family) const {
  const auto found = frozen_.find(family);
  return found != frozen_.end() ? found->second : 0;
}

bool FamilyWatch::Freezes(const EndBrief& end) const {
  const RowMask frozen = FrozenRows(end.family);
  if (frozen == 0) return false;
  const Crossings& crossings = families_.at(end.family);
  const auto found = crossings.last.find({end.port.node, end.port.port});
  if (found == crossings.last.end()) return false;
  for (size_t row = 0; row < kRows; ++row)
    if ((frozen >> row & 1) != 0 && found->second.at[row] != kNever) return true;
  return false;
}

}  // namespace fabricd::policy
