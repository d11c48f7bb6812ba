// SPDX-License-Identifier: Apache-2.0
#include "cli/fields.h"

#include <cstdlib>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

namespace fabricd::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The field as text; "" and "0" and "false" are its default.
std::string TextOf(const Message& message, const FieldDescriptor* field) {
  const auto* reflection = message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection->GetBool(message, field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_UINT32:
      return fmt::format("{}", reflection->GetUInt32(message, field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return fmt::format("{}", reflection->GetDouble(message, field));
    case FieldDescriptor::CPPTYPE_STRING: return reflection->GetString(message, field);
    default: return {};
  }
}

bool IsScalar(const FieldDescriptor* field) {
  return field && !field->is_repeated() && field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE;
}

bool ReadNumber(const std::string& text, double* number) {
  char* end = nullptr;
  *number = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0';
}

}  // namespace

std::optional<FieldCondition> FieldCondition::Parse(const std::string& text,
                                                    const Message& prototype, std::string* error) {
  FieldCondition condition;
  std::string name = text;
  if (const size_t at_least = text.find(">="); at_least != std::string::npos) {
    condition.kind_ = Kind::kAtLeast;
    name = text.substr(0, at_least);
    if (!ReadNumber(text.substr(at_least + 2), &condition.number_)) {
      *error = fmt::format("\"{}\": what follows >= is not a number", text);
      return std::nullopt;
    }
  } else if (const size_t equal = text.find('='); equal != std::string::npos) {
    condition.kind_ = Kind::kEqual;
    name = text.substr(0, equal);
    condition.value_ = text.substr(equal + 1);
  }
  condition.field_ = prototype.GetDescriptor()->FindFieldByName(name);
  if (!IsScalar(condition.field_)) {
    *error = fmt::format("\"{}\" is not a field that can be waited for", name);
    return std::nullopt;
  }
  return condition;
}

bool FieldCondition::Holds(const Message& message) const {
  const std::string text = TextOf(message, field_);
  double number = 0;
  switch (kind_) {
    case Kind::kSet: return !text.empty() && text != "0" && text != "false";
    case Kind::kEqual: return text == value_;
    case Kind::kAtLeast: return ReadNumber(text, &number) && number >= number_;
  }
  return false;
}

}  // namespace fabricd::cli
