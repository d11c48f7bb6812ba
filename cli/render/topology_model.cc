// SPDX-License-Identifier: Apache-2.0
#include "cli/render/topology_model.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "cli/render/tables.h"

namespace fabricd::cli {
namespace {

std::string TroubleOf(const pb::Link& link) {
  std::vector<std::string> words;
  if (link.state() != "ACTIVE") words.push_back(link.state().empty() ? "unknown" : link.state());
  if (link.degraded()) words.push_back("degraded");
  if (link.suppressed()) words.push_back("suppressed");
  // A cordon takes no cable out of use.
  if (std::any_of(link.held().begin(), link.held().end(),
                  [](int kind) { return kind != pb::HOLD_KIND_CORDON; })) {
    words.push_back("held");
  }
  if (words.empty()) return {};
  return fmt::format("{}: {}", PortText(link.a()), fmt::join(words, ", "));
}

// Sums cables by their two ends.
class Bundles {
 public:
  void Add(int from, int to, const pb::Link& link) {
    CableBundle& bundle = bundles_[{from, to}];
    bundle.from = from;
    bundle.to = to;
    ++bundle.cables;
    const std::string trouble = TroubleOf(link);
    if (trouble.empty()) return;
    if (bundle.troubled++ == 0) bundle.trouble = trouble;
  }
  std::vector<CableBundle> Take() const {
    std::vector<CableBundle> all;
    for (const auto& [ends, bundle] : bundles_) all.push_back(bundle);
    return all;
  }

 private:
  std::map<std::pair<int, int>, CableBundle> bundles_;
};

// Names that no one else has, as Slurm's switches and Kubernetes' labels may be called: at most 63
// of letters, digits, '-', '_' and '.', a letter or digit at both ends.
class UniqueNames {
 public:
  // `wanted`, or with a number behind it.
  std::string Take(const std::string& wanted) {
    std::string name;
    for (const char c : wanted) {
      const bool fine =
          std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
      name += fine ? c : '_';
    }
    const auto odd = [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); };
    name.erase(name.begin(), std::find_if_not(name.begin(), name.end(), odd));
    name.resize(std::min<size_t>(name.size(), 58));
    while (!name.empty() && odd(name.back())) name.pop_back();
    const std::string base = name.empty() ? "switch" : name;
    name = base;
    for (int number = 2; !taken_.insert(name).second; ++number)
      name = fmt::format("{}-{}", base, number);
    return name;
  }

 private:
  std::set<std::string> taken_;
};

// What the names have in common before their last separator: "su1" of su1-rail0-leaf,
// su1-rail1-leaf. One name is itself.
std::string CommonName(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string common = names.front();
  for (const std::string& name : names) {
    const auto ends = std::mismatch(common.begin(), common.end(), name.begin(), name.end());
    common.erase(ends.first, common.end());
  }
  if (names.size() == 1) return common;
  const size_t cut = common.find_last_of("-_./ ");
  return cut == std::string::npos ? "" : common.substr(0, cut);
}

// Sets of numbers that are joined one by one.
class Sets {
 public:
  explicit Sets(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0); }
  int Root(int member) {
    while (parent_[static_cast<size_t>(member)] != member)
      member = parent_[static_cast<size_t>(member)] =
          parent_[static_cast<size_t>(parent_[static_cast<size_t>(member)])];
    return member;
  }
  void Join(int a, int b) {
    a = Root(a), b = Root(b);
    parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }

 private:
  std::vector<int> parent_;
};

using Leaves = std::set<int>;

size_t Overlap(const Leaves& a, const Leaves& b) {
  return static_cast<size_t>(
      std::count_if(a.begin(), a.end(), [&](int leaf) { return b.count(leaf) > 0; }));
}

void SortLeaves(const TopologyModel& model, std::vector<int>* leaves) {
  std::sort(leaves->begin(), leaves->end(), [&](int a, int b) {
    const pb::Node& one = *model.switches[static_cast<size_t>(a)];
    const pb::Node& other = *model.switches[static_cast<size_t>(b)];
    const auto rail = [](const pb::Node& node) { return node.has_rail() ? node.rail() : ~0u; };
    return std::pair(rail(one), a) < std::pair(rail(other), b);
  });
}

// Hosts by the leaves that they share. A set of leaves that only one host has, while others are
// shared, is a misplaced or missing cable: such a host belongs where most of its cables are, of
// equals where its lowest rail is.
std::vector<std::pair<Leaves, std::vector<int>>> GroupHosts(const TopologyModel& model,
                                                            const std::vector<Leaves>& leaves) {
  std::map<Leaves, std::vector<int>> by_leaves;
  for (size_t host = 0; host < leaves.size(); ++host)
    if (!leaves[host].empty()) by_leaves[leaves[host]].push_back(static_cast<int>(host));
  const bool any_shared = std::any_of(by_leaves.begin(), by_leaves.end(),
                                      [](const auto& each) { return each.second.size() > 1; });
  std::vector<std::pair<Leaves, std::vector<int>>> groups, odd;
  for (const auto& each : by_leaves)
    (any_shared && each.second.size() == 1 ? odd : groups).push_back(each);
  for (const auto& each : odd) {
    size_t best = groups.size(), most = 0;
    std::vector<int> by_rail(each.first.begin(), each.first.end());
    SortLeaves(model, &by_rail);
    for (size_t i = 0; i < groups.size(); ++i) {
      const size_t first = groups[i].first.count(by_rail.front());
      const size_t common = 2 * Overlap(each.first, groups[i].first) + first;
      if (common > most) best = i, most = common;
    }
    if (best == groups.size()) {
      groups.push_back(each);
    } else {
      groups[best].second.push_back(each.second.front());
    }
  }
  for (auto& group : groups) std::sort(group.second.begin(), group.second.end());
  std::sort(groups.begin(), groups.end(),
            [](const auto& a, const auto& b) { return a.second.front() < b.second.front(); });
  return groups;
}

// What joins things up to a tier: one cluster for each set of clusters of the tier below.
class Clustering {
 public:
  Clustering(TopologyModel& model, UniqueNames& names) : model_(model), names_(names) {}

  void AddUnits() {
    for (size_t unit = 0; unit < model_.units.size(); ++unit) {
      Cluster cluster;
      cluster.name = model_.units[unit].name;
      cluster.unit = static_cast<int>(unit);
      model_.clusters.push_back(cluster);
      top_.push_back(static_cast<int>(unit));
    }
  }
  // Switches of this tier join what is below them.
  void AddTier(uint32_t tier, bool last) {
    Sets sets(model_.switches.size());
    for (const HostUnit& unit : model_.units)
      for (const int leaf : unit.leaves) sets.Join(unit.leaves.front(), leaf);
    for (const CableBundle& bundle : model_.switch_links) {
      if (TierOf(bundle.from) <= tier && TierOf(bundle.to) <= tier)
        sets.Join(bundle.from, bundle.to);
    }
    std::map<int, std::vector<int>> joined;  // By root, clusters of the top so far.
    for (const int cluster : top_) joined[sets.Root(LeafOf(cluster))].push_back(cluster);
    if (joined.size() == top_.size()) return;
    std::vector<int> next;
    for (const auto& [root, children] : joined) {
      if (children.size() == 1) {
        next.push_back(children.front());
        continue;
      }
      Cluster cluster;
      cluster.tier = tier;
      cluster.children = children;
      cluster.name = names_.Take(NameOf(tier, root, sets, last || joined.size() == 1));
      for (const int child : children)
        model_.clusters[static_cast<size_t>(child)].parent =
            static_cast<int>(model_.clusters.size());
      next.push_back(static_cast<int>(model_.clusters.size()));
      model_.clusters.push_back(std::move(cluster));
    }
    top_ = std::move(next);
  }

 private:
  uint32_t TierOf(int at) const { return model_.switches[static_cast<size_t>(at)]->tier(); }
  int LeafOf(int cluster) const {
    const Cluster* each = &model_.clusters[static_cast<size_t>(cluster)];
    while (each->unit < 0) each = &model_.clusters[static_cast<size_t>(each->children.front())];
    return model_.units[static_cast<size_t>(each->unit)].leaves.front();
  }
  std::string NameOf(uint32_t tier, int root, Sets& sets, bool whole) const {
    std::vector<std::string> names;
    for (size_t i = 0; i < model_.switches.size(); ++i) {
      if (TierOf(static_cast<int>(i)) == tier && sets.Root(static_cast<int>(i)) == root)
        names.push_back(model_.switches[i]->name());
    }
    const std::string common = CommonName(names);
    if (!common.empty()) return common;
    return whole ? "fabric" : "pod";
  }

  TopologyModel& model_;
  UniqueNames& names_;
  std::vector<int> top_;
};

}  // namespace

TopologyModel::TopologyModel(const pb::Topology& fabric) : topology(fabric) {
  for (const pb::Node& node : topology.nodes()) {
    if (node.type() != "SWITCH") continue;
    switch_of[node.guid()] = static_cast<int>(switches.size());
    switches.push_back(&node);
  }
  std::map<std::string, int> host_of;  // By the GUID of an HCA.
  for (int host = 0; host < topology.hosts_size(); ++host)
    for (const pb::HostPort& port : topology.hosts(host).ports())
      host_of[port.port().node_guid()] = host;
  Bundles between, below;
  std::vector<std::set<int>> leaves(static_cast<size_t>(topology.hosts_size()));
  for (const pb::Link& link : topology.links()) {
    const auto a = switch_of.find(link.a().node_guid()), b = switch_of.find(link.b().node_guid());
    if (a == switch_of.end()) continue;  // Neither end is a switch.
    if (b != switch_of.end()) {
      const auto key = [&](int at) {
        return std::pair(switches[static_cast<size_t>(at)]->tier(), at);
      };
      const bool up = key(a->second) < key(b->second);
      between.Add(up ? a->second : b->second, up ? b->second : a->second, link);
    } else if (const auto host = host_of.find(link.b().node_guid()); host != host_of.end()) {
      below.Add(host->second, a->second, link);
      leaves[static_cast<size_t>(host->second)].insert(a->second);
    }
  }
  switch_links = between.Take();
  host_links = below.Take();
  UniqueNames names;
  for (const auto& [shared, hosts] : GroupHosts(*this, leaves)) {
    HostUnit unit;
    unit.hosts = hosts;
    unit.leaves.assign(shared.begin(), shared.end());
    SortLeaves(*this, &unit.leaves);
    std::vector<std::string> texts;
    for (const int leaf : unit.leaves) texts.push_back(switches[static_cast<size_t>(leaf)]->name());
    const std::string common = CommonName(texts);
    unit.name = names.Take(common.empty() ? fmt::format("unit{}", units.size() + 1) : common);
    units.push_back(std::move(unit));
  }
  for (int host = 0; host < topology.hosts_size(); ++host)
    if (leaves[static_cast<size_t>(host)].empty()) unlinked.push_back(host);
  Clustering clustering(*this, names);
  clustering.AddUnits();
  uint32_t top = 0;
  for (const pb::Node* each : switches) top = std::max(top, each->tier());
  for (uint32_t tier = 1; tier <= top; ++tier) clustering.AddTier(tier, tier == top);
}

std::vector<std::string> TopologyModel::NamesAbove(int unit) const {
  std::vector<std::string> names;
  for (int at = unit; at >= 0; at = clusters[static_cast<size_t>(at)].parent)
    names.push_back(clusters[static_cast<size_t>(at)].name);
  return names;
}

}  // namespace fabricd::cli
