// SPDX-License-Identifier: Apache-2.0
#include "cli/render/slurm_tree.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "cli/render/fields.h"
#include "cli/render/hostlist.h"

namespace fabricd::cli {
namespace {

using Names = std::vector<std::string>;

bool HasName(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

SlurmSwitch* FindSwitch(SlurmTree& tree, const std::string& name) {
  const auto found = std::find_if(tree.begin(), tree.end(),
                                  [&](const SlurmSwitch& each) { return each.name == name; });
  return found == tree.end() ? nullptr : &*found;
}

// nullptr: it is a root.
const SlurmSwitch* ParentOf(const SlurmTree& tree, const std::string& name) {
  const auto found = std::find_if(tree.begin(), tree.end(), [&](const SlurmSwitch& each) {
    return HasName(each.switches, name);
  });
  return found == tree.end() ? nullptr : &*found;
}

void AddInOrder(const Names& more, Names* names) {
  names->insert(names->end(), more.begin(), more.end());
  std::sort(names->begin(), names->end(),
            [](const std::string& a, const std::string& b) { return CompareNatural(a, b) < 0; });
}

// Joins `child`, which is a root of `now`, as `before` joined it.
void JoinAsBefore(const SlurmTree& before, const std::string& child, SlurmTree* now) {
  const SlurmSwitch* wanted = ParentOf(before, child);
  if (wanted == nullptr) return;
  if (SlurmSwitch* parent = FindSwitch(*now, wanted->name); parent != nullptr) {
    if (parent->nodes.empty()) AddInOrder({child}, &parent->switches);
    return;
  }
  SlurmSwitch made{wanted->name, {}, {}};
  for (const std::string& name : wanted->switches)
    if (FindSwitch(*now, name) != nullptr && ParentOf(*now, name) == nullptr)
      made.switches.push_back(name);
  now->push_back(std::move(made));
  JoinAsBefore(before, wanted->name, now);
}

std::string LowerKey(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

Result AddList(const std::string& text, Names* names) {
  std::string error;
  const auto expanded = ExpandHostlist(text, false, &error);
  if (!expanded) return {kFailure, error};
  names->insert(names->end(), expanded->begin(), expanded->end());
  return {};
}

std::string QuotedText(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

bool IsHostName(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  });
}

SlurmTree SlurmTreeOf(const TopologyModel& model) {
  SlurmTree tree;
  for (const Cluster& cluster : model.clusters) {
    SlurmSwitch made{cluster.name, {}, {}};
    for (const int child : cluster.children)
      made.switches.push_back(model.clusters[static_cast<size_t>(child)].name);
    if (cluster.unit >= 0)
      for (const int host : model.units[static_cast<size_t>(cluster.unit)].hosts)
        if (const std::string& name = model.topology.hosts(host).name(); IsHostName(name))
          made.nodes.push_back(name);
    if (!made.nodes.empty() || !made.switches.empty()) tree.push_back(std::move(made));
  }
  return tree;
}

Result ReadSlurmConf(const std::string& text, SlurmTree* tree) {
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    SlurmSwitch read;
    for (std::string word; words >> word;) {
      const size_t equal = word.find('=');
      const std::string key = LowerKey(word.substr(0, equal));
      const std::string value = equal == std::string::npos ? "" : word.substr(equal + 1);
      Result result;
      if (key == "switchname") read.name = value;
      if (key == "nodes") result = AddList(value, &read.nodes);
      if (key == "switches") result = AddList(value, &read.switches);
      if (!result.ok()) return {kFailure, fmt::format("line {}: {}", number, result.message)};
    }
    if (read.name.empty() && read.nodes.empty() && read.switches.empty()) continue;
    if (read.name.empty()) return {kFailure, fmt::format("line {}: no SwitchName", number)};
    tree->push_back(std::move(read));
  }
  return {};
}

Result ReadSlurmYaml(const std::string& text, SlurmTree* tree) try {
  for (const YAML::Node& topology : YAML::Load(text)) {
    for (const YAML::Node& each : topology["tree"]["switches"]) {
      SlurmSwitch read{each["switch"].as<std::string>(), {}, {}};
      Result result;
      if (each["nodes"]) result = AddList(each["nodes"].as<std::string>(), &read.nodes);
      if (each["children"]) result = AddList(each["children"].as<std::string>(), &read.switches);
      if (!result.ok()) return {kFailure, fmt::format("{}: {}", read.name, result.message)};
      tree->push_back(std::move(read));
    }
  }
  return {};
} catch (const YAML::Exception& error) {
  return {kFailure, error.what()};
}

Names KeepAbsent(const SlurmTree& before, SlurmTree* now) {
  std::set<std::string> there;
  for (const SlurmSwitch& each : *now) there.insert(each.nodes.begin(), each.nodes.end());
  Names kept;
  for (const SlurmSwitch& was : before) {
    Names away;
    for (const std::string& name : was.nodes)
      if (there.insert(name).second) away.push_back(name);
    if (away.empty()) continue;
    kept.insert(kept.end(), away.begin(), away.end());
    if (SlurmSwitch* same = FindSwitch(*now, was.name); same != nullptr && same->switches.empty()) {
      AddInOrder(away, &same->nodes);
      continue;
    }
    // No leaf any more: all of its hosts are away.
    SlurmSwitch made{was.name, {}, {}};
    while (FindSwitch(*now, made.name) != nullptr) made.name += "-away";
    AddInOrder(away, &made.nodes);
    now->push_back(made);
    if (made.name == was.name) JoinAsBefore(before, made.name, now);
    // Slurm wants one tree.
    Names roots;
    for (const SlurmSwitch& each : *now)
      if (ParentOf(*now, each.name) == nullptr) roots.push_back(each.name);
    SlurmSwitch* root =
        roots.size() == 2 && roots[1] == made.name ? FindSwitch(*now, roots[0]) : nullptr;
    if (root != nullptr && root->nodes.empty()) AddInOrder({made.name}, &root->switches);
  }
  std::sort(kept.begin(), kept.end(),
            [](const std::string& a, const std::string& b) { return CompareNatural(a, b) < 0; });
  return kept;
}

std::string WriteSlurmConf(const SlurmTree& tree) {
  std::string text;
  for (const SlurmSwitch& each : tree)
    text +=
        each.nodes.empty()
            ? fmt::format("SwitchName={} Switches={}\n", each.name, FormatHostlist(each.switches))
            : fmt::format("SwitchName={} Nodes={}\n", each.name, FormatHostlist(each.nodes));
  return text;
}

std::string WriteSlurmYaml(const SlurmTree& tree) {
  std::string text = "---\n- topology: fabric\n  cluster_default: true\n  tree:\n    switches:\n";
  for (const SlurmSwitch& each : tree) {
    const bool leaf = !each.nodes.empty();
    text += fmt::format("      - switch: {}\n        {}: {}\n", QuotedText(each.name),
                        leaf ? "nodes" : "children",
                        QuotedText(FormatHostlist(leaf ? each.nodes : each.switches)));
  }
  return text;
}

}  // namespace fabricd::cli
