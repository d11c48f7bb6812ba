// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/series_text.h"

#include <iterator>

#include <fmt/format.h>

#include "common/utf8.h"

namespace fabricd::http {

std::string Label(std::string_view name, const std::string& value) {
  std::string label = fmt::format("{}=\"", name);
  for (const char c : Utf8(value)) {
    if (c == '\n') {
      label += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') label += '\\';
    label += c;
  }
  label += '"';
  return label;
}

void SeriesText::Begin(std::string_view name, std::string_view help, Type type) {
  name_ = name;
  head_ = fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help,
                      type == Type::kCounter ? "counter" : "gauge");
}

void SeriesText::AddName(std::string_view labels) {
  if (!head_.empty()) {
    text_ += head_;
    head_.clear();
  }
  text_ += name_;
  if (!labels.empty()) {
    text_ += '{';
    text_ += labels;
    text_ += '}';
  }
  text_ += ' ';
}

void SeriesText::Add(std::string_view labels, uint64_t value) {
  AddName(labels);
  const fmt::format_int digits(value);
  text_.append(digits.data(), digits.size());
  text_ += '\n';
}

void SeriesText::Add(std::string_view labels, double value) {
  AddName(labels);
  fmt::format_to(std::back_inserter(text_), "{}\n", value);
}

void SeriesText::Add(std::string_view labels, Duration value) {
  Add(labels, std::chrono::duration<double>(value).count());
}

}  // namespace fabricd::http
