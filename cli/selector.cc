// SPDX-License-Identifier: Apache-2.0
#include "cli/selector.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

namespace fabricd::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Message;

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// HOLD_KIND_DRAIN of HoldKind is also "drain".
bool IsValue(const FieldPath& path, const std::string& text, const std::string& wanted) {
  const std::string have = Lower(text), want = Lower(wanted);
  if (have == want) return true;
  const auto* type = path.field()->enum_type();
  if (!type) return false;
  std::string prefix;
  for (const char c : type->name()) {
    if (std::isupper(static_cast<unsigned char>(c)) && !prefix.empty()) prefix += '_';
    prefix += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return have == prefix + "_" + want;
}

Result PathsOf(const std::string& key, const Descriptor* item, Selector::By by,
               std::vector<FieldPath>* paths) {
  std::vector<std::string> texts = {key};
  if (by == Selector::By::kLabels) {
    const auto& labels = LabelsOf(item);
    const auto known = std::find_if(labels.begin(), labels.end(),
                                    [&](const Label& label) { return key == label.name; });
    if (known == labels.end()) {
      std::vector<std::string> names;
      for (const Label& label : labels) names.push_back(label.name);
      return {kUsage, labels.empty() ? fmt::format("-l: a {} has no labels", item->name())
                                     : fmt::format("-l: a {} has no label \"{}\" ({})",
                                                   item->name(), key, fmt::join(names, ", "))};
    }
    texts.assign(known->paths.begin(), known->paths.end());
  }
  for (const std::string& text : texts) {
    std::string error;
    const auto path = FieldPath::Parse(text, item, &error);
    if (!path) return {kUsage, "--field-selector: " + error};
    paths->push_back(*path);
  }
  return {};
}

}  // namespace

const std::vector<Label>& LabelsOf(const Descriptor* item) {
  static const std::map<std::string, std::vector<Label>> kLabels = {
      {"fabric.v1.Node",
       {{"type", {"type"}},
        {"role", {"role"}},
        {"tier", {"tier"}},
        {"rail", {"rail"}},
        {"host", {"host"}},
        {"vendor", {"vendor_id"}},
        {"device", {"device_id"}},
        {"held", {"held"}}}},
      {"fabric.v1.Host",
       {{"rail", {"ports.rail"}},
        {"device", {"ports.device"}},
        {"state", {"ports.state"}},
        {"leaf", {"ports.peer.node_name"}},
        {"held", {"held"}}}},
      {"fabric.v1.Port",
       {{"type", {"id.node_type"}},
        {"role", {"role"}},
        {"rail", {"rail"}},
        {"host", {"host"}},
        {"node", {"id.node_name"}},
        {"peer", {"peer.node_name"}},
        {"state", {"state"}},
        {"physical", {"physical_state"}},
        {"speed", {"speed"}},
        {"width", {"width"}},
        {"degraded", {"degraded"}},
        {"held", {"held"}}}},
      {"fabric.v1.Link",
       {{"type", {"a.node_type", "b.node_type"}},
        {"node", {"a.node_name", "b.node_name"}},
        {"state", {"state"}},
        {"speed", {"speed"}},
        {"width", {"width"}},
        {"degraded", {"degraded"}},
        {"suppressed", {"suppressed"}},
        {"held", {"held"}}}},
      {"fabric.v1.Hold",
       {{"kind", {"kind"}},
        {"mode", {"mode"}},
        {"owner", {"owner"}},
        {"state", {"state"}},
        {"target", {"target.name"}},
        {"target-kind", {"target.kind"}}}},
      {"fabric.v1.Condition", {{"type", {"type"}}, {"mode", {"mode"}}, {"subject", {"subject"}}}},
      {"fabric.v1.MulticastGroup", {{"pkey", {"p_key"}}, {"permanent", {"permanent"}}}}};
  static const std::vector<Label> kNone;
  const auto known = kLabels.find(item->full_name());
  return known == kLabels.end() ? kNone : known->second;
}

std::string LabelText(const Message& item, const Label& label) {
  std::vector<std::string> values;
  for (const char* text : label.paths) {
    std::string error;
    for (const std::string& value :
         FieldPath::Parse(text, item.GetDescriptor(), &error)->Values(item)) {
      if (!value.empty() && std::find(values.begin(), values.end(), value) == values.end())
        values.push_back(value);
    }
  }
  return fmt::format("{}", fmt::join(values, ","));
}

Result Selector::Parse(const std::string& text, const Descriptor* item, By by, Selector* selector) {
  selector->requirements_.clear();
  if (text.empty()) return {};
  for (const std::string& part : SplitAtCommas(text)) {
    Requirement requirement;
    std::string key = part;
    if (const size_t equal = part.find('='); equal != std::string::npos) {
      requirement.wanted = equal == 0 || part[equal - 1] != '!';
      key = part.substr(0, requirement.wanted ? equal : equal - 1);
      requirement.value = part.substr(part[equal + 1] == '=' ? equal + 2 : equal + 1);
    } else {
      requirement.any_value = true;
      requirement.wanted = part.empty() || part.front() != '!';
      if (!requirement.wanted) key.erase(0, 1);
    }
    if (key.empty()) return {kUsage, fmt::format("\"{}\" is no selector (KEY=VALUE,…)", text)};
    if (Result result = PathsOf(key, item, by, &requirement.paths); !result.ok()) return result;
    selector->requirements_.push_back(std::move(requirement));
  }
  return {};
}

bool Selector::Meets(const Requirement& requirement, const Message& item) {
  bool found = false;
  for (const FieldPath& path : requirement.paths) {
    // What tells presence is there with any value, other fields when they are not at their default.
    const bool told = path.field()->has_presence();
    for (const std::string& value : path.Values(item)) {
      found |= requirement.any_value ? told || (!value.empty() && value != "0" && value != "false")
                                     : IsValue(path, value, requirement.value);
    }
    // An empty value is that of a field that is not there.
    if (!requirement.any_value && requirement.value.empty()) found |= path.Values(item).empty();
  }
  return found == requirement.wanted;
}

bool Selector::Matches(const Message& item) const {
  return std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const Requirement& requirement) { return Meets(requirement, item); });
}

}  // namespace fabricd::cli
