// SPDX-License-Identifier: Apache-2.0
// TextCursor: walks over one line of text, eating what it is asked for. Internal to fabric/.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace fabricd::fabric {

inline bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

inline std::string_view TrimBlanks(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

inline char LowerCase(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (LowerCase(a[i]) != LowerCase(b[i])) return false;
  }
  return true;
}

// Every Eat… skips blanks first, and takes nothing but the blanks when it returns false.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : rest_(text) {}

  // What is left, without leading blanks.
  std::string_view rest() {
    SkipBlanks();
    return rest_;
  }
  // Blanks included: text that is kept as it is.
  std::string_view raw_rest() const { return rest_; }
  bool AtEnd() { return rest().empty(); }
  // 0 at the end.
  char Peek() { return AtEnd() ? '\0' : rest_.front(); }
  void Advance(size_t count) { rest_.remove_prefix(count); }

  bool Eat(char c) {
    if (Peek() != c || AtEnd()) return false;
    Advance(1);
    return true;
  }
  // Up to the next blank.
  std::string_view Word() {
    SkipBlanks();
    size_t size = 0;
    while (size < rest_.size() && !IsBlank(rest_[size])) ++size;
    const std::string_view word = rest_.substr(0, size);
    Advance(size);
    return word;
  }
  bool EatWord(std::string_view word) {
    TextCursor ahead = *this;
    if (ahead.Word() != word) return false;
    *this = ahead;
    return true;
  }
  bool EatText(std::string_view text) {
    if (!rest().starts_with(text)) return false;
    Advance(text.size());
    return true;
  }
  template <typename T>
  bool EatNumber(int base, T& value) {
    SkipBlanks();
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (error != std::errc()) return false;
    Advance(static_cast<size_t>(end - rest_.data()));
    return true;
  }
  bool EatHex(uint64_t& value) {
    SkipBlanks();
    const std::string_view before = rest_;
    if (rest_.starts_with("0x") || rest_.starts_with("0X")) Advance(2);
    if (EatNumber(16, value)) return true;
    rest_ = before;
    return false;
  }
  // "text": up to the next quotation mark.
  bool EatQuoted(std::string_view& text) {
    if (Peek() != '"') return false;
    const size_t end = rest_.find('"', 1);
    if (end == std::string_view::npos) return false;
    text = rest_.substr(1, end - 1);
    Advance(end + 1);
    return true;
  }
  bool SkipPast(char c) {
    const size_t at = rest_.find(c);
    if (at == std::string_view::npos) return false;
    Advance(at + 1);
    return true;
  }

 private:
  void SkipBlanks() {
    while (!rest_.empty() && IsBlank(rest_.front())) rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

}  // namespace fabricd::fabric
