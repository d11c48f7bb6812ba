// SPDX-License-Identifier: Apache-2.0
// JsonWriter: writes one JSON value as text (RFC 8259), two spaces a level, bytes that are not
// UTF-8 as '?'. The caller opens and closes what belongs together.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "common/json_text.h"

namespace fabricd::plan {

class JsonWriter {
 public:
  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginArray() { Begin('['); }
  void EndArray() { End(']'); }
  // Inside an object, before each of its values.
  void Key(std::string_view key) {
    Separate();
    text_ += JsonText(std::string(key));
    text_ += ": ";
    after_key_ = true;
  }
  template <typename T>
  void Value(T value) {
    Separate();
    if constexpr (std::is_same_v<T, bool>)
      text_ += value ? "true" : "false";
    else if constexpr (std::is_floating_point_v<T>)
      text_ += std::isfinite(value) ? fmt::format("{:.6g}", value) : "null";
    else if constexpr (std::is_integral_v<T>)
      text_ += fmt::format("{}", value);
    else
      text_ += JsonText(std::string(value));
  }
  template <typename T>
  void Field(std::string_view key, T value) {
    Key(key);
    Value(value);
  }
  const std::string& text() const { return text_; }

 private:
  void Begin(char bracket) {
    Separate();
    text_ += bracket;
    depth_ += 2;
    first_ = true;
  }
  void End(char bracket) {
    depth_ -= 2;
    if (!first_) Indent();
    text_ += bracket;
    first_ = false;
  }
  void Indent() {
    text_ += '\n';
    text_.append(depth_, ' ');
  }
  void Separate() {
    if (!after_key_ && depth_ > 0) {
      if (!first_) text_ += ',';
      Indent();
    }
    after_key_ = first_ = false;
  }
  std::string text_;
  size_t depth_ = 0;
  bool first_ = true, after_key_ = false;
};

}  // namespace fabricd::plan
