// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/convert/request_check.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include "common/control_text.h"
#include "daemon/rpc/convert/grpc_status.h"

namespace fabricd::rpc {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

constexpr size_t kMostFaults = 10;

using Faults = std::vector<std::pair<std::string, std::string>>;  // Field, what is wrong with it.

std::string ValuesOf(const EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) names.push_back(type.value(i)->name());
  return fmt::format("{}", fmt::join(names, ", "));
}

bool IsDocument(const FieldDescriptor& field) {
  return std::find(std::begin(kDocumentFields), std::end(kDocumentFields), field.full_name()) !=
         std::end(kDocumentFields);
}

void Check(const google::protobuf::Message& message, const std::string& prefix, Faults& faults);

// One value: element `at` of a repeated field, or the field itself with -1.
void CheckValue(const google::protobuf::Message& message, const FieldDescriptor& field, int at,
                const std::string& name, Faults& faults) {
  const auto& values = *message.GetReflection();
  const bool one = at < 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int number = one ? values.GetEnumValue(message, &field)
                             : values.GetRepeatedEnumValue(message, &field, at);
      if (field.enum_type()->FindValueByNumber(number) == nullptr)
        faults.emplace_back(name,
                            fmt::format("{} is none of {}", number, ValuesOf(*field.enum_type())));
      return;
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      if (field.type() != FieldDescriptor::TYPE_STRING) return;
      std::string scratch;
      const std::string& text =
          one ? values.GetStringReference(message, &field, &scratch)
              : values.GetRepeatedStringReference(message, &field, at, &scratch);
      if (!one && text.empty())
        faults.emplace_back(name, fmt::format("element {} is empty", at + 1));
      const auto control = FindControl(text);
      if (control)
        faults.emplace_back(name, fmt::format("has the control character U+{:04X} at byte {}",
                                              control->code_point, control->at));
      return;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Check(
          one ? values.GetMessage(message, &field) : values.GetRepeatedMessage(message, &field, at),
          name + ".", faults);
    default: return;
  }
}

void Check(const google::protobuf::Message& message, const std::string& prefix, Faults& faults) {
  const auto& values = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  values.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (faults.size() >= kMostFaults) return;
    if (IsDocument(*field)) continue;
    const std::string name = prefix + field->name();
    if (!field->is_repeated()) {
      CheckValue(message, *field, -1, name, faults);
      continue;
    }
    const int size = values.FieldSize(message, field);
    for (int at = 0; at < size && faults.size() < kMostFaults; ++at)
      CheckValue(message, *field, at, name, faults);
  }
}

}  // namespace

absl::Status CheckRequest(const google::protobuf::Message& request) {
  Faults faults;
  Check(request, "", faults);
  if (faults.empty()) return absl::OkStatus();
  std::string text;
  for (const auto& [field, what] : faults)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", field, what);
  return BadFields(faults, text, "INVALID_REQUEST", {});
}

}  // namespace fabricd::rpc
