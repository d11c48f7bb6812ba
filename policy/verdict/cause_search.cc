// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/cause_search.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

namespace fabricd::policy {
namespace {

constexpr int kMaxDepth = 6;  // Of a search upstream: more hops than a fat tree of 3 tiers has.

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

}  // namespace

FleetReport FindCommonCauses(std::span<const LinkBrief> links, const FleetLimits& limits,
                             std::span<const CommonFinding> standing) {
  return CauseSearch(links, limits, standing).Run();
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

}  // namespace fabricd::policy
