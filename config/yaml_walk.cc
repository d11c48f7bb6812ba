// SPDX-License-Identifier: Apache-2.0
#include "config/yaml_walk.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>
#include <yaml-cpp/yaml.h>

#include "common/number_text.h"

namespace fabricd::config {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

int LineOf(const YAML::Mark& mark) { return mark.line < 0 ? 0 : mark.line + 1; }

const char* KindOf(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Map: return "a section";
    case YAML::NodeType::Sequence: return "a list";
    case YAML::NodeType::Scalar: return "a value";
    default: return "nothing";
  }
}

std::string Join(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

// Levenshtein distance: how far a mistyped key is from a real one.
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string UnknownKey(const google::protobuf::Descriptor& section, const std::string& key) {
  std::string nearest;
  size_t nearest_distance = 3;  // Further away is not a slip of the finger.
  for (int i = 0; i < section.field_count(); ++i) {
    const std::string& name = section.field(i)->name();
    const size_t distance = key.size() > 64 ? nearest_distance : EditDistance(key, name);
    if (distance >= nearest_distance || distance >= name.size()) continue;
    nearest = name;
    nearest_distance = distance;
  }
  if (nearest.empty()) return "unknown key";
  return fmt::format("unknown key; did you mean '{}'?", nearest);
}

// "10s", "200ms", "1.5h", "0". Nanoseconds; nullopt for anything else.
std::optional<int64_t> ParseDuration(const std::string& text) {
  static const std::map<std::string, double> kUnits = {{"us", 1e3}, {"ms", 1e6},   {"s", 1e9},
                                                       {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
  if (text == "0") return 0;
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const auto unit = kUnits.find(std::string(stop, end));
  if (error != std::errc() || unit == kUnits.end()) return std::nullopt;
  const double nanoseconds = std::round(number * unit->second);
  if (!(nanoseconds >= 0 && nanoseconds < 9e18)) return std::nullopt;
  return static_cast<int64_t>(nanoseconds);
}

// LOG_LEVEL_DEBUG of LogLevel is "debug" in YAML.
std::string EnumName(const EnumValueDescriptor& value) {
  std::string prefix;
  for (const char c : value.type()->name()) {
    if (c >= 'A' && c <= 'Z' && !prefix.empty()) prefix += '_';
    prefix += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  std::string name = value.name().substr(prefix.size() + 1);
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return name;
}

std::string EnumNames(const EnumDescriptor& type) {
  std::string names;
  for (int i = 1; i < type.value_count(); ++i) {
    names += (i == 1 ? "" : ", ") + EnumName(*type.value(i));
  }
  return names;
}

// What yaml-cpp would read past in silence: bytes that end its input (NUL, 0x04), and all documents
// after the first one. (Its LoadAll never returns on some broken input, found by fuzzing.) False
// when there is no sense in reading on.
bool CheckLines(const std::string& text, FaultList& faults) {
  bool content_seen = false, marker_seen = false, ended = false;
  size_t begin = 0;
  for (int number = 1; begin < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    for (const char c : line) {
      const auto byte = static_cast<unsigned char>(c);
      if ((byte >= 0x20 && byte != 0x7F) || c == '\t' || c == '\r') continue;
      faults.Add("", number, fmt::format("not text: byte 0x{:02x}", byte));
      return false;
    }
    const bool separated = line.size() <= 3 || line.find_first_of(" \t\r") == 3;
    const bool is_marker = separated && line.compare(0, 3, "---") == 0;
    const size_t word = line.find_first_not_of(" \t\r", is_marker ? 3 : 0);
    const bool is_content = word != std::string::npos && line[word] != '#' && line[word] != '%';
    if ((is_marker && (content_seen || marker_seen)) || (is_content && ended)) {
      faults.Add("", number, "more than one YAML document");
      return true;
    }
    ended = ended || (separated && line.compare(0, 3, "...") == 0);
    marker_seen = marker_seen || is_marker;
    content_seen = content_seen || is_content;
  }
  return true;
}

class Walker {
 public:
  explicit Walker(FaultList& faults) : faults_(faults) {}

  void Section(const YAML::Node& node, const std::string& path, Message& into) {
    if (node.IsNull()) return;  // "link:" with every line below commented out.
    if (!node.IsMap()) {
      faults_.Add(path, LineOf(node.Mark()),
                  fmt::format("expected a section, got {}", KindOf(node)));
      return;
    }
    std::map<std::string, int> seen;
    for (const auto& entry : node) {
      const int line = LineOf(entry.first.Mark());
      if (!entry.first.IsScalar()) {
        faults_.Add(path, line, "a key must be plain text");
        continue;
      }
      const std::string& key = entry.first.Scalar();
      const std::string key_path = Join(path, key);
      const auto [first, is_new] = seen.emplace(key, line);
      if (!is_new) {
        faults_.Add(key_path, line, fmt::format("repeated key, first on line {}", first->second));
        continue;
      }
      const FieldDescriptor* field = into.GetDescriptor()->FindFieldByName(key);
      if (field == nullptr) {
        faults_.Add(key_path, line, UnknownKey(*into.GetDescriptor(), key));
        continue;
      }
      faults_.SetLine(key_path, line);
      Key(entry.second, key_path, line, *field, into);
    }
  }

 private:
  static bool IsDuration(const FieldDescriptor& field) {
    return field.message_type() == google::protobuf::Duration::descriptor();
  }

  void Key(const YAML::Node& node, const std::string& path, int line, const FieldDescriptor& field,
           Message& into) {
    const auto& reflection = *into.GetReflection();
    if (field.is_repeated()) {
      List(node, path, line, field, into);
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !IsDuration(field)) {
      Section(node, path, *reflection.MutableMessage(&into, &field));
    } else if (!node.IsScalar()) {
      // Nothing has no mark of its own, so the key's line stands in.
      faults_.Add(path, node.IsNull() ? line : LineOf(node.Mark()),
                  node.IsNull() ? "no value; leave the key out to get its default"
                                : fmt::format("expected a value, got {}", KindOf(node)));
    } else {
      Value(node, path, field, into);
    }
  }

  // The schema's lists are all lists of text.
  void List(const YAML::Node& node, const std::string& path, int line, const FieldDescriptor& field,
            Message& into) {
    if (!node.IsSequence()) {
      faults_.Add(path, node.IsNull() ? line : LineOf(node.Mark()),
                  fmt::format("expected a list, got {}", KindOf(node)));
      return;
    }
    for (size_t i = 0; i < node.size(); ++i) {
      const std::string item_path = fmt::format("{}[{}]", path, i);
      const int item_line = node[i].IsNull() ? line : LineOf(node[i].Mark());
      faults_.SetLine(item_path, item_line);
      if (node[i].IsScalar()) {
        into.GetReflection()->AddString(&into, &field, node[i].Scalar());
      } else {
        faults_.Add(item_path, item_line, fmt::format("expected text, got {}", KindOf(node[i])));
      }
    }
  }

  void Value(const YAML::Node& node, const std::string& path, const FieldDescriptor& field,
             Message& into) {
    const std::string& text = node.Scalar();
    const std::string problem = SetValue(text, field, into);
    if (!problem.empty()) {
      faults_.Add(path, LineOf(node.Mark()), fmt::format("{}, got '{}'", problem, text));
    }
  }

  // Empty when the value was taken, else what would have been right.
  static std::string SetValue(const std::string& text, const FieldDescriptor& field,
                              Message& into) {
    const auto& reflection = *into.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING: reflection.SetString(&into, &field, text); return "";
      case FieldDescriptor::CPPTYPE_BOOL:
        if (text != "true" && text != "false") return "expected true or false";
        reflection.SetBool(&into, &field, text == "true");
        return "";
      case FieldDescriptor::CPPTYPE_UINT32: {
        const std::optional<uint64_t> value = ParseDecimalOrHex<uint64_t>(text);
        if (!value || *value > std::numeric_limits<uint32_t>::max()) {
          return "expected a whole number from 0";
        }
        reflection.SetUInt32(&into, &field, static_cast<uint32_t>(*value));
        return "";
      }
      case FieldDescriptor::CPPTYPE_ENUM: return SetEnum(text, field, into);
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        const std::optional<int64_t> value = ParseDuration(text);
        if (!value) return "expected a duration such as 10s, 200ms or 0";
        auto& duration =
            static_cast<google::protobuf::Duration&>(*reflection.MutableMessage(&into, &field));
        duration.set_seconds(*value / 1'000'000'000);
        duration.set_nanos(static_cast<int32_t>(*value % 1'000'000'000));
        return "";
      }
      default: return fmt::format("schema type {} has no YAML form", field.type_name());
    }
  }

  static std::string SetEnum(const std::string& text, const FieldDescriptor& field, Message& into) {
    const EnumDescriptor& type = *field.enum_type();
    for (int i = 1; i < type.value_count(); ++i) {  // 0 is UNSPECIFIED.
      if (EnumName(*type.value(i)) != text) continue;
      into.GetReflection()->SetEnum(&into, &field, type.value(i));
      return "";
    }
    return "expected one of " + EnumNames(type);
  }

  FaultList& faults_;
};

}  // namespace

void WalkYaml(const std::string& text, ::fabric::config::v1::FabricdConfig& into,
              FaultList& faults) {
  if (!CheckLines(text, faults)) return;
  try {  // yaml-cpp reports by exceptions; they end here (DESIGN §6).
    Walker(faults).Section(YAML::Load(text), "", into);
  } catch (const YAML::Exception& error) {
    faults.Add("", LineOf(error.mark), "not YAML: " + error.msg);
  }
}

}  // namespace fabricd::config
