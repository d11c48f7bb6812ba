// SPDX-License-Identifier: Apache-2.0
#include "cli/render/output.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>
#include <google/protobuf/util/type_resolver_util.h>
#include <yaml-cpp/yaml.h>

namespace fabricd::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Whether a plain `text` could be read as something else than this text.
bool NeedsQuotes(const std::string& text) {
  if (text.empty() || !std::isalpha(static_cast<unsigned char>(text.front()))) return true;
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static constexpr const char* kWords[] = {"true", "false", "yes", "no", "on",
                                           "off",  "null",  "y",   "n"};
  return std::find(std::begin(kWords), std::end(kWords), lower) != std::end(kWords);
}

void EmitText(YAML::Emitter& out, const std::string& text) {
  if (NeedsQuotes(text)) out << YAML::DoubleQuoted;
  out << text;
}

void EmitMessage(YAML::Emitter& out, const Message& message);

// The element `index` of a repeated field, or the field itself with index -1.
void EmitValue(YAML::Emitter& out, const Message& message, const FieldDescriptor* field,
               int index) {
  const auto* reflection = message.GetReflection();
  const bool one = index < 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return EmitMessage(out, one ? reflection->GetMessage(message, field)
                                  : reflection->GetRepeatedMessage(message, field, index));
    case FieldDescriptor::CPPTYPE_STRING:
      return EmitText(out, one ? reflection->GetString(message, field)
                               : reflection->GetRepeatedString(message, field, index));
    case FieldDescriptor::CPPTYPE_BOOL:
      out << (one ? reflection->GetBool(message, field)
                  : reflection->GetRepeatedBool(message, field, index));
      return;
    case FieldDescriptor::CPPTYPE_UINT32:
      out << (one ? reflection->GetUInt32(message, field)
                  : reflection->GetRepeatedUInt32(message, field, index));
      return;
    case FieldDescriptor::CPPTYPE_UINT64:
      out << (one ? reflection->GetUInt64(message, field)
                  : reflection->GetRepeatedUInt64(message, field, index));
      return;
    case FieldDescriptor::CPPTYPE_INT32:
      out << (one ? reflection->GetInt32(message, field)
                  : reflection->GetRepeatedInt32(message, field, index));
      return;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      out << fmt::format("{}", one ? reflection->GetDouble(message, field)
                                   : reflection->GetRepeatedDouble(message, field, index));
      return;
    case FieldDescriptor::CPPTYPE_ENUM:
      EmitText(out, (one ? reflection->GetEnum(message, field)
                         : reflection->GetRepeatedEnum(message, field, index))
                        ->name());
      return;
    default:  // The API has no other types (fabric.proto).
      EmitText(out, fmt::format("<{}>", field->cpp_type_name()));
  }
}

// Entries by key, as JSON has them too.
void EmitMap(YAML::Emitter& out, const Message& message, const FieldDescriptor* field) {
  const auto* reflection = message.GetReflection();
  const FieldDescriptor* key = field->message_type()->map_key();
  const FieldDescriptor* value = field->message_type()->map_value();
  std::vector<const Message*> entries;
  for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
    entries.push_back(&reflection->GetRepeatedMessage(message, field, i));
  }
  const auto key_of = [&](const Message* entry) {
    return entry->GetReflection()->GetString(*entry, key);
  };
  std::sort(entries.begin(), entries.end(),
            [&](const Message* a, const Message* b) { return key_of(a) < key_of(b); });
  if (entries.empty()) out << YAML::Flow;
  out << YAML::BeginMap;
  for (const Message* entry : entries) {
    out << YAML::Key << key_of(entry) << YAML::Value;
    EmitValue(out, *entry, value, -1);
  }
  out << YAML::EndMap;
}

void EmitField(YAML::Emitter& out, const Message& message, const FieldDescriptor* field) {
  if (field->is_map()) return EmitMap(out, message, field);
  if (!field->is_repeated()) return EmitValue(out, message, field, -1);
  const int size = message.GetReflection()->FieldSize(message, field);
  if (size == 0) out << YAML::Flow;
  out << YAML::BeginSeq;
  for (int i = 0; i < size; ++i) EmitValue(out, message, field, i);
  out << YAML::EndSeq;
}

// Times as JSON has them.
bool EmitTime(YAML::Emitter& out, const Message& message) {
  if (message.GetDescriptor()->full_name() != "google.protobuf.Timestamp") return false;
  EmitText(out, TimeText(message));
  return true;
}

void EmitMessage(YAML::Emitter& out, const Message& message) {
  if (EmitTime(out, message)) return;
  const auto* descriptor = message.GetDescriptor();
  out << YAML::BeginMap;
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (field->has_presence() && !message.GetReflection()->HasField(message, field)) continue;
    out << YAML::Key << field->name() << YAML::Value;
    EmitField(out, message, field);
  }
  out << YAML::EndMap;
}

// With the entries of maps by key, so that equal answers print alike.
std::string SerializeByKey(const Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

// `whole`: on lines of their own, and fields at their default too.
std::string Json(const Message& message, bool whole) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = whole;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = whole;
  const std::unique_ptr<google::protobuf::util::TypeResolver> types(
      google::protobuf::util::NewTypeResolverForDescriptorPool(
          "type.googleapis.com", message.GetDescriptor()->file()->pool()));
  std::string json;
  // Fails for Any of unknown types only, which the API does not have.
  const auto status = google::protobuf::util::BinaryToJsonString(
      types.get(), "type.googleapis.com/" + message.GetDescriptor()->full_name(),
      SerializeByKey(message), &json, options);
  return status.ok() ? json : fmt::format("{{\"error\": \"{}\"}}\n", status.ToString());
}

}  // namespace

std::string TimeText(const Message& message) {
  google::protobuf::Timestamp time;
  time.CopyFrom(message);
  return google::protobuf::util::TimeUtil::ToString(time);
}

std::string ToJson(const Message& message) { return Json(message, /*whole=*/true); }
std::string ToJsonLine(const Message& message) { return Json(message, /*whole=*/false); }

std::string ToYaml(const Message& message) {
  YAML::Emitter out;
  EmitMessage(out, message);
  return std::string(out.c_str()) + "\n";
}

}  // namespace fabricd::cli
