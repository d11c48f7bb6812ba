// SPDX-License-Identifier: Apache-2.0
// Conditions over the fields of a message, for `fabricctl wait --for=…`. Pure.
#pragma once

#include <optional>
#include <string>

#include <google/protobuf/message.h>

namespace fabricd::cli {

// "FIELD" (a bool that is to be true, a number not to be 0, a text not to be empty), "FIELD=VALUE"
// or "FIELD>=NUMBER".
class FieldCondition {
 public:
  // Nothing, and a reason in *error, when `text` is none of these or the message has no such scalar
  // field.
  static std::optional<FieldCondition> Parse(const std::string& text,
                                             const google::protobuf::Message& prototype,
                                             std::string* error);
  bool Holds(const google::protobuf::Message& message) const;

 private:
  enum class Kind { kSet, kEqual, kAtLeast };
  const google::protobuf::FieldDescriptor* field_ = nullptr;
  Kind kind_ = Kind::kSet;
  std::string value_;
  double number_ = 0;  // kAtLeast.
};

}  // namespace fabricd::cli
