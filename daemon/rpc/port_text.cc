// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/port_text.h"

#include <charconv>

namespace fabricd::rpc {
namespace {

// Length of the well-formed UTF-8 sequence at `at` (Unicode 15 table 3-7), 0 if there is none.
size_t SequenceLength(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; };
  const auto in = [](int value, int low, int high) { return value >= low && value <= high; };
  const int first = byte(at);
  const int second = byte(at + 1);
  if (first < 0x80) return 1;
  if (in(first, 0xC2, 0xDF)) return in(second, 0x80, 0xBF) ? 2 : 0;
  const bool third = in(byte(at + 2), 0x80, 0xBF);
  if (in(first, 0xE0, 0xEF)) {
    const int low = first == 0xE0 ? 0xA0 : 0x80;
    const int high = first == 0xED ? 0x9F : 0xBF;
    return in(second, low, high) && third ? 3 : 0;
  }
  if (!in(first, 0xF0, 0xF4)) return 0;
  const int low = first == 0xF0 ? 0x90 : 0x80;
  const int high = first == 0xF4 ? 0x8F : 0xBF;
  return in(second, low, high) && third && in(byte(at + 3), 0x80, 0xBF) ? 4 : 0;
}

}  // namespace

std::optional<PortText> SplitPortText(const std::string& text) {
  size_t separator, end = text.size();
  if (!text.empty() && text.back() == ']') {
    separator = text.rfind('[');
    --end;
  } else {
    separator = text.find_last_of("/:");
  }
  if (separator == std::string::npos || separator == 0) return std::nullopt;
  const char* first = text.data() + separator + 1;
  const char* last = text.data() + end;
  uint8_t port = 0;
  const auto result = std::from_chars(first, last, port);
  if (result.ec != std::errc() || result.ptr != last) return std::nullopt;
  return PortText{text.substr(0, separator), PortNum(port)};
}

std::string Utf8(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = SequenceLength(text, at);
    out += length > 0 ? text.substr(at, length) : "?";
    at += length > 0 ? length : 1;
  }
  return out;
}

}  // namespace fabricd::rpc
