// SPDX-License-Identifier: Apache-2.0
#include "cli/render/topology_text.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "cli/render/hostlist.h"

namespace fabricd::cli {
namespace {

using Names = std::vector<std::string>;

Names HostsOf(const TopologyModel& model, const HostUnit& unit) {
  Names names;
  for (const int host : unit.hosts) names.push_back(model.topology.hosts(host).name());
  return names;
}

Names SwitchNames(const TopologyModel& model, const std::vector<int>& switches) {
  Names names;
  for (const int each : switches)
    names.push_back(model.switches[static_cast<size_t>(each)]->name());
  return names;
}

// The hosts that no scheduler's file has, and why, a comment each.
std::string LeftOut(const TopologyModel& model) {
  std::string text;
  for (const int host : model.unlinked)
    text += fmt::format("# {} is linked to no switch\n", model.topology.hosts(host).name());
  for (const HostUnit& unit : model.units)
    for (const std::string& name : HostsOf(model, unit))
      if (!IsHostName(name)) text += fmt::format("# \"{}\" is no host name\n", name);
  return text;
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

void AddTree(const TopologyModel& model, int at, const std::string& indent, bool last,
             std::string* text) {
  const Cluster& cluster = model.clusters[static_cast<size_t>(at)];
  *text += indent + (last ? "└─ " : "├─ ") + cluster.name;
  if (cluster.unit >= 0) {
    const HostUnit& unit = model.units[static_cast<size_t>(cluster.unit)];
    *text += fmt::format(": {} host{} {}, {} lea{} {}", unit.hosts.size(),
                         unit.hosts.size() == 1 ? "" : "s", FormatHostlist(HostsOf(model, unit)),
                         unit.leaves.size(), unit.leaves.size() == 1 ? "f" : "ves",
                         FormatHostlist(SwitchNames(model, unit.leaves)));
  } else {
    *text += fmt::format(": {} below, joined by switches of tier {}", cluster.children.size(),
                         cluster.tier);
  }
  *text += '\n';
  const std::string below = indent + (last ? "   " : "│  ");
  for (const int child : cluster.children)
    AddTree(model, child, below, child == cluster.children.back(), text);
}

std::string DotColor(const CableBundle& bundle) {
  if (bundle.troubled == 0) return {};
  return fmt::format(" color=\"{}\" tooltip={}",
                     bundle.troubled == bundle.cables ? "#c62828" : "#ef6c00",
                     Quoted(bundle.trouble));
}

std::string DotEdges(const std::vector<CableBundle>& bundles, const char* from) {
  std::string text;
  for (const CableBundle& bundle : bundles) {
    text += fmt::format("  {}{} -- s{} [penwidth={:.1f}", from, bundle.from, bundle.to,
                        std::min(0.5 + 0.5 * bundle.cables, 4.0));
    if (bundle.cables > 1) text += fmt::format(" label=\"{}\"", bundle.cables);
    text += DotColor(bundle) + "]\n";
  }
  return text;
}

// Who is kept though they are away, a comment.
std::string Kept(const TopologyModel& model, const SlurmTree* before, SlurmTree* tree) {
  *tree = SlurmTreeOf(model);
  const Names kept = before == nullptr ? Names() : KeepAbsent(*before, tree);
  if (kept.empty()) return {};
  return fmt::format("# away, where they were before: {}\n", FormatHostlist(kept));
}

}  // namespace

std::string ToTree(const TopologyModel& model) {
  int cables = 0, troubled = 0;
  for (const auto* bundles : {&model.switch_links, &model.host_links})
    for (const CableBundle& bundle : *bundles) cables += bundle.cables, troubled += bundle.troubled;
  std::string text = fmt::format("{} switches, {} hosts, {} cables", model.switches.size(),
                                 model.topology.hosts_size(), cables);
  text += troubled > 0 ? fmt::format(", {} of them not as they should be\n", troubled) : "\n";
  std::vector<int> roots;
  for (size_t i = 0; i < model.clusters.size(); ++i)
    if (model.clusters[i].parent < 0) roots.push_back(static_cast<int>(i));
  for (const int root : roots) AddTree(model, root, "", root == roots.back(), &text);
  for (const int host : model.unlinked)
    text += fmt::format("{}: linked to no switch\n", model.topology.hosts(host).name());
  return text;
}

std::string ToDot(const TopologyModel& model) {
  std::string text = "graph fabric {\n  rankdir=BT\n  node [shape=box fontname=\"sans-serif\"]\n";
  uint32_t top = 0;
  for (const pb::Node* each : model.switches) top = std::max(top, each->tier());
  for (uint32_t tier = 0; tier <= top; ++tier) {
    std::string rank;
    for (size_t i = 0; i < model.switches.size(); ++i) {
      if (model.switches[i]->tier() != tier) continue;
      rank += fmt::format("    s{} [label={}]\n", i, Quoted(model.switches[i]->name()));
    }
    if (!rank.empty()) text += "  { rank=same\n" + rank + "  }\n";
  }
  for (int i = 0; i < model.topology.hosts_size(); ++i)
    text +=
        fmt::format("  h{} [label={} shape=ellipse]\n", i, Quoted(model.topology.hosts(i).name()));
  return text + DotEdges(model.host_links, "h") + DotEdges(model.switch_links, "s") + "}\n";
}

std::string ToSlurmConf(const TopologyModel& model, const SlurmTree* before) {
  SlurmTree tree;
  const std::string kept = Kept(model, before, &tree);
  return "# topology.conf for TopologyPlugin=topology/tree. A switch with nodes is a unit of hosts "
         "on\n"
         "# the same leaf switches.\n" +
         LeftOut(model) + kept + WriteSlurmConf(tree);
}

std::string ToSlurmYaml(const TopologyModel& model, const SlurmTree* before) {
  SlurmTree tree;
  const std::string kept = Kept(model, before, &tree);
  return LeftOut(model) + kept + WriteSlurmYaml(tree);
}

std::string ToTopograph(const TopologyModel& model) {
  std::string text = "{\"instances\":[";
  const char* comma = "\n";
  for (size_t unit = 0; unit < model.units.size(); ++unit) {
    Names layers;
    for (const std::string& name : model.NamesAbove(static_cast<int>(unit)))
      layers.push_back(Quoted(name));
    for (const std::string& host : HostsOf(model, model.units[unit])) {
      text += fmt::format("{}{{\"id\":{},\"network_layers\":[{}]}}", comma, Quoted(host),
                          fmt::join(layers, ","));
      comma = ",\n";
    }
  }
  return text + "\n]}\n";
}

std::string ToK8sLabels(const TopologyModel& model) {
  std::string text = LeftOut(model);
  for (size_t unit = 0; unit < model.units.size(); ++unit) {
    std::string labels;
    int tier = 0;
    for (const std::string& name : model.NamesAbove(static_cast<int>(unit)))
      labels += fmt::format(" fabric.topograph.run/tier-{}={}", tier++, name);
    for (const std::string& host : HostsOf(model, model.units[unit])) {
      if (IsHostName(host))
        text += fmt::format("kubectl label --overwrite node {}{}\n", host, labels);
    }
  }
  return text;
}

}  // namespace fabricd::cli
