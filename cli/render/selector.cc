// SPDX-License-Identifier: Apache-2.0
#include "cli/render/selector.h"

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
               std::vector<FieldPath>* paths, std::vector<const char*>* words) {
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
    *words = known->values;
  }
  for (const std::string& text : texts) {
    std::string error;
    const auto path = FieldPath::Parse(text, item, &error);
    if (!path) return {kUsage, "--field-selector: " + error};
    paths->push_back(*path);
  }
  return {};
}

// The values that a field can have, where these are few and known: enums, truth, and words.
std::vector<std::string> ValuesOf(const FieldPath& path, const std::vector<const char*>& words) {
  using google::protobuf::FieldDescriptor;
  if (path.field()->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) return {"true", "false"};
  std::vector<std::string> values(words.begin(), words.end());
  const auto* type = path.field()->enum_type();
  for (int i = 1; type != nullptr && i < type->value_count(); ++i)
    values.push_back(type->value(i)->name());
  return values;
}

bool IsNumberField(const FieldPath& path) {
  using google::protobuf::FieldDescriptor;
  const auto type = path.field()->cpp_type();
  return type == FieldDescriptor::CPPTYPE_UINT32 || type == FieldDescriptor::CPPTYPE_INT32 ||
         type == FieldDescriptor::CPPTYPE_UINT64;
}

// A value that nothing can ever have is a slip of the hand, not an empty answer.
Result CheckValue(const std::string& key, const std::string& value,
                  const std::vector<FieldPath>& paths, const std::vector<const char*>& words) {
  if (value.empty()) return {};
  std::string wanted;
  for (const FieldPath& path : paths) {
    const std::vector<std::string> values = ValuesOf(path, words);
    const bool number = IsNumberField(path);
    const bool fits =
        number ? std::all_of(value.begin(), value.end(),
                             [](unsigned char c) { return std::isdigit(c) != 0; })
               : values.empty() || std::any_of(values.begin(), values.end(), [&](const auto& each) {
                   return IsValue(path, each, value);
                 });
    if (fits) return {};
    wanted = number ? "no number" : fmt::format("none of {}", fmt::join(values, ", "));
  }
  return {kUsage, fmt::format("{}: \"{}\" is {}", key, value, wanted)};
}

}  // namespace

const std::vector<Label>& LabelsOf(const Descriptor* item) {
  static const std::vector<const char*> kNodeTypes = {"CA", "SWITCH", "ROUTER"};
  static const std::vector<const char*> kRoles = {"host", "leaf",   "spine",
                                                  "core", "router", "other"};
  static const std::vector<const char*> kStates = {"DOWN", "INIT", "ARMED", "ACTIVE"};
  static const std::vector<const char*> kPhysicalStates = {
      "Sleep",  "Polling",           "Disabled", "PortConfigurationTraining",
      "LinkUp", "LinkErrorRecovery", "PhyTest"};
  static const std::vector<const char*> kSpeeds = {"SDR", "DDR", "QDR", "FDR10", "FDR",
                                                   "EDR", "HDR", "NDR", "XDR"};
  static const std::vector<const char*> kConditions = {"LinkFlapping", "NoisyTraps", "Unresponsive",
                                                       "SetErrors"};
  static const std::map<std::string, std::vector<Label>> kLabels = {
      {"fabric.v1.Node",
       {{"type", {"type"}, kNodeTypes},
        {"role", {"role"}, kRoles},
        {"tier", {"tier"}},
        {"rail", {"rail"}},
        {"host", {"host"}},
        {"vendor", {"vendor_id"}},
        {"device", {"device_id"}},
        {"held", {"held"}}}},
      {"fabric.v1.Host",
       {{"rail", {"ports.rail"}},
        {"device", {"ports.device"}},
        {"state", {"ports.state"}, kStates},
        {"leaf", {"ports.peer.node_name"}},
        {"held", {"held"}}}},
      {"fabric.v1.Port",
       {{"type", {"id.node_type"}, kNodeTypes},
        {"role", {"role"}, kRoles},
        {"rail", {"rail"}},
        {"host", {"host"}},
        {"node", {"id.node_name"}},
        {"peer", {"peer.node_name"}},
        {"state", {"state"}, kStates},
        {"physical", {"physical_state"}, kPhysicalStates},
        {"speed", {"speed"}, kSpeeds},
        {"width", {"width"}},
        {"degraded", {"degraded"}},
        {"held", {"held"}}}},
      {"fabric.v1.Link",
       {{"type", {"a.node_type", "b.node_type"}, kNodeTypes},
        {"node", {"a.node_name", "b.node_name"}},
        {"state", {"state"}, kStates},
        {"speed", {"speed"}, kSpeeds},
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
      {"fabric.v1.Condition",
       {{"type", {"type"}, kConditions}, {"mode", {"mode"}}, {"subject", {"subject"}}}},
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
    std::vector<const char*> words;
    Result result = PathsOf(key, item, by, &requirement.paths, &words);
    if (result.ok()) result = CheckValue(key, requirement.value, requirement.paths, words);
    if (!result.ok()) return result;
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
