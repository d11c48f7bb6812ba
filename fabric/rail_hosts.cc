// SPDX-License-Identifier: Apache-2.0
#include "fabric/rail_hosts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace fabricd::fabric {
namespace {

using LeafPair = std::pair<NodeIndex, NodeIndex>;

std::string KeyOf(const HostPort& port, const Node& adapter) {
  if (port.device.empty() || adapter.info.num_ports < 2) return port.device;
  return fmt::format("{}/{}", port.device, port.port.port.value());
}

// One machine has a device once: a name that is on it twice stands for many machines.
bool HasKeyTwice(const WiredHost& host) {
  std::set<std::string_view> keys;
  return std::any_of(host.ends.begin(), host.ends.end(), [&](const WiredEnd& end) {
    return !end.key.empty() && !keys.insert(end.key).second;
  });
}

// Adapters of machines that nothing but the order of their GUIDs tells apart.
class GuidRuns {
 public:
  GuidRuns(const FabricSnapshot& snapshot, std::vector<WiredEnd> ends)
      : snapshot_(snapshot), ends_(std::move(ends)) {
    std::sort(ends_.begin(), ends_.end(), [&](const WiredEnd& a, const WiredEnd& b) {
      return std::make_tuple(GuidOf(a), a.end.port) < std::make_tuple(GuidOf(b), b.end.port);
    });
  }

  std::vector<WiredHost> Find() {
    FindLeafGroups();
    FindFirstLeaves();
    std::vector<WiredHost> hosts;
    for (size_t i = 0; i < ends_.size(); ++i) {
      if (i == 0 || !Continues(hosts.back(), i)) {
        hosts.emplace_back();
        hosts.back().name = fmt::format("{}", Guid(GuidOf(ends_[i])));
        hosts.back().nameless = true;
      }
      hosts.back().ends.push_back(ends_[i]);
    }
    return hosts;
  }

 private:
  uint64_t GuidOf(const WiredEnd& end) const {
    return snapshot_.node(end.end.node)->guid().value();
  }
  static NodeIndex LeafOf(const WiredEnd& end) { return end.leaf.node; }
  uint64_t GapBefore(size_t i) const { return GuidOf(ends_[i]) - GuidOf(ends_[i - 1]); }
  // Too far from the one before it to be of the same host, even if adapters between them lack.
  bool IsBreak(size_t i) const {
    constexpr uint64_t kTimesUsual = 16;
    return GapBefore(i) / kTimesUsual > gap_in_host_;
  }

  // Leaves that nearly always follow one another in the order of GUIDs belong to one unit.
  void FindLeafGroups() {
    std::map<NodeIndex, size_t> ends_on;
    std::map<LeafPair, size_t> follows;
    for (size_t i = 0; i < ends_.size(); ++i) {
      ++ends_on[LeafOf(ends_[i])];
      if (i > 0 && LeafOf(ends_[i - 1]) != LeafOf(ends_[i]))
        ++follows[{LeafOf(ends_[i - 1]), LeafOf(ends_[i])}];
    }
    for (const auto& [leaf, count] : ends_on) group_.emplace(leaf, leaf);
    for (const auto& [pair, count] : follows) {
      if (count < 2 || 3 * count < 2 * std::max(ends_on[pair.first], ends_on[pair.second]))
        continue;
      const NodeIndex from = group_[pair.first], to = group_[pair.second];
      for (auto& [leaf, group] : group_)
        if (group == from) group = to;
    }
    std::vector<uint64_t> gaps;
    for (size_t i = 1; i < ends_.size(); ++i)
      if (LeafOf(ends_[i - 1]) != LeafOf(ends_[i]) && SameGroup(ends_[i - 1], ends_[i]))
        gaps.push_back(GapBefore(i));
    if (gaps.empty()) return;
    std::nth_element(gaps.begin(), gaps.begin() + static_cast<long>(gaps.size() / 2), gaps.end());
    gap_in_host_ = gaps[gaps.size() / 2];
  }

  // With which leaf the hosts of each group begin: that of most ends before which there is an
  // obvious break. Without it, one host that lacks its first adapter would shift all that follow.
  void FindFirstLeaves() {
    std::map<NodeIndex, size_t> breaks;
    for (size_t i = 0; i < ends_.size(); ++i) {
      const bool broken = i == 0 || !SameGroup(ends_[i - 1], ends_[i]) || IsBreak(i);
      if (!broken) continue;
      const size_t count = ++breaks[LeafOf(ends_[i])];
      const auto [first, added] =
          first_leaf_.emplace(group_.at(LeafOf(ends_[i])), LeafOf(ends_[i]));
      if (!added && count > breaks[first->second]) first->second = LeafOf(ends_[i]);
    }
  }

  bool SameGroup(const WiredEnd& a, const WiredEnd& b) const {
    return group_.at(LeafOf(a)) == group_.at(LeafOf(b));
  }

  // Whether end `i` goes on with the host: each leaf once, of one unit, or as near as the devices
  // of a host usually are (a misplaced cable).
  bool Continues(const WiredHost& host, size_t i) const {
    constexpr int kOuiShift = 40;
    const WiredEnd& last = host.ends.back();
    if (GuidOf(last) >> kOuiShift != GuidOf(ends_[i]) >> kOuiShift || IsBreak(i)) return false;
    if (std::any_of(host.ends.begin(), host.ends.end(),
                    [&](const WiredEnd& end) { return LeafOf(end) == LeafOf(ends_[i]); }))
      return false;
    if (!SameGroup(host.ends.front(), ends_[i])) return GapBefore(i) <= gap_in_host_;
    return first_leaf_.at(group_.at(LeafOf(ends_[i]))) != LeafOf(ends_[i]);
  }

  const FabricSnapshot& snapshot_;
  std::vector<WiredEnd> ends_;
  std::map<NodeIndex, NodeIndex> group_;       // Leaf: one of the leaves of its group.
  std::map<NodeIndex, NodeIndex> first_leaf_;  // Group: where its hosts begin.
  uint64_t gap_in_host_ = 0;                   // Between the GUIDs of a host, usually.
};

// Their keys are their places, adapters of one machine by GUID.
void NumberEnds(WiredHost& host) {
  for (size_t k = 0; k < host.ends.size(); ++k) host.ends[k].key = fmt::format("#{}", k);
}

// Divides the ends of what is no machine's name by system; those that are alone go to `lone`.
void DivideBySystem(const FabricSnapshot& snapshot, std::vector<WiredEnd> ends,
                    std::vector<WiredHost>& hosts, std::vector<WiredEnd>& lone) {
  std::map<Guid, std::vector<WiredEnd>> by_system;
  for (WiredEnd& end : ends) {
    const Node& adapter = *snapshot.node(end.end.node);
    const Guid system = adapter.info.system_image_guid;
    by_system[system ? system : adapter.guid()].push_back(std::move(end));
  }
  for (auto& [system, of_system] : by_system) {
    if (of_system.size() == 1) {
      lone.push_back(std::move(of_system.front()));
      continue;
    }
    std::sort(of_system.begin(), of_system.end(), [&](const WiredEnd& a, const WiredEnd& b) {
      return std::make_tuple(snapshot.node(a.end.node)->guid(), a.end.port) <
             std::make_tuple(snapshot.node(b.end.node)->guid(), b.end.port);
    });
    hosts.push_back({fmt::format("{}", system), true, std::move(of_system)});
  }
}

}  // namespace

std::vector<WiredHost> FindWiredHosts(const FabricSnapshot& snapshot, const HostTable& hosts) {
  std::vector<WiredHost> found;
  std::vector<WiredEnd> unnamed, lone;
  for (const Host& host : hosts.hosts()) {
    WiredHost wired{host.name, true, {}};
    for (const HostPort& port : host.ports) {
      const Node* adapter = snapshot.node(port.port.node);
      const PortRef leaf = adapter ? adapter->port(port.port.port).peer : PortRef();
      const Node* beyond = leaf.IsNone() ? nullptr : snapshot.node(leaf.node);
      if (!beyond || !beyond->IsSwitch()) continue;
      wired.ends.push_back({KeyOf(port, *adapter), port.port, leaf});
      wired.nameless &= port.device.empty();
    }
    if (wired.ends.empty()) continue;
    if (HasKeyTwice(wired) || (wired.nameless && wired.ends.size() == 1))
      std::move(wired.ends.begin(), wired.ends.end(), std::back_inserter(unnamed));
    else
      found.push_back(std::move(wired));
  }
  DivideBySystem(snapshot, std::move(unnamed), found, lone);
  for (WiredHost& host : GuidRuns(snapshot, std::move(lone)).Find())
    found.push_back(std::move(host));
  for (WiredHost& host : found)
    if (host.nameless) NumberEnds(host);
  return found;
}

}  // namespace fabricd::fabric
