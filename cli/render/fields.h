// SPDX-License-Identifier: Apache-2.0
// The fields of messages by name: for columns, selectors, orders and `fabricctl wait --for=…`.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <google/protobuf/message.h>

namespace fabricd::cli {

// A value as JSON shows it, without quotes; the element `index` of a repeated field, -1: of one
// that is not. Messages other than times are JSON in one line.
std::string ValueText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor* field, int index);

// The way to a field: "id.node_name", also ".id.node_name" and "{.id.node_name}" as kubectl writes
// it. A repeated field means all of its elements, or with "[0]" one; in a map the next word is a
// key.
class FieldPath {
 public:
  // Nothing, and a reason in *error, when messages of this type have no such field.
  static std::optional<FieldPath> Parse(const std::string& text,
                                        const google::protobuf::Descriptor* type,
                                        std::string* error);
  // In the order of the message. A field that is not set and has presence has none.
  std::vector<std::string> Values(const google::protobuf::Message& message) const;
  // The values with commas.
  std::string Text(const google::protobuf::Message& message) const;
  // Where it ends.
  const google::protobuf::FieldDescriptor* field() const { return steps_.back().field; }
  bool IsRepeated() const;

 private:
  struct Step {
    const google::protobuf::FieldDescriptor* field = nullptr;
    int index = -1;   // -1: all elements.
    std::string key;  // Of a map; empty: all entries.
  };
  void Walk(const google::protobuf::Message& message, size_t step,
            std::vector<std::string>* values) const;

  std::vector<Step> steps_;
};

// -1, 0, 1: numbers as numbers, also within texts: "node2" < "node10".
int CompareNatural(const std::string& a, const std::string& b);

// "FIELD" (a bool that is to be true, a number not to be 0, a text not to be empty), "FIELD=VALUE"
// or "FIELD>=NUMBER".
class FieldCondition {
 public:
  // Nothing, and a reason in *error, when `text` is none of these or the message has no such single
  // scalar field.
  static std::optional<FieldCondition> Parse(const std::string& text,
                                             const google::protobuf::Message& prototype,
                                             std::string* error);
  bool Holds(const google::protobuf::Message& message) const;

 private:
  enum class Kind { kSet, kEqual, kAtLeast };
  std::optional<FieldPath> path_;
  Kind kind_ = Kind::kSet;
  std::string value_;
  double number_ = 0;  // kAtLeast.
};

}  // namespace fabricd::cli
