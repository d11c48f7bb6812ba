// SPDX-License-Identifier: Apache-2.0
#include "cli/render/fields.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include "cli/render/output.h"

namespace fabricd::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

bool IsTime(const FieldDescriptor* field) {
  return field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
         field->message_type()->full_name() == "google.protobuf.Timestamp";
}

bool ReadNumber(const std::string& text, double* number) {
  char* end = nullptr;
  *number = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0';
}

std::string FieldsOf(const Descriptor* type) {
  std::vector<std::string> names;
  for (int i = 0; i < type->field_count(); ++i) names.push_back(type->field(i)->name());
  return fmt::format("{}", fmt::join(names, ", "));
}

// The words between dots; braces and the first dot are habits of kubectl's.
std::vector<std::string> PathWords(std::string text) {
  if (text.size() >= 2 && text.front() == '{' && text.back() == '}')
    text = text.substr(1, text.size() - 2);
  if (!text.empty() && text.front() == '.') text.erase(0, 1);
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == '.')
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

// Takes "[3]" or "[*]" off a word.
bool TakeIndex(std::string* word, int* index) {
  const size_t open = word->find('[');
  if (open == std::string::npos) return true;
  const std::string inside = word->substr(open + 1);
  word->resize(open);
  if (inside == "*]") return true;
  const char* end = inside.data() + inside.size();
  const auto [stop, fault] = std::from_chars(inside.data(), end, *index);
  return fault == std::errc() && *index >= 0 && stop + 1 == end && *stop == ']';
}

// The number at `*at`, moved behind it, without its leading zeros.
std::string TakeDigits(const std::string& text, size_t* at) {
  const size_t begin = text.find_first_not_of('0', *at);
  size_t end = std::min(begin, text.size());
  while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
  *at = end;
  return begin < end ? text.substr(begin, end - begin) : "";
}

}  // namespace

std::string ValueText(const Message& message, const FieldDescriptor* field, int index) {
  const auto* reflection = message.GetReflection();
  const bool one = index < 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return (one ? reflection->GetBool(message, field)
                  : reflection->GetRepeatedBool(message, field, index))
                 ? "true"
                 : "false";
    case FieldDescriptor::CPPTYPE_UINT32:
      return fmt::format("{}", one ? reflection->GetUInt32(message, field)
                                   : reflection->GetRepeatedUInt32(message, field, index));
    case FieldDescriptor::CPPTYPE_UINT64:
      return fmt::format("{}", one ? reflection->GetUInt64(message, field)
                                   : reflection->GetRepeatedUInt64(message, field, index));
    case FieldDescriptor::CPPTYPE_INT32:
      return fmt::format("{}", one ? reflection->GetInt32(message, field)
                                   : reflection->GetRepeatedInt32(message, field, index));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return fmt::format("{}", one ? reflection->GetDouble(message, field)
                                   : reflection->GetRepeatedDouble(message, field, index));
    case FieldDescriptor::CPPTYPE_STRING:
      return one ? reflection->GetString(message, field)
                 : reflection->GetRepeatedString(message, field, index);
    case FieldDescriptor::CPPTYPE_ENUM:
      return (one ? reflection->GetEnum(message, field)
                  : reflection->GetRepeatedEnum(message, field, index))
          ->name();
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      const Message& value = one ? reflection->GetMessage(message, field)
                                 : reflection->GetRepeatedMessage(message, field, index);
      return IsTime(field) ? TimeText(value) : ToJsonLine(value);
    }
    default: return {};  // The API has no other types (fabric.proto).
  }
}

std::optional<FieldPath> FieldPath::Parse(const std::string& text, const Descriptor* type,
                                          std::string* error) {
  FieldPath path;
  for (std::string word : PathWords(text)) {
    if (!path.steps_.empty() && path.steps_.back().field->is_map() &&
        path.steps_.back().key.empty()) {
      path.steps_.back().key = std::move(word);
      continue;
    }
    Step step;
    if (!TakeIndex(&word, &step.index)) {
      *error = fmt::format("\"{}\": what stands in [] is no number", text);
      return std::nullopt;
    }
    step.field = type ? type->FindFieldByName(word) : nullptr;
    if (!step.field || (step.index >= 0 && !step.field->is_repeated())) {
      *error =
          type ? fmt::format("\"{}\": {} has no {} {} ({})", text, type->name(),
                             step.index >= 0 ? "list" : "field", word, FieldsOf(type))
               : fmt::format("\"{}\": nothing is below {}", text, path.steps_.back().field->name());
      return std::nullopt;
    }
    type = step.field->is_map() || IsTime(step.field) ||
                   step.field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE
               ? nullptr
               : step.field->message_type();
    path.steps_.push_back(std::move(step));
  }
  return path;
}

bool FieldPath::IsRepeated() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) {
    return step.field->is_map() ? step.key.empty() : step.field->is_repeated() && step.index < 0;
  });
}

void FieldPath::Walk(const Message& message, size_t at, std::vector<std::string>* values) const {
  const Step& step = steps_[at];
  const auto* reflection = message.GetReflection();
  if (step.field->is_map()) {
    const FieldDescriptor* key = step.field->message_type()->map_key();
    const FieldDescriptor* value = step.field->message_type()->map_value();
    std::vector<std::pair<std::string, std::string>> entries;
    for (int i = 0; i < reflection->FieldSize(message, step.field); ++i) {
      const Message& entry = reflection->GetRepeatedMessage(message, step.field, i);
      entries.emplace_back(ValueText(entry, key, -1), ValueText(entry, value, -1));
    }
    std::sort(entries.begin(), entries.end());
    for (const auto& [name, text] : entries) {
      if (step.key.empty()) values->push_back(fmt::format("{}={}", name, text));
      if (step.key == name) values->push_back(text);
    }
    return;
  }
  if (!step.field->is_repeated()) {
    if (step.field->has_presence() && !reflection->HasField(message, step.field)) return;
    if (at + 1 == steps_.size()) return values->push_back(ValueText(message, step.field, -1));
    return Walk(reflection->GetMessage(message, step.field), at + 1, values);
  }
  const int size = reflection->FieldSize(message, step.field);
  const int first = std::max(step.index, 0);
  for (int i = first; i < (step.index < 0 ? size : std::min(size, first + 1)); ++i) {
    if (at + 1 == steps_.size())
      values->push_back(ValueText(message, step.field, i));
    else
      Walk(reflection->GetRepeatedMessage(message, step.field, i), at + 1, values);
  }
}

std::vector<std::string> FieldPath::Values(const Message& message) const {
  std::vector<std::string> values;
  Walk(message, 0, &values);
  return values;
}

std::string FieldPath::Text(const Message& message) const {
  return fmt::format("{}", fmt::join(Values(message), ","));
}

int CompareNatural(const std::string& a, const std::string& b) {
  double number_a = 0, number_b = 0;
  if (ReadNumber(a, &number_a) && ReadNumber(b, &number_b) && number_a != number_b)
    return number_a < number_b ? -1 : 1;
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string digits_a = TakeDigits(a, &i), digits_b = TakeDigits(b, &j);
      if (digits_a.size() != digits_b.size()) return digits_a.size() < digits_b.size() ? -1 : 1;
      if (const int order = digits_a.compare(digits_b); order != 0) return order < 0 ? -1 : 1;
    } else if (a[i] != b[j]) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]) ? -1 : 1;
    } else {
      ++i, ++j;
    }
  }
  return static_cast<int>(i < a.size()) - static_cast<int>(j < b.size());
}

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
  condition.path_ = FieldPath::Parse(name, prototype.GetDescriptor(), error);
  if (!condition.path_) return std::nullopt;
  if (condition.path_->IsRepeated() ||
      condition.path_->field()->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    *error = fmt::format("\"{}\" is not a field that can be waited for", name);
    return std::nullopt;
  }
  return condition;
}

bool FieldCondition::Holds(const Message& message) const {
  const std::string text = path_->Text(message);
  double number = 0;
  switch (kind_) {
    case Kind::kSet: return !text.empty() && text != "0" && text != "false";
    case Kind::kEqual: return text == value_;
    case Kind::kAtLeast: return ReadNumber(text, &number) && number >= number_;
  }
  return false;
}

}  // namespace fabricd::cli
